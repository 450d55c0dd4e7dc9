package fork

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/knowledge/learning"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// notAvailable is what agents get in place of a result that is left out.
const notAvailable = "This result is not available."

// resultsByCall returns the results of tools by callOf, in order.
func resultsByCall(entries []transcript.Entry) map[string][]transcript.Entry {
	byCall := map[string][]transcript.Entry{}
	for _, e := range resultsOf(entries) {
		if !noResult(e) {
			call := callOf(e)
			byCall[call] = append(byCall[call], e)
		}
	}
	return byCall
}

// callOf returns the tool and arguments of a result, the same for equal calls. A number equals its text, because calls are made with the
// types in the tool's schema.
func callOf(e transcript.Entry) string {
	return e.Call.Name + " " + strings.ReplaceAll(tool.Spelled(e.Call.Arguments), `"`, "")
}

var errCheck = errors.New("it is a check of a schedule, which cannot be forked")

// checkLeaveOut returns why nothing can be left out in forks of an investigation with a plan.
func checkLeaveOut(p plan.Plan) error {
	place := p.Remembers()
	switch {
	case p.Check:
		return errCheck
	case place != "":
		return fmt.Errorf("%s keeps a memory of its own, which may have what is left out, so nothing can be left out", place)
	}
	return nil
}

// leaveOut returns the history without the agents that are left out, and whether a reply comes before the first ones that had read
// something of what is left out. The other agents of that stage share everything, those that work on their results nothing. results are
// those that are left out.
func (h *history) leaveOut(
	left []plan.LeftOut, results []transcript.Entry,
) (rest *history, before func(*execution, *reply) bool, err error) {
	rest, run, reads := h, "", map[*execution]int{}
	begin := func(in string) {
		if run == "" || h.begins[in] < h.begins[run] {
			run = in
		}
	}
	read := func(x *execution, iteration int) {
		begin(x.run)
		if n, reading := reads[x]; !reading || iteration < n {
			reads[x] = iteration
		}
	}
	for _, e := range results {
		if x, r := h.readerOf(e); r != nil {
			read(x, x.beforeDispatch(r).iteration)
		}
	}
	for _, in := range left {
		if in.Agent != "" {
			if rest, err = rest.withoutAgent(in.Agent); err != nil {
				return nil, nil, err
			}
		}
		for _, x := range h.executions {
			switch {
			case in.Agent != "" && placeOf(x.name) == in.Agent:
				begin(x.run)
			case in.Learning != 0 && len(x.replies) > 0 && h.learns(x):
				read(x, x.replies[0].iteration)
			}
		}
	}
	if run == "" {
		return nil, nil, nothingChanges(left, results)
	}
	return rest, func(e *execution, r *reply) bool {
		if e.run != run {
			return h.begins[e.run] < h.begins[run]
		}
		n, reading := reads[e]
		return reading && r.iteration < n || !reading && h.beside(e)
	}, nil
}

// beginWithout sets what a fork without its LeftOut shares, and puts the notes for shared ones of results into texts. It returns the
// history as leaveOut does, and the stage's run and the row at which the fork begins.
func (h *history) beginWithout(
	f *plan.Fork, results, entries []transcript.Entry, texts map[int64]string,
) (rest *history, run string, row int64, err error) {
	rest, before, err := h.leaveOut(f.LeftOut, results)
	if err != nil {
		return nil, "", 0, err
	}
	if run, row = rest.share(before, f.Parts); row == 0 {
		return nil, "", 0, nothingChanges(f.LeftOut, results)
	}
	if err := rest.dropSubAgents(f.Parts); err != nil {
		return nil, "", 0, err
	}
	withhold(f, results, entries, texts)
	return rest, run, row, nil
}

// nothingChanges is the error if no reply had read what is left out.
func nothingChanges(left []plan.LeftOut, results []transcript.Entry) error {
	so, what := "nothing would change without it", []string(nil)
	for _, in := range left {
		switch {
		case in.Agent != "":
			so, what = "a fork without it could begin nowhere", append(what, "what "+in.Agent+" had found")
		case in.Learning != 0:
			what = append(what, learning.Name(in.Learning))
		}
	}
	if len(results) > 0 {
		what = append(what, "row "+rowsOf(results))
	}
	return fmt.Errorf("no reply had read %s, so %s", strings.Join(what, ", "), so)
}

