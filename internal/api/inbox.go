package api

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/inquest-dev/inquest/internal/record"
)

// thing is a tool call or a question that needs a person's attention.
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
	Limit   int    `query:"limit" minimum:"1" maximum:"1000" default:"1000"`
	Cursor  string `query:"cursor" maxLength:"4000" doc:"next of the page before"`
	ID      string `query:"id" maxLength:"1000" doc:"only what this investigation or conversation waits for"`
	Whole   bool   `query:"whole" doc:"arguments of calls as a whole; else of large ones the beginning"`
}

// inbox lists what needs attention, most urgent first. Paused items come last.
func (s *Server) inbox(ctx context.Context, in *inboxIn) (*body[page[thing]], error) {
	who := accessOf(ctx)
	if in.Project != "" {
		if err := who.of(in.Project); err != nil {
			return nil, err
		}
	}
	after, err := base64.RawURLEncoding.DecodeString(in.Cursor)
	if err != nil {
		return nil, huma.Error422UnprocessableEntity("this is no cursor of ours")
	}
	if in.ID != "" {
		o, err := s.waits(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		in.ID = o.ID
	}
	waiting, err := s.opts.System.Waiting(ctx, in.ID)
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
	slices.SortFunc(out.Items, func(a, b thing) int { return strings.Compare(a.place(), b.place()) })
	out.Items = slices.DeleteFunc(out.Items, func(t thing) bool { return t.place() <= string(after) })
	if len(out.Items) > in.Limit {
		out.Items = out.Items[:in.Limit]
		out.Next = out.Items[in.Limit-1].cursor()
	}
	for _, t := range out.Items {
		if a := t.Approval; in.Whole && a != nil && s.opts.System.Text(ctx, &a.Arguments, a.ArgumentsRef) == nil {
			a.ArgumentsRef = ""
		}
	}
	return &body[page[thing]]{out}, nil
}

// place is the sort key of an item in the inbox. The text "paused" sorts after all dates.
func (t thing) place() string {
	until := "paused"
	if !t.Expires.IsZero() {
		until = t.Expires.UTC().Format("2006-01-02T15:04:05.000000000")
	}
	return strings.Join([]string{until, t.Investigation, t.Name}, " ")
}

func (t thing) cursor() string { return base64.RawURLEncoding.EncodeToString([]byte(t.place())) }

// waiter returns the project of the waiting investigation or conversation, and whether it is a conversation.
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
