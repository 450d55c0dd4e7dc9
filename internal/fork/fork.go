// Package fork finds the part of an investigation that a fork shares with it.
package fork

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Cut returns the part of an investigation before a place in it. Each execution shares its replies up to the first one that is at or after
// the place, or whose tool calls do not all have results: no call is ever made again for a shared reply. The place is one of
//
//	""            the end
//	12            a row of the transcript; the result of a call belongs to the reply that asks for it
//	dig, dig#1    the last run of a stage, or its first one
//	Logs/3        an agent's third model call; "dig#2/Logs/3" names the stage's run, too
//
// Beside an agent's model call, the other agents of its stage share everything. Agents that had failed before the place fail again.
//
// If results are replaced and no place is given, it is the first reply that had read one of them. texts are those that replace results, by
// their numbers: the fork itself has only the results' names. If something is left out, each agent shares the replies before the first one
// that had read it, or another agent's report that may rest on it.
func Cut(p plan.Plan, entries []transcript.Entry, asked agent.Fork) (f plan.Fork, texts map[int64]string, err error) {
	if p.Check {
		return f, nil, errCheck
	}
	h := historyOf(p, entries)
	results, texts, err := replaced(entries, asked.Results)
	if err == nil && asked.At == "" {
		asked.At, err = h.readAt(results)
	}
	if err != nil {
		return f, nil, err
	}
	f.Parts, f.Until = map[string]plan.ForkPart{}, h.last
	var run string
	if len(asked.LeaveOut) == 0 {
		run, err = h.beginAt(&f, asked.At, results, entries)
	} else if f.LeftOut, results, err = h.leftOut(entries, asked.LeaveOut); err == nil {
		var row int64
		h, run, row, err = h.beginWithout(&f, results, entries, texts)
		f.At = fmt.Sprint(row)
	}
	if err != nil {
		return f, nil, err
	}
	f.Guided = h.goingOn(run, f.Parts)
	if err := h.replacePrompts(&f, asked.Prompts); err != nil {
		return f, nil, err
	}
	count(&f, entries, texts)
	switch {
	case f.Rows == 0 && asked.Tools == "":
		return f, nil, errors.New("no model call comes before that, so there is nothing to share: use `starter rerun` instead")
	case asked.Guide != "" && len(f.Guided) == 0:
		return f, nil, errors.New("no agent would read the guidance: all agents of the stage have ended by then. Fork at an earlier place")
	case f.At == "" && len(f.Guided) == 0 && h.isLast(run):
		return f, nil, errors.New("all agents have ended, so nothing would be done: give the place to continue from")
	}
	f.Left = h.left(entries, f.Parts)
	if p.Fork != nil { // what it has left out is left out here, too
		f.Left = append(slices.Clone(p.Fork.Left), f.Left...)
		for _, l := range p.Fork.LeftOut {
			if l.Earlier = true; l.Tool == "" {
				f.LeftOut = append(f.LeftOut, l)
			}
		}
	}
	return f, texts, nil
}

// beginAt sets what a fork at a place shares, with other results in it. It returns the stage's run in which the fork begins.
func (h *history) beginAt(f *plan.Fork, at string, results, entries []transcript.Entry) (run string, err error) {
	before, err := h.before(at)
	if err != nil {
		return "", err
	}
	f.At = at
	run, _ = h.share(before, f.Parts)
	if stage, ok := h.runOf(at); ok {
		run = stage
	}
	if err := h.dropSubAgents(f.Parts); err != nil {
		return "", err
	}
	return run, replace(f, results, entries)
}

// Sharing returns which entries a fork shares.
func Sharing(f plan.Fork) transcript.Sharing {
	s := transcript.Sharing{From: f.Of, Until: f.Until, Rows: f.Rows, Without: f.Without, Iterations: map[string]int{}}
	for execution, part := range f.Parts {
		s.Iterations[execution] = part.Iterations
	}
	return s
}

// share sets the shared parts of executions, and returns the row of the first reply that is not shared, and the stage's run in which the
// fork begins, which is that of this reply. The row is zero if all are shared.
func (h *history) share(before func(*execution, *reply) bool, parts map[string]plan.ForkPart) (run string, row int64) {
	var first *reply
	for _, e := range h.executions {
		part, next := plan.ForkPart{}, (*reply)(nil)
		for n, r := range e.replies {
			if !r.whole() || !before(e, r) {
				next = r
				break
			}
			part.Iterations, part.Ended = r.iteration, r.calls == 0 && n == len(e.replies)-1
		}
		began := before(e, &reply{seq: e.first, iteration: 1})
		wentOn := next != nil && !before(e, next)
		part.Stopped = began && !wentOn && !part.Ended && h.beside(e) && h.over(e.run)
		if part.Iterations > 0 || part.Stopped {
			parts[e.name] = part
		}
		if next != nil && !part.Stopped && (first == nil || next.seq < first.seq) {
			first, run, row = next, e.run, next.seq
		}
	}
	if run == "" && len(h.executions) > 0 {
		run = h.executions[len(h.executions)-1].run
	}
	return run, row
}

