package look

import (
	"context"
	"errors"
	"os"
	"sync"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/cli/decide"
	"github.com/inquest-dev/inquest/internal/face/live"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// errBlind means that there are no updates to show in the live view.
var errBlind = errors.New("the store provides no live updates")

// followLive shows an investigation in the live view until it has ended, then its brief.
func followLive(ctx context.Context, c *base.CLI, h system.Handle, look Look) error {
	view := live.NewView(live.Options{
		ID: h.ID(), In: c.In, Out: c.Out, Environ: os.Environ(),
		Do:    func(ctx context.Context, act live.Act) (string, error) { return decide.CarryOut(ctx, c, h.ID(), act) },
		Whole: func(ctx context.Context, a *record.Approval) string { return decide.Lacking(ctx, c, a) },
		Preview: func(ctx context.Context, a record.Approval) (string, error) {
			return decide.PreviewOf(ctx, c, h.ID(), a)
		},
	})
	c.Aside = view.Say
	following, stop := context.WithCancel(ctx)
	defer stop()
	var out system.Result
	var err error
	var group sync.WaitGroup
	group.Go(func() {
		defer view.End()
		out, err = c.Client().Follow(following, h, 0, func(e system.Event) error {
			switch {
			case e.Update != nil:
				view.Take(*e.Update)
			case e.Connection != nil:
				view.Lost(e.Connection.To, e.Connection.Lost)
			default:
				return errBlind
			}
			return nil
		})
	})
	known, shown := view.Run(ctx)
	stop()
	group.Wait()
	switch {
	case errors.Is(shown, live.ErrLeft):
		c.Say("%s", base.LeftText(h.ID()))
		return base.ErrLeft
	case shown != nil:
		c.Say("starter: the live view: %v", shown)
		return followLines(ctx, c, h, look)
	case errors.Is(err, errBlind):
		return followLines(ctx, c, h, look)
	case err != nil:
		return base.NotWatching(ctx, h, err)
	case out.Status == agent.StatusRefused:
		return base.Verdict(out.ID, out.Status, out.EndReason, out.Error)
	}
	if !known.Status.Closed() {
		if err := c.Whole(ctx, "report", &out.Report, out.ReportRef); err != nil {
			return err
		}
		known = endOf(out)
	}
	return finish(ctx, c, known, stagesOf(out), c.Options(false))
}
