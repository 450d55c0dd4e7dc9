package start

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/fork"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// NewWhy returns the command why.
func NewWhy(c *base.CLI) *cobra.Command {
	w := why{CLI: c}
	cmd := &cobra.Command{
		Use:   "why ID",
		Short: "Find what a conclusion depends on",
		Long: `Fork an ended investigation once for each of its inputs, without that input, and rank the inputs by
how often the conclusion changes without them. A fork shares all replies before the first one that
had read the input, and its tool calls are answered from the investigation's results. Forks that
leave nothing out show how often the conclusion changes by chance.

--leave-out says which inputs. Each fork leaves out one of them:

  results    the result of a tool call, and of all equal calls
  agents     an agent that works beside others of its stage
  memories   a learning from earlier investigations in the agents' prompts

Results that the report cites are tried first.

An agent (ConclusionAgent in the configuration) compares the conclusions. Other words for the
same cause are no change.

Before anything starts, the command says what the same model calls cost in the investigation,
and asks. --budget limits that cost: inputs beyond it are not tried, and no fork starts that
would exceed it. The forks stay, with metadata why=ID and the lowest priority. Nobody is
notified about them or has to review them, and nothing is learned from them. Hooks, service
agents and tools that a model's provider runs work as always, in every fork.`,
		Example: `  starter why lab-0a1b2c3d
  starter why lab-0a1b2c3d --leave-out agents
  starter why lab-0a1b2c3d --times 5 --budget 2.00 --yes --json`,
		Args: base.Exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error { return w.run(cmd.Context(), args[0]) },
	}
	set := cmd.Flags()
	set.StringVar((*string)(&w.result.LeaveOut), "leave-out", string(fork.Results), "what to leave out: results, agents or memories")
	set.IntVar(&w.times, "times", 1, "forks for each input, from 1 to 20: more show better what is chance")
	set.IntVar(&w.limit, "limit", 10, "how many inputs to leave out at most, from 1 to 100")
	set.IntVar(&w.parallel, "parallel", 4, "how many forks run at a time, from 1 to 50")
	set.Float64Var(&w.budget, "budget", 0, "most that the forks may cost, in US dollars (0: no limit)")
	set.StringVar(&w.provider, "provider", "", "model that compares the conclusions (default: that of ConclusionAgent in the configuration)")
	set.StringVar(&w.by, "by", base.UserName(), "name of the requester")
	set.BoolVar(&w.yes, "yes", false, "start without confirmation")
	set.BoolVar(&c.JSON, "json", false, "print the result as JSON")
	return cmd
}

// why is one call of the command why.
type why struct {
	*base.CLI
	times, limit, parallel int
	budget                 float64
	provider, by           string
	yes                    bool

	config *configuration.Config // nil with the API, which has its own
	of     system.Record
	result whyResult
}

// nouns name one input of each kind.
var nouns = map[fork.InputKind]string{fork.Results: "call", fork.Agents: "agent", fork.Memories: "learning"}

// check returns everything that is wrong with the flags.
func (w *why) check() error {
	var errs []error
	for _, f := range []struct {
		name       string
		value, max int
	}{{"times", w.times, 20}, {"limit", w.limit, 100}, {"parallel", w.parallel, 50}} {
		if f.value < 1 || f.value > f.max {
			errs = append(errs, fmt.Errorf("--%s %d: expected a number from 1 to %d", f.name, f.value, f.max))
		}
	}
	if nouns[w.result.LeaveOut] == "" {
		errs = append(errs, fmt.Errorf("--leave-out %q: use results, agents or memories", w.result.LeaveOut))
	}
	if !(w.budget >= 0) { // also not NaN
		errs = append(errs, fmt.Errorf("--budget %v: expected dollars, 0 or more", w.budget))
	}
	if err := errors.Join(errs...); err != nil {
		return base.Usagef("%w", err)
	}
	return nil
}

func (w *why) run(ctx context.Context, id string) error {
	err := w.check()
	if err == nil {
		err = w.prepare(ctx, id)
	}
	if err == nil {
		err = w.confirm()
	}
	if err != nil {
		return err
	}
	w.forkAll(ctx)
	if ctx.Err() == nil {
		err = w.compareAll(ctx)
	}
	w.result.Interrupted = ctx.Err() != nil
	if compared := w.result.rank(); compared == 0 && err == nil && ctx.Err() == nil {
		err = errors.New("no conclusion could be compared")
	}
	if w.JSON {
		return errors.Join(w.PrintJSON(w.result), err, ctx.Err())
	}
	if w.result.Interrupted {
		w.Say("interrupted: forks that ran are cancelled, and no conclusion was compared. All of them: starter list --meta why=%s", w.result.Of)
		return ctx.Err()
	}
	return errors.Join(w.print(), err)
}

// checkComparer loads the configuration, and checks that it can compare conclusions. The API checks that itself.
func (w *why) checkComparer() (err error) {
	if w.Remote() {
		return nil
	}
	if w.config, err = w.LoadConfig(); err != nil {
		return err
	}
	if _, err := w.config.Plan(agent.Request{Chain: configuration.OfAgent + comparer, Provider: w.provider}); err != nil {
		return base.Usagef("conclusions cannot be compared: %w", err)
	}
	return nil
}

