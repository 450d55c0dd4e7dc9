package look

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/cli/decide"
	"github.com/inquest-dev/inquest/internal/face/report"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

// NewWatch returns the command watch.
func NewWatch(c *base.CLI) *cobra.Command {
	var l Look
	cmd := &cobra.Command{
		Use:   "watch ID",
		Short: "Show an investigation from its beginning, live until it ends",
		Long: `Show an investigation from its beginning, live until it ends. On a terminal, the live view
fills the screen: a line for each agent, the text of one agent, and everything that needs a
person; you can decide and answer there. Press ? to list the keys. q and Ctrl-C leave, and the
investigation continues. Without a terminal, with --plain or --verbose, if TERM is "dumb", or
if CI is set, the output is printed line by line.`,
		Example: `  starter watch lab
  starter watch lab --plain
  starter watch lab --json | jq -r 'select(.type == "entry").entry.text'`,
		Args: base.Exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error { return Watch(cmd.Context(), c, args[0], l) },
	}
	l.Flags(c, cmd)
	return cmd
}

// Look selects how a running investigation is shown.
type Look struct{ verbose, plain bool }

// Flags adds the flags to a command.
func (l *Look) Flags(c *base.CLI, cmd *cobra.Command) {
	set := cmd.Flags()
	set.BoolVar(&l.verbose, "verbose", false, "show prompts, tool calls and results in full, line by line")
	set.BoolVar(&l.plain, "plain", false, "print lines instead of the live view, even on a terminal")
	set.BoolVar(&c.JSON, "json", false, "print events as JSON, one per line (docs/reference/events.md)")
}

// Watch needs Temporal only if the investigation has not ended.
func Watch(ctx context.Context, c *base.CLI, id string, l Look) error {
	id, err := c.Meant(ctx, id)
	if err != nil {
		return err
	}
	var st base.Store // the API handles ended and running investigations alike
	if !c.Remote() {
		if st, err = c.OpenStore(ctx); err != nil {
			return err
		}
	}
	if st != nil {
		r, err := st.FindInvestigation(ctx, id)
		switch {
		case err == nil && r.Status.Closed():
			return watchEnded(ctx, c, st, r, l)
		case err != nil && !errors.Is(err, record.ErrNotFound):
			return err
		}
	}
	h, err := c.Client().Find(ctx, id)
	if err != nil {
		return err
	}
	return Follow(ctx, c, h, l)
}

// watchEnded shows an ended investigation.
func watchEnded(ctx context.Context, c *base.CLI, st base.Store, r record.Investigation, l Look) (err error) {
	if c.JSON {
		return errors.Join(eventsOf(ctx, c, st, r), base.Verdict(r.ID, r.Status, r.EndReason, r.Error))
	}
	r, err = terminal.Watch(c.Options(l.verbose), func(take func(record.Update) error) error { return st.Follow(ctx, r.ID, 0, take) })
	if err != nil {
		return err
	}
	return finish(ctx, c, r, nil, c.Options(l.verbose))
}

// Follow shows an investigation until it has ended.
func Follow(ctx context.Context, c *base.CLI, h system.Handle, l Look) error {
	switch {
	case c.JSON:
		return followEvents(ctx, c, h)
	case !l.verbose && !l.plain && c.Interactive():
		return followLive(ctx, c, h, l)
	}
	return followLines(ctx, c, h, l)
}

// followLines shows an investigation line by line, from the store or, without one, from the investigation itself. On a terminal, it asks
// the user the investigation's questions.
func followLines(ctx context.Context, c *base.CLI, h system.Handle, l Look) error {
	opts := c.Options(l.verbose)
	opts.Notices = decide.Notices(h.ID())
	if terminal.IsTerminal(c.Out) && c.Typed() {
		opts.Ask = decide.NewAsker(ctx, c, h.ID()).Ask
	}
	var out system.Result          // set if the investigation ended before all was shown
	left := false                  // take stopped: the end was shown, or the output failed
	printed := map[string]string{} // last printed line by step, without a store
	known, err := terminal.Watch(opts, func(take func(record.Update) error) (err error) {
		out, err = c.Client().Follow(ctx, h, 0, func(e system.Event) error {
			switch {
			case e.Update != nil:
				err := take(*e.Update)
				left = err != nil
				return err
			case e.Connection != nil:
				c.Say("%s", connectionLine(*e.Connection))
			case e.Status != nil:
				progress(c, *e.Status, printed)
			default:
				sayBlind(c, e.Blind)
			}
			return nil
		})
		return err
	})
	shown := left && err == nil
	if left && ctx.Err() == nil {
		if err != nil {
			c.Say("starter: %v", err)
		}
		out, err = c.Client().Await(ctx, h)
	}
	if err != nil {
		return base.NotWatching(ctx, h, err)
	}
	if !shown && out.Status == agent.StatusRefused {
		return base.Verdict(out.ID, out.Status, out.EndReason, out.Error)
	}
	if !shown {
		if err := c.Whole(ctx, "report", &out.Report, out.ReportRef); err != nil {
			return err
		}
		known = endOf(out)
	}
	return finish(ctx, c, known, stagesOf(out), c.Options(l.verbose))
}