// over reports whether the agents of a stage's run had ended: others work on their results, or on those of the stage. Stages that run in
// parallel say nothing about each other.
func (h *history) over(run string) bool {
	parallel := slices.ContainsFunc(h.plan.Stages, func(s plan.Stage) bool { return len(s.Routing.Requires)+len(s.Routing.After) > 0 })
	return slices.ContainsFunc(h.executions, func(e *execution) bool {
		return e.run == run && !h.beside(e) || !parallel && e.run != run && h.begins[e.run] > h.begins[run]
	})
}

// isLast reports whether a run is one of the last stage.
func (h *history) isLast(run string) bool {
	name, _, _ := strings.Cut(run, "#")
	return len(h.plan.Stages) > 0 && h.plan.Stages[len(h.plan.Stages)-1].Name == name
}

// goingOn returns the executions of a stage's run that make calls of their own: its agents, or else those that work on their results.
func (h *history) goingOn(run string, parts map[string]plan.ForkPart) (names []string) {
	stage, _ := h.plan.StageOf(run)
	groups := [][]plan.Agent{stage.Agents, nil}
	for _, after := range []*plan.Agent{stage.Synthesis, stage.Review} {
		if after != nil {
			groups[1] = append(groups[1], *after)
		}
	}
	for _, group := range groups {
		for _, a := range group {
			if name := run + "/" + a.Name; !parts[name].Closed() {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			break
		}
	}
	return names
}

// left returns the calls that are not shared and may have changed something that a repetition would change again.
func (h *history) left(entries []transcript.Entry, parts map[string]plan.ForkPart) (calls []plan.LeftCall) {
	type call struct {
		transcript.Scope
		transcript.Key // of its intent
	}
	ended := map[call]bool{}
	for _, e := range entries {
		if e.Kind == transcript.KindResult {
			ended[call{e.Scope, transcript.CallKey(e.Iteration, e.CallIndex())}] = true
		}
	}
	for _, e := range entries {
		if e.Call == nil || e.Call.Own || e.Call.Class != string(tool.NonIdempotent) {
			continue
		}
		if part := parts[e.Execution]; e.Iteration <= part.Iterations && !e.Superseded { // superseded ones were made, too
			continue
		}
		c := plan.LeftCall{Execution: e.Execution, Tool: e.Call.Name, Arguments: e.Call.Arguments, At: e.At}
		switch {
		case e.Kind == transcript.KindCall:
			c.Unknown = true
			if !ended[call{e.Scope, e.Key}] {
				calls = append(calls, c)
			}
		case e.Kind == transcript.KindResult:
			c.Unknown = e.ErrorType == tool.ErrorOutcomeUnknown
			if c.Unknown || e.Status == string(tool.StatusSuccess) {
				calls = append(calls, c)
			}
		}
	}
	return calls
}

// history is what an investigation's agents and hooks have done, by execution, in the order of the first entries.
type history struct {
	plan       plan.Plan
	executions []*execution
	stages     map[string]string // the runs of stages by name; a stage's own name is that of its last run
	begins     map[string]int64  // the numbers of the first entries of the runs
	last       int64             // number of the last entry
}

type execution struct {
	name, run string
	first     int64
	replies   []*reply
}

type reply struct {
	seq              int64
	iteration        int
	dispatches       bool
	calls, completed int // completed ones have results
}

// completed reports whether the last reply calls nothing.
func (e *execution) completed() bool {
	return len(e.replies) > 0 && e.replies[len(e.replies)-1].calls == 0
}

// whole reports whether all calls have results.
func (r *reply) whole() bool { return r.completed >= r.calls }

func historyOf(p plan.Plan, entries []transcript.Entry) *history {
	h, byName := &history{plan: p, stages: map[string]string{}, begins: map[string]int64{}}, map[string]*execution{}
	for _, e := range entries {
		h.last = max(h.last, e.Seq)
		run, _, _ := strings.Cut(e.Execution, "/")
		stage, known := p.StageOf(run)
		if !known || e.Superseded {
			continue
		}
		x := byName[e.Execution]
		if x == nil {
			x = &execution{name: e.Execution, run: run, first: e.Seq}
			byName[e.Execution], h.executions = x, append(h.executions, x)
			h.stages[run], h.stages[stage.Name] = run, run
			if h.begins[run] == 0 {
				h.begins[run] = e.Seq
			}
		}
		switch {
		case e.Kind == transcript.KindReply:
			x.replies = append(x.replies, replyOf(e))
		case e.Kind == transcript.KindResult:
			n := slices.IndexFunc(x.replies, func(r *reply) bool { return r.iteration == e.Iteration })
			if n >= 0 {
				x.replies[n].completed++
			}
		}
	}
	return h
}

func replyOf(e transcript.Entry) *reply {
	r := &reply{seq: e.Seq, iteration: e.Iteration, calls: len(e.Calls)}
	if e.Forced { // its calls are not made
		r.calls = 0
	}
	for _, c := range e.Calls {
		r.dispatches = r.dispatches || slices.Contains(agent.OrchestrationTools(), c.Name)
	}
	return r
}

// before returns whether a reply comes before the place.
func (h *history) before(at string) (func(*execution, *reply) bool, error) {
	if at == "" {
		return func(*execution, *reply) bool { return true }, nil
	}
	if row, err := strconv.ParseInt(at, 10, 64); err == nil {
		if row < 1 || row > h.last {
			return nil, fmt.Errorf("there is no row %d: the transcript has rows 1 to %d", row, h.last)
		}
		return func(_ *execution, r *reply) bool { return r.seq < row }, nil
	}
	if name, number, found := cutLast(at); found {
		if iteration, err := strconv.Atoi(number); err == nil {
			return h.beforeCall(name, iteration)
		}
	}
	run, known := h.runOf(at)
	if !known {
		names := slices.Sorted(maps.Keys(h.stages))
		return nil, fmt.Errorf("stage %q did not run. Give a row of the transcript, a stage (%s), or AGENT/ITERATION",
			at, strings.Join(names, ", "))
	}
	begins := h.begins[run]
	return func(e *execution, _ *reply) bool { return e.run != run && h.begins[e.run] < begins }, nil
}

// runOf returns the run of a stage that a place names.
func (h *history) runOf(at string) (run string, known bool) {
	if stage, first := strings.CutSuffix(at, "#1"); first {
		return stage, h.stages[stage] != ""
	}
	run, known = h.stages[at]
	return run, known
}

func cutLast(at string) (before, after string, found bool) {
	n := strings.LastIndex(at, "/")
	if n < 0 {
		return "", "", false
	}
	return at[:n], at[n+1:], true
}

// beforeCall is before for a model call of an agent. The agents beside it share everything; those that work on their results, nothing.
func (h *history) beforeCall(name string, iteration int) (func(*execution, *reply) bool, error) {
	var found []*execution
	for _, e := range h.executions {
		if e.name == name || strings.HasSuffix(e.name, "/"+name) {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("agent %q: %s", name, h.candidates(found))
	}
	x := found[0]
	switch calls := len(x.replies); {
	case strings.Count(x.name, "/") > 1:
		return nil, fmt.Errorf("%s was dispatched by another agent: fork at that agent's call", x.name)
	case iteration < 1 || iteration > calls:
		return nil, fmt.Errorf("%s has iterations 1 to %d, not %d", x.name, calls, iteration)
	}
	begins := h.begins[x.run]
	return func(e *execution, r *reply) bool {
		switch {
		case e == x:
			return r.iteration < iteration
		case e.run == x.run:
			return h.beside(e)
		}
		return h.begins[e.run] < begins
	}, nil
}

func (h *history) candidates(found []*execution) string {
	what := "it did not run; these did: "
	if len(found) > 1 {
		what = "it ran several times; name one of: "
	} else {
		found = h.executions
	}
	var names []string
	for _, e := range found {
		names = append(names, e.name)
	}
	return what + strings.Join(names, ", ")
}

// beside reports whether an execution does not wait for the agents of its stage, as synthesis, review and the last hook do.
func (h *history) beside(e *execution) bool {
	stage, _ := h.plan.StageOf(e.run)
	name := strings.Split(e.name, "/")[1]
	for _, after := range []*plan.Agent{stage.Synthesis, stage.Review} {
		if after != nil && after.Name == name {
			return false
		}
	}
	return stage.PostProcess == "" || !strings.HasPrefix(name, "post_process:")
}

// dropSubAgents keeps sub-agents only of agents that share everything, because nothing is dispatched again for a shared reply. It returns
// an error if an agent would continue without the agents that it had dispatched.
func (h *history) dropSubAgents(parts map[string]plan.ForkPart) error {
	byName := slices.SortedFunc(slices.Values(h.executions), func(a, b *execution) int { return cmp.Compare(a.name, b.name) }) // parents first
	for _, e := range byName {
		if parent, _, _ := cutLast(e.name); strings.Contains(parent, "/") && !parts[parent].Closed() {
			delete(parts, e.name)
			continue
		}
		part := parts[e.name]
		for _, r := range e.replies {
			if r.dispatches && r.iteration <= part.Iterations && !part.Closed() {
				return fmt.Errorf("%s has dispatched agents by then, and a fork cannot wait for them: fork at %s/%d or earlier, or after its end",
					e.name, e.name, r.iteration)
			}
		}
	}
	return nil
}