// prepare reads the investigation and decides what to leave out.
func (w *why) prepare(ctx context.Context, id string) (err error) {
	w.of, err = w.Client().Whole(ctx, id)
	if errors.Is(err, record.ErrNotFound) {
		err = w.Client().Meant(ctx, id, err)
	}
	if err != nil {
		return err
	}
	r := w.of.Investigation
	w.result = whyResult{
		Of: r.ID, LeaveOut: w.result.LeaveOut, Times: w.times, Conclusion: conclusionOf(r), NotTried: []fork.Input{},
		Comparisons: []string{}, Control: without{Forks: []oneRun{}},
	}
	if !r.Status.Closed() || w.result.Conclusion == "" {
		return base.Usagef("%s has no conclusion: it is %s, and has no report", r.ID, r.Status)
	}
	p, err := w.Client().Plan(ctx, w.of)
	if err != nil {
		return err
	}
	if err := p.Unattended(); err != nil {
		return base.Usagef("forks of %s would wait for people: %w", r.ID, err)
	}
	if w.budget > 0 && r.Envelope.Fork != nil {
		return base.Usagef("--budget: %s is a fork, and the usage of its shared model calls is not known", r.ID)
	}
	if err := w.checkComparer(); err != nil {
		return err
	}
	inputs := fork.Inputs(p, w.of.Entries, w.result.LeaveOut)
	cited, err := w.cited(ctx)
	if err != nil {
		return err
	}
	slices.SortStableFunc(inputs, func(a, b fork.Input) int { return cmp.Compare(cited(b), cited(a)) })
	for _, in := range inputs {
		if err := w.add(p, in); err != nil {
			return err
		}
	}
	if len(w.result.Without) == 0 {
		return base.Usagef("%s has no %s that can be left out%s", r.ID, nouns[w.result.LeaveOut], problems(w.result.NotTried))
	}
	return nil
}

// add adds an input and a control that begins no later, unless that would exceed a limit.
func (w *why) add(p plan.Plan, in fork.Input) error {
	r := &w.result
	if in.Problem == "" && len(r.Without) == w.limit {
		in.Problem = fmt.Sprintf("beyond --limit %d", w.limit)
	}
	if in.Problem != "" {
		r.NotTried = append(r.NotTried, in)
		return nil
	}
	control := r.Control
	if control.From == 0 || in.From < control.From {
		control.From, control.Again, control.Problem = in.From, agent.Usage{}, ""
		if f, _, err := fork.Cut(p, w.of.Entries, *w.asked(control)); err != nil {
			control.Problem = err.Error()
		} else {
			control.Again = fork.Again(f, w.of.Entries)
		}
	}
	all := append(slices.Clone(r.Without), without{Input: in, Forks: []oneRun{}})
	estimate := w.estimate(append(all, control))
	switch {
	case w.budget > 0 && estimate.CostUSD == 0 && estimate.Tokens() > 0:
		return base.Usagef("--budget: the models of %s have no prices in its configuration, so the cost is unknown", r.Of)
	case w.budget > 0 && estimate.CostUSD > w.budget:
		in.Problem = "beyond --budget: with it, the forks would cost about " + terminal.Cost(estimate)
		r.NotTried = append(r.NotTried, in)
	default:
		r.Without, r.Control, r.Estimate = all, control, estimate
	}
	return nil
}

// estimate returns the usage of the model calls that the forks repeat.
func (w *why) estimate(all []without) (total agent.Usage) {
	for _, one := range all {
		for range w.times {
			total = total.Add(one.Again)
		}
	}
	return total
}

// cited returns how often claims of the report cite the results of an input.
func (w *why) cited(ctx context.Context) (func(fork.Input) int, error) {
	times := map[int64]int{}
	if w.of.Investigation.Envelope.Evidence != "" && w.result.LeaveOut == fork.Results {
		found, err := w.Client().Evidence(ctx, w.of)
		if err != nil {
			return nil, err
		}
		for _, claim := range found.Claims {
			for _, n := range claim.Cites {
				if n > 0 && n <= len(found.Items) {
					times[found.Items[n-1].Seq]++
				}
			}
		}
	}
	return func(in fork.Input) (sum int) {
		for _, row := range in.Rows {
			sum += times[row]
		}
		return sum
	}, nil
}

// asked returns the request of a fork without an input, or of the control.
func (w *why) asked(one without) *agent.Fork {
	out := &agent.Fork{Of: w.result.Of, Tools: agent.ForkTape}
	if one.Name == "" {
		out.At = fmt.Sprint(one.From)
	} else {
		out.LeaveOut = []string{one.Name}
	}
	return out
}

// confirm says what the forks will cost, and asks.
func (w *why) confirm() error {
	r := w.result
	if r.Control.Problem != "" {
		w.Say("no fork leaves nothing out: %s", r.Control.Problem)
	}
	about := "about"
	if w.of.Investigation.Envelope.Fork != nil {
		about = "at least"
	}
	w.Say("%s of %s, without one of %s or without none: %s %s. The same model calls of the investigation used that.",
		terminal.Count(len(r.tried())*w.times, "fork"), r.Of, terminal.Count(len(r.Without), nouns[r.LeaveOut]), about, usageText(r.Estimate))
	switch {
	case w.yes:
		return nil
	case !w.Typed():
		return base.Usagef("nothing was started: confirm with --yes")
	case !w.SaysYes("Start them?"):
		return errors.New("nothing was started")
	}
	return nil
}

// usageText returns the cost, if it is known, and the tokens.
func usageText(u agent.Usage) string {
	if u.CostUSD == 0 {
		return terminal.Tokens(u)
	}
	return terminal.Cost(u) + ", " + terminal.Tokens(u)
}