// finish prints how an investigation ended, and returns the error that its exit code comes from. A terminal gets the brief and the
// command for the whole report. Elsewhere, the report follows the lines, because scripts read it, and the error says what went wrong.
func finish(ctx context.Context, c *base.CLI, r record.Investigation, stages []record.Stage, opts terminal.Options) error {
	verdict := base.Verdict(r.ID, r.Status, r.EndReason, map[bool]string{true: r.Error}[opts.Width == 0])
	whole := report.Of(r, stages, terminal.Summary(r), nil)
	if opts.Width > 0 || verdict != nil {
		if stored, err := reportOf(ctx, c, r.ID); err == nil { // the store knows more
			whole = stored
		}
	}
	if opts.Width == 0 {
		r.Error = "" // the verdict has it
		if verdict != nil && whole.Advice != "" {
			verdict = fmt.Errorf("%w\n%s", verdict, whole.Advice)
		}
		return cmp.Or(terminal.End(r, opts), verdict)
	}
	text, cut := whole.Short()
	if err := terminal.Brief(text, opts); err != nil {
		return err
	}
	if cut {
		c.Say("Whole report: starter report %s", command.ShellWord(r.ID))
	}
	return verdict
}

// sayBlind explains why the output is incomplete.
func sayBlind(c *base.CLI, why error) {
	switch {
	case errors.Is(why, system.ErrNoStore):
		c.SayNoStore()
	case errors.Is(why, system.ErrOtherStore):
		c.Say("%v (set --store); showing what Temporal knows", why)
	default:
		c.Say("starter: %v; showing what Temporal knows", base.Explain(why))
	}
}

// connectionLine says that a connection was lost or is back.
func connectionLine(conn system.Connection) string {
	if conn.Lost.IsZero() {
		return "connection to " + conn.To + " is restored"
	}
	return fmt.Sprintf("connection to %s lost; retrying since %s", conn.To, record.Clock(conn.Lost))
}

// progress prints a line for each stage or agent that has made progress.
func progress(c *base.CLI, status system.Status, printed map[string]string) {
	for _, step := range steps(status) {
		if printed[step.name] != step.text {
			printed[step.name] = step.text
			fmt.Fprintln(c.Out, terminal.CleanLine(step.text))
		}
	}
}

// step is one line of progress.
type step struct{ name, text string }

func steps(status system.Status) (out []step) {
	for _, stage := range status.Stages {
		if stage.Status == agent.StatusPending {
			continue
		}
		out = append(out, step{stage.Name, fmt.Sprintf("stage %s: %s", stage.Name, stage.Status)})
		for _, a := range stage.Agents {
			name := stage.Name + "/" + a.Name
			out = append(out, step{name, name + ": " + strings.Join(base.Present([]string{string(a.Status), doing(a, status.Agents)}), " · ")})
		}
	}
	for _, n := range decide.Notices(status.ID)(status.Waits()) {
		text := strings.TrimSpace(n.Text + " " + n.Command)
		out = append(out, step{text, text})
	}
	if status.Status.Status == agent.StatusPaused {
		out = append(out, step{"", "paused: waiting for " + status.WaitingFor})
	}
	return out
}

// doing describes an agent's progress.
func doing(a workflows.AgentSummary, agents map[string]workflows.AgentStatus) string {
	if now, ok := agents[a.WorkflowID]; ok {
		step := fmt.Sprintf("iteration %d of %d", now.Iteration, now.MaxIterations)
		if now.Iteration > now.MaxIterations { // the reserved extra iteration
			step = "concluding"
		}
		return strings.Join(base.Present([]string{step, now.Doing, terminal.Usage(a.Usage), faultLine(now.LastFault)}), " · ")
	}
	if a.Status.Closed() || a.Iterations > 0 {
		return fmt.Sprintf("%s · %s", terminal.Count(a.Iterations, "iteration"), terminal.Usage(a.Usage))
	}
	return ""
}

// faultLine describes the last failed tool call. An empty string means that none has failed.
func faultLine(f *workflows.CallFault) string {
	if f == nil {
		return ""
	}
	line := "last failed call: " + f.Tool + ", " + f.ErrorType
	if f.RetryAfter > 0 {
		line += fmt.Sprintf(", retry after %gs", f.RetryAfter)
	}
	return line
}

// endOf converts a result to a record for printing.
func endOf(out system.Result) record.Investigation {
	return record.Investigation{
		ID: out.ID, Status: out.Status, EndReason: out.EndReason, Error: out.Error, Report: out.Report, Usage: out.Usage,
		Envelope: record.Envelope{Undelivered: out.Undelivered, Summary: out.Summary, SummaryError: out.SummaryError,
			NotChecked: out.NotChecked, NoToolResult: out.NoToolResult},
	}
}

// stagesOf converts the stages of a result to records for printing.
func stagesOf(out system.Result) (stages []record.Stage) {
	for _, s := range out.Stages {
		stages = append(stages, record.Stage{
			Name: s.Name, Status: s.Status, Error: s.Error, Envelope: record.StageEnvelope{Agents: s.Agents, Partial: s.Partial},
		})
	}
	return stages
}