// withoutAgent returns the history without an agent of a stage, as if the chain did not have it. Agents that had failed fail again, so
// another one must have completed or not begun.
func (h *history) withoutAgent(place string) (*history, error) {
	rest, mine := *h, func(x *execution) bool { return placeOf(x.name) == place }
	name, _, _ := strings.Cut(place, "/")
	stage, _ := h.plan.StageOf(name)
	first := slices.IndexFunc(h.executions, mine)
	switch {
	case len(stage.Agents) < 2:
		return nil, fmt.Errorf("%s cannot be left out: stage %s would have no agent", place, name)
	case first < 0:
		return nil, fmt.Errorf("%s cannot be left out: it did not run", place)
	}
	run := h.executions[first].run
	useful := func(a plan.Agent) bool {
		x := h.execution(run + "/" + a.Name)
		return x == nil || x.completed()
	}
	removeAgent(&rest.plan, place)
	if stage, _ = rest.plan.StageOf(name); !slices.ContainsFunc(stage.Agents, useful) {
		return nil, fmt.Errorf("%s cannot be left out: stage %s would fail, because no other agent had completed", place, name)
	}
	rest.executions = slices.DeleteFunc(slices.Clone(h.executions), mine)
	return &rest, nil
}

// removeAgent removes an agent of a stage from a plan.
func removeAgent(p *plan.Plan, place string) {
	p.Stages = slices.Clone(p.Stages)
	for n := range p.Stages {
		s := &p.Stages[n]
		s.Agents = slices.DeleteFunc(slices.Clone(s.Agents), func(a plan.Agent) bool { return s.Name+"/"+a.Name == place })
	}
}

// placeOf returns the place in the plan of the agent of a stage that works in an execution, or has dispatched the one that does.
func placeOf(execution string) string {
	run, rest, _ := strings.Cut(execution, "/")
	stage, _, _ := strings.Cut(run, "#")
	name, _, _ := strings.Cut(rest, "/")
	return stage + "/" + name
}

// learns reports whether the agent of an execution has learnings in its prompt. Dispatched agents begin after the one that dispatches them,
// which has them, too.
func (h *history) learns(x *execution) bool {
	a := h.plan.AgentOf(x.name)
	if a == nil {
		return false
	}
	row, known := agent.LookupType(a.Type)
	return known && len(h.plan.LearningsFor(row.Pattern)) > 0
}

// withhold replaces the shared ones of results by a note, and drops their summaries.
func withhold(f *plan.Fork, results, entries []transcript.Entry, texts map[int64]string) {
	for _, e := range results {
		if part := f.Parts[e.Execution]; part.Iterations == e.Iteration && !part.Ended {
			texts[e.Seq] = notAvailable
			f.Without = append(f.Without, summariesOf(e, entries)...)
		}
	}
}

// readerOf returns the first reply that had read a result, and its execution. If a dispatched agent had read it, it is the reply of a
// stage's agent that led to the dispatch. If the agent itself had not, because it failed, it is that of the agent that works on the
// results of the stage.
func (h *history) readerOf(e transcript.Entry) (*execution, *reply) {
	x := h.execution(e.Execution)
	if x == nil {
		return nil, nil
	}
	names := strings.Split(e.Execution, "/")
	n := slices.IndexFunc(x.replies, func(r *reply) bool { return r.iteration > e.Iteration })
	switch {
	case n >= 0 && len(names) <= 2:
		return x, x.replies[n]
	case n < 0:
		return h.afterAgents(x.run)
	}
	top := h.execution(strings.Join(names[:2], "/"))
	if top == nil {
		return nil, nil
	}
	for _, r := range slices.Backward(top.replies) {
		if r.dispatches && r.seq < x.first {
			return top, r
		}
	}
	return nil, nil
}

// afterAgents returns the first reply of those that work on the results of the agents of a stage's run.
func (h *history) afterAgents(run string) (by *execution, first *reply) {
	for _, x := range h.executions {
		if x.run == run && !h.beside(x) && len(x.replies) > 0 && (first == nil || x.replies[0].seq < first.seq) {
			by, first = x, x.replies[0]
		}
	}
	return by, first
}

// beforeDispatch returns the first reply that dispatches agents, if it comes before r: a fork cannot wait for agents that were dispatched
// before it begins.
func (x *execution) beforeDispatch(r *reply) *reply {
	n := slices.IndexFunc(x.replies, func(other *reply) bool { return other.dispatches })
	if n >= 0 && x.replies[n].iteration < r.iteration {
		return x.replies[n]
	}
	return r
}

// execution returns the execution with a name, or nil.
func (h *history) execution(name string) *execution {
	n := slices.IndexFunc(h.executions, func(x *execution) bool { return x.name == name })
	if n < 0 {
		return nil
	}
	return h.executions[n]
}
