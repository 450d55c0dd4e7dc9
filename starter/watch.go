package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/terminal"
	"github.com/inquest-dev/inquest/workflows"
)

func watchCommand(c *cli) *cobra.Command {
	var l look
	cmd := &cobra.Command{
		Use:   "watch ID",
		Short: "Show an investigation from its beginning, live until it has ended",
		Long: `Show an investigation from its beginning, live until it has ended. On a terminal it
fills the screen: a line for each agent, the text of one of them, and what waits for
people, which is decided and answered there. The key ? lists the keys; q and Ctrl-C
leave, and the investigation goes on. Elsewhere, with --plain or --verbose, and where
TERM is "dumb" or CI is set, it is printed line by line.`,
		Example: `  starter watch lab
  starter watch lab --plain
  starter watch lab --json | jq -r 'select(.type == "entry").entry.text'`,
		Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error { return watch(cmd.Context(), c, args[0], l) },
	}
	l.flags(c, cmd)
	return cmd
}

// look selects how a running investigation is shown.
type look struct{ verbose, plain bool }

func (l *look) flags(c *cli, cmd *cobra.Command) {
	set := cmd.Flags()
	set.BoolVar(&l.verbose, "verbose", false, "show prompts, tool calls and results whole, line by line")
	set.BoolVar(&l.plain, "plain", false, "print lines, on a terminal too, in place of the live view")
	set.BoolVar(&c.json, "json", false, "print what happens as JSON, one event a line (docs/reference/events.md)")
}

