package main

import (
	"context"
	"errors"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/eventstream"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
)

// followEvents prints an investigation's events as JSON until it has ended.
func followEvents(ctx context.Context, c *cli, h client.Handle) error {
	w := &eventstream.Writer{Out: c.out}
	if err := w.Write(eventstream.Event{Type: eventstream.Started, ID: h.ID(), WorkflowID: h.Workflow}); err != nil {
		return err
	}
	out, err := c.client().Follow(ctx, h, 0, func(e client.Event) error {
		switch {
		case e.Update != nil:
			return w.Update(*e.Update)
		case e.Connection != nil:
			event := eventstream.Event{Type: eventstream.Connection, To: e.Connection.To}
			if !e.Connection.Lost.IsZero() {
				event.Lost = &e.Connection.Lost
			}
			return w.Write(event)
		case e.Status != nil:
			return w.Write(eventstream.Event{Type: eventstream.Status, Status: e.Status.Status})
		}
		return w.Write(eventstream.Event{Type: eventstream.Status, Why: explain(e.Blind).Error()})
	})
	if err == nil {
		err = c.whole(ctx, "report", &out.Report, out.ReportRef)
	}
	if err != nil {
		return notWatching(ctx, h, err)
	}
	return errors.Join(w.Write(eventstream.Event{Type: eventstream.Ended, Result: out}), verdict(out.ID, out.Status, out.EndReason, out.Error))
}

// errAll ends the events of an ended investigation.
var errAll = errors.New("all has been told")

// eventsOf prints the events of an ended investigation.
func eventsOf(ctx context.Context, c *cli, st *store.Store, r record.Investigation) error {
	w := &eventstream.Writer{Out: c.out}
	if err := w.Write(eventstream.Event{Type: eventstream.Started, ID: r.ID, WorkflowID: r.WorkflowID}); err != nil {
		return err
	}
	about := client.About(ctx, st, r)
	err := st.Follow(ctx, r.ID, 0, func(u store.Update) error {
		u.About = about
		if err := w.Update(u); err != nil || u.More {
			return err
		}
		return errAll
	})
	if !errors.Is(err, errAll) {
		return err
	}
	return w.Write(eventstream.Event{Type: eventstream.Ended, Result: client.ResultOf(r)})
}
