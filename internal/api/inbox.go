package api

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/inquest-dev/inquest/internal/record"
)

// thing waits for a person: a tool call or a question.
type thing struct {
	Investigation string           `json:"investigation" doc:"or the conversation"`
	WorkflowID    string           `json:"workflow_id"`
	Project       string           `json:"project"`
	Conversation  bool             `json:"conversation,omitempty"`
	Kind          string           `json:"kind" doc:"approval, or the question's: clarification, confirmation, agent_review"`
	Name          string           `json:"name" doc:"what decide takes as call_id, and answer as id"`
	Expires       time.Time        `json:"expires,omitzero" doc:"absent while it is paused"`
	Approval      *record.Approval `json:"approval,omitempty"`
	Question      *record.Question `json:"question,omitempty"`
}

type inboxIn struct {
	Project string `query:"project" doc:"only this one; absent = all that the token sees"`
}

// inbox lists what waits for people, the most urgent first and what is paused last.
func (s *Server) inbox(ctx context.Context, in *inboxIn) (*body[page[thing]], error) {
	who := accessOf(ctx)
	if in.Project != "" {
		if err := who.of(in.Project); err != nil {
			return nil, err
		}
	}
	waiting, err := s.opts.System.Waiting(ctx, "")
	if err != nil {
		return nil, err
	}
	out := page[thing]{Items: []thing{}}
	for _, w := range waiting {
		project, talk, err := s.waiter(ctx, w)
		switch {
		case errors.Is(err, record.ErrNotFound):
			continue
		case err != nil:
			return nil, err
		case who.rank(project) == 0 || in.Project != "" && in.Project != project:
			continue
		}
		out.Items = append(out.Items, things(w, project, talk)...)
	}
	slices.SortStableFunc(out.Items, func(a, b thing) int {
		never := map[bool]int{true: 1}
		return cmp.Or(cmp.Compare(never[a.Expires.IsZero()], never[b.Expires.IsZero()]), a.Expires.Compare(b.Expires))
	})
	return &body[page[thing]]{out}, nil
}

// waiter says whose the investigation or conversation is that waits.
func (s *Server) waiter(ctx context.Context, w record.Waiting) (project string, talk bool, err error) {
	if w.Project != "" {
		return w.Project, false, nil
	}
	o, err := s.opts.System.ThreadOwner(ctx, w.WorkflowID)
	return o.Project, true, err
}

func things(w record.Waiting, project string, talk bool) (all []thing) {
	t := thing{Investigation: w.Investigation, WorkflowID: w.WorkflowID, Project: project, Conversation: talk}
	for _, q := range w.Questions {
		one := t
		one.Kind, one.Name, one.Expires, one.Question = q.Kind, q.ID, q.Expires, &q
		all = append(all, one)
	}
	for _, a := range w.Approvals {
		one := t
		one.Kind, one.Name, one.Expires, one.Approval = "approval", a.Name(), a.Expires, &a
		all = append(all, one)
	}
	return slices.DeleteFunc(all, func(t thing) bool { return record.Expired(t.Expires) })
}
