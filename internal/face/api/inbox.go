package api

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// inbox lists what needs attention, most urgent first. Paused items come last.
func (h steering) inbox(ctx context.Context, in *system.InboxIn) (*body[system.Page[system.Thing]], error) {
	who := accessOf(ctx)
	if in.Project != "" {
		if err := who.of(in.Project); err != nil {
			return nil, err
		}
	}
	after, err := base64.RawURLEncoding.DecodeString(in.Cursor)
	if err != nil {
		return nil, errCursor
	}
	if in.ID != "" {
		o, err := h.waits(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		in.ID = o.ID
	}
	waiting, err := h.opts.System.Waiting(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out := system.Page[system.Thing]{Items: []system.Thing{}}
	for _, w := range waiting {
		project, talk, err := h.waiter(ctx, w)
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
	slices.SortFunc(out.Items, func(a, b system.Thing) int { return strings.Compare(a.Place(), b.Place()) })
	out.Items = slices.DeleteFunc(out.Items, func(t system.Thing) bool { return t.Place() <= string(after) })
	if len(out.Items) > in.Limit {
		out.Items = out.Items[:in.Limit]
		out.Next = out.Items[in.Limit-1].Cursor()
	}
	for _, t := range out.Items {
		if a := t.Approval; in.Whole && a != nil && h.opts.System.Text(ctx, &a.Arguments, a.ArgumentsRef) == nil {
			a.ArgumentsRef = ""
		}
	}
	return reply(out), nil
}

// waiter returns the project of the waiting investigation or conversation, and whether it is a conversation.
func (h steering) waiter(ctx context.Context, w record.Waiting) (project string, talk bool, err error) {
	if w.Project != "" {
		return w.Project, false, nil
	}
	o, err := h.opts.System.ThreadOwner(ctx, w.WorkflowID)
	return o.Project, true, err
}

func things(w record.Waiting, project string, talk bool) (all []system.Thing) {
	t := system.Thing{Investigation: w.Investigation, WorkflowID: w.WorkflowID, Project: project, Conversation: talk}
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
	return slices.DeleteFunc(all, func(t system.Thing) bool { return record.Expired(t.Expires) })
}
