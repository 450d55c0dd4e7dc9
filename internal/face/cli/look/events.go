package look

import (
	"context"
	"errors"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/events"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// followEvents prints an investigation's events as JSON until it has ended.
func followEvents(ctx context.Context, c *base.CLI, h system.Handle) error {
	w := &events.Writer{Out: c.Out}
	if err := w.Write(events.Event{Type: events.Started, ID: h.ID(), WorkflowID: h.Workflow}); err != nil {
		return err
	}
	out, err := c.Client().Follow(ctx, h, 0, func(e system.Event) error {
		switch {
		case e.Update != nil:
			return w.Update(*e.Update)
		case e.Connection != nil:
			event := events.Event{Type: events.Connection, To: e.Connection.To}
			if !e.Connection.Lost.IsZero() {
				event.Lost = &e.Connection.Lost
			}
			return w.Write(event)
		case e.Status != nil:
			return w.Write(events.Event{Type: events.Status, Status: e.Status.Status})
		}
		return w.Write(events.Event{Type: events.Status, Why: base.Explain(e.Blind).Error()})
	})
	if err == nil {
		err = c.Whole(ctx, "report", &out.Report, out.ReportRef)
	}
	if err != nil {
		return base.NotWatching(ctx, h, err)
	}
	return errors.Join(w.Write(events.Event{Type: events.Ended, Result: out}), base.Verdict(out.ID, out.Status, out.EndReason, out.Error))
}

// errAll stops Follow after the last event of an ended investigation.
var errAll = errors.New("all events were sent")

// eventsOf prints the events of an ended investigation.
func eventsOf(ctx context.Context, c *base.CLI, st base.Store, r record.Investigation) error {
	w := &events.Writer{Out: c.Out}
	if err := w.Write(events.Event{Type: events.Started, ID: r.ID, WorkflowID: r.WorkflowID}); err != nil {
		return err
	}
	about := c.Local().About(ctx, r)
	err := st.Follow(ctx, r.ID, 0, func(u record.Update) error {
		u.About = about
		if err := w.Update(u); err != nil || u.More {
			return err
		}
		return errAll
	})
	if !errors.Is(err, errAll) {
		return err
	}
	return w.Write(events.Event{Type: events.Ended, Result: system.ResultOf(r)})
}