// watch needs Temporal only if the investigation has not ended.
func watch(ctx context.Context, c *cli, id string, l look) error {
	id, err := c.meant(ctx, id)
	if err != nil {
		return err
	}
	var st *store.Store // the API handles ended and running investigations alike
	if !c.remote() {
		if st, err = c.client().Store(ctx); err != nil {
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
	h, err := c.client().Find(ctx, id)
	if err != nil {
		return err
	}
	return follow(ctx, c, h, l)
}

// watchEnded shows an ended investigation.
func watchEnded(ctx context.Context, c *cli, st *store.Store, r record.Investigation, l look) (err error) {
	if c.json {
		return errors.Join(eventsOf(ctx, c, st, r), verdict(r.ID, r.Status, r.EndReason, r.Error))
	}
	r, err = terminal.Watch(c.options(l.verbose), func(take func(store.Update) error) error { return st.Follow(ctx, r.ID, 0, take) })
	if err != nil {
		return err
	}
	return verdict(r.ID, r.Status, r.EndReason, c.unsaid(r.Error))
}

// follow shows an investigation until it has ended.
func follow(ctx context.Context, c *cli, h client.Handle, l look) error {
	switch {
	case c.json:
		return followEvents(ctx, c, h)
	case !l.verbose && !l.plain && c.interactive():
		return followLive(ctx, c, h, l)
	}
	return followLines(ctx, c, h, l)
}

// followLines shows an investigation line by line, from the store or, without one, from the investigation itself. On a terminal, it asks
// the user the investigation's questions.
func followLines(ctx context.Context, c *cli, h client.Handle, l look) error {
	opts := c.options(l.verbose)
	opts.Notices = notices(h.ID())
	if terminal.IsTerminal(c.out) && c.typed() {
		opts.Ask = newAsker(ctx, c, h.ID()).ask
	}
	var out client.Result       // set if the investigation ended before all was shown
	left := false               // the terminal has shown the end, or cannot
	told := map[string]string{} // last printed line by step, without a store
	_, err := terminal.Watch(opts, func(take func(store.Update) error) (err error) {
		out, err = c.client().Follow(ctx, h, 0, func(e client.Event) error {
			switch {
			case e.Update != nil:
				err := take(*e.Update)
				left = err != nil
				return err
			case e.Connection != nil:
				c.say("%s", connectionLine(*e.Connection))
			case e.Status != nil:
				progress(c, *e.Status, told)
			default:
				c.sayBlind(e.Blind)
			}
			return nil
		})
		return err
	})
	shown := left && err == nil
	if left && ctx.Err() == nil {
		if err != nil {
			c.say("starter: %v", err)
		}
		out, err = c.client().Await(ctx, h)
	}
	if err != nil {
		return notWatching(ctx, h, err)
	}
	if !shown && out.Status == agent.StatusRefused {
		return verdict(out.ID, out.Status, out.EndReason, out.Error)
	}
	if !shown {
		if err := c.whole(ctx, "report", &out.Report, out.ReportRef); err != nil {
			return err
		}
		if err := terminal.End(endOf(out), c.options(l.verbose)); err != nil {
			return err
		}
	}
	return verdict(out.ID, out.Status, out.EndReason, c.unsaid(out.Error))
}

// sayBlind explains why the output is incomplete.
func (c *cli) sayBlind(why error) {
	switch {
	case errors.Is(why, client.ErrNoStore):
		c.sayNoStore()
	case errors.Is(why, client.ErrOtherStore):
		c.say("%v (--store); showing what Temporal knows", why)
	default:
		c.say("starter: %v; showing what Temporal knows", explain(why))
	}
}

// connectionLine says that a connection was lost or is back.
func connectionLine(conn client.Connection) string {
	if conn.Lost.IsZero() {
		return "connection to " + conn.To + " is back"
	}
	return fmt.Sprintf("connection to %s lost; trying again since %s", conn.To, record.Clock(conn.Lost))
}

// progress prints a line for each stage or agent that has made progress.
func progress(c *cli, status client.Status, told map[string]string) {
	for _, step := range steps(status) {
		if told[step.name] != step.text {
			told[step.name] = step.text
			fmt.Fprintln(c.out, terminal.CleanLine(step.text))
		}
	}
}

// step is one line of progress.
type step struct{ name, text string }

func steps(status client.Status) (out []step) {
	for _, stage := range status.Stages {
		if stage.Status == agent.StatusPending {
			continue
		}
		out = append(out, step{stage.Name, fmt.Sprintf("stage %s: %s", stage.Name, stage.Status)})
		for _, a := range stage.Agents {
			name := stage.Name + "/" + a.Name
			out = append(out, step{name, name + ": " + strings.Join(present([]string{string(a.Status), doing(a, status.Agents)}), " · ")})
		}
	}
	for _, n := range notices(status.ID)(status.Waits()) {
		text := strings.TrimSpace(n.Text + " " + n.Command)
		out = append(out, step{text, text})
	}
	if status.Status.Status == agent.StatusPaused {
		out = append(out, step{"", "paused: waiting for " + status.WaitingFor})
	}
	return out
}

// doing describes how far an agent is.
func doing(a workflows.AgentSummary, agents map[string]workflows.AgentStatus) string {
	if now, ok := agents[a.WorkflowID]; ok {
		step := fmt.Sprintf("iteration %d of %d", now.Iteration, now.MaxIterations)
		if now.Iteration > now.MaxIterations { // the reserved extra iteration
			step = "concluding"
		}
		return strings.Join(present([]string{step, now.Doing, terminal.Usage(a.Usage), faultLine(now.LastFault)}), " · ")
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
	line := "last failed: " + f.Tool + ", " + f.ErrorType
	if f.RetryAfter > 0 {
		line += fmt.Sprintf(", retry after %gs", f.RetryAfter)
	}
	return line
}

// await waits for the end.
func await(ctx context.Context, c *cli, h client.Handle) (client.Result, error) {
	out, err := c.client().Await(ctx, h)
	return out, notWatching(ctx, h, err)
}

// leftText says how to come back.
func leftText(id string) string {
	id = command.ShellWord(id)
	return fmt.Sprintf("Not watching any more. The investigation goes on:\n  starter watch %[1]s\n  starter cancel %[1]s", id)
}

// notWatching tells a user who presses Ctrl-C how to come back.
func notWatching(ctx context.Context, h client.Handle, err error) error {
	if ctx.Err() != nil {
		return errors.New("\n" + leftText(h.ID()))
	}
	return err
}

// endOf converts a result to a record for printing.
func endOf(out client.Result) record.Investigation {
	return record.Investigation{
		ID: out.ID, Status: out.Status, EndReason: out.EndReason, Error: out.Error, Report: out.Report, Usage: out.Usage,
		Envelope: record.Envelope{Undelivered: out.Undelivered, Summary: out.Summary, SummaryError: out.SummaryError},
	}
}

// stagesOf converts the stages of a result to records for printing.
func stagesOf(out client.Result) (stages []record.Stage) {
	for _, s := range out.Stages {
		stages = append(stages, record.Stage{
			Name: s.Name, Status: s.Status, Error: s.Error, Envelope: record.StageEnvelope{Agents: s.Agents, Partial: s.Partial},
		})
	}
	return stages
}

// unsaid returns a message unless it has already been printed to the same terminal as part of the end.
func (c *cli) unsaid(message string) string {
	if terminal.IsTerminal(c.out) {
		return ""
	}
	return message
}

// cutError means that an investigation reached a limit and completed with partial results.
type cutError struct {
	id     string
	reason agent.EndReason
}

func (e *cutError) Error() string {
	if e.reason == agent.EndPartial {
		return fmt.Sprintf("investigation %s is partial: the text of an agent does not meet its contract. The report has that text as it was "+
			"written, and the reason.", e.id)
	}
	return fmt.Sprintf("investigation %s reached a limit (%s) before its chain was complete. The report has what was found until then.",
		e.id, e.reason)
}

// verdict returns an error for an investigation that did not complete, or not its whole chain.
func verdict(id string, status agent.Status, reason agent.EndReason, message string) error {
	switch {
	case status == agent.StatusCompleted && (reason.Cut() || reason == agent.EndPartial):
		return &cutError{id, reason}
	case status == agent.StatusCompleted:
		return nil
	case status == agent.StatusRefused:
		return usagef("%s", strings.TrimSuffix("the request was refused: "+message, ": "))
	case message == "":
		return fmt.Errorf("investigation %s: %s", id, status)
	}
	return fmt.Errorf("investigation %s: %s: %s", id, status, message)
}
