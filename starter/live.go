package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/liveview"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/remember"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/terminal"
	"github.com/inquest-dev/inquest/workflows"
)

// interactive reports whether the user has a terminal that supports the live view.
func (c *cli) interactive() bool {
	return terminal.IsTerminal(c.out) && c.typed() && c.getenv("TERM") != "dumb" && c.getenv("CI") == ""
}

// typed reports whether standard input is a terminal.
func (c *cli) typed() bool {
	file, ok := c.in.(*os.File)
	return ok && terminal.IsTerminal(file)
}

// errBlind means that there are no updates to show in the live view.
var errBlind = errors.New("the store does not say what happens")

// followLive shows an investigation in the live view until it has ended, then its report.
func followLive(ctx context.Context, c *cli, h client.Handle, look look) error {
	view := liveview.NewView(liveview.Options{
		ID: h.ID(), In: c.in, Out: c.out, Environ: os.Environ(),
		Do:      func(ctx context.Context, act liveview.Act) (string, error) { return carryOut(ctx, c, h.ID(), act) },
		Whole:   func(ctx context.Context, a *record.Approval) string { return c.lacking(ctx, a) },
		Preview: func(ctx context.Context, a record.Approval) (string, error) { return c.previewOf(ctx, h.ID(), a) },
	})
	c.aside = view.Say
	following, stop := context.WithCancel(ctx)
	defer stop()
	var out client.Result
	var err error
	var group sync.WaitGroup
	group.Go(func() {
		defer view.End()
		out, err = c.client().Follow(following, h, 0, func(e client.Event) error {
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
	case errors.Is(shown, liveview.ErrLeft):
		c.say("%s", leftText(h.ID()))
		return errLeft
	case shown != nil:
		c.say("starter: the live view: %v", shown)
		return followLines(ctx, c, h, look)
	case errors.Is(err, errBlind):
		return followLines(ctx, c, h, look)
	case err != nil:
		return notWatching(ctx, h, err)
	case out.Status == agent.StatusRefused:
		return verdict(out.ID, out.Status, out.EndReason, out.Error)
	}
	if !known.Status.Closed() {
		if err := c.whole(ctx, "report", &out.Report, out.ReportRef); err != nil {
			return err
		}
		known = endOf(out)
	}
	if err := terminal.End(known, c.options(false)); err != nil {
		return err
	}
	c.say("Next: starter report %s", command.ShellWord(h.ID()))
	return verdict(out.ID, out.Status, out.EndReason, c.unsaid(out.Error))
}

// carryOut carries out a request from the live view and describes the result.
func carryOut(ctx context.Context, c *cli, id string, act liveview.Act) (line string, err error) {
	by := userName()
	steered := func(name string, in any) (string, error) {
		s, err := c.client().Steer(ctx, id, name, in)
		_, line, err := outcome(ctx, err, name, "starter status", nil, steerLine(s, name))
		return line, err
	}
	switch act.Do {
	case liveview.Pause:
		line, err = steered(workflows.SignalPause, workflows.By{By: by})
	case liveview.Resume:
		line, err = steered(workflows.SignalResume, workflows.By{By: by})
	case liveview.Guide:
		line, err = steered(workflows.SignalGuide, workflows.Guide{Text: act.Text, By: by})
	case liveview.Conclude:
		line, err = steered(workflows.SignalConclude, workflows.Conclude{By: by})
	case liveview.Decide:
		line, err = decideLive(ctx, c, id, act)
	case liveview.Answer:
		a := workflows.Answer{ID: act.Question.ID, Text: act.Text, Approved: act.Approved, By: by}
		if act.Question.Kind == "agent_review" && !act.Question.Review {
			a.Text, a.Decision = "", act.Text
		}
		out, failed := c.client().Answer(ctx, id, a)
		_, line, err = outcome(ctx, failed, "the answer", "starter inbox", nil, answerLine(id, out))
	}
	if err != nil {
		err = explain(err)
	}
	return line, err
}

// decideLive decides a call from the live view. The rule for Always is like the one in the preview.
func decideLive(ctx context.Context, c *cli, id string, act liveview.Act) (line string, err error) {
	d := decisionOf(act.Approval)
	d.Approved = act.Approved
	var st *store.Store
	var rule remember.Rule
	switch act.Way {
	case liveview.Edit:
		d.Arguments = json.RawMessage(act.Text)
	case liveview.AskAgent:
		d.Ask = act.Text
	case liveview.Reassign:
		d.HandTo = act.Text
	case liveview.Always:
		if st, rule, err = c.remembering(ctx, id, d, &ruleFlags{rule: remember.Rule{By: d.By}, lasts: act.For}); err != nil {
			return "", err
		}
	default:
		d.Reason = act.Text
	}
	out, err := c.client().Decide(ctx, id, d)
	_, line, err = outcome(ctx, err, "the decision about "+d.CallID, "starter inbox", nil, decisionLine(out))
	if err != nil || act.Way != liveview.Always {
		return line, err
	}
	if err := st.AddRule(ctx, rule); err != nil {
		return "", fmt.Errorf("the call is approved, and the rule is not saved: %w", err)
	}
	return line + " · rule " + rule.ID + " is saved", nil
}

// decisionOf returns the user's decision on a call as shown.
func decisionOf(a record.Approval) workflows.Decide {
	return workflows.Decide{CallID: a.Name(), Digest: a.Digest, By: userName(), Identity: identity()}
}

// previewOf describes which past calls a rule based on this call would have allowed.
func (c *cli) previewOf(ctx context.Context, id string, a record.Approval) (string, error) {
	d := decisionOf(a)
	st, r, err := c.remembering(ctx, id, d, &ruleFlags{rule: remember.Rule{By: d.By}})
	if err != nil {
		return "", err
	}
	p, err := previewed(ctx, st, r)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = c.printPreview(&out, r, p)
	return out.String(), err
}

// lacking loads all of a call's arguments, or says why it cannot.
func (c *cli) lacking(ctx context.Context, a *record.Approval) string {
	if err := c.client().Text(ctx, &a.Arguments, a.ArgumentsRef); err != nil {
		return fmt.Sprintf("the first %d of %d bytes: %v", len(a.Arguments), a.Bytes(), err)
	}
	if len(a.Arguments) < a.Bytes() {
		return fmt.Sprintf("the first %d of %d bytes: `starter approvals` shows all", len(a.Arguments), a.Bytes())
	}
	return ""
}
