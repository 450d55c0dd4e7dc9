package fork

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// notAvailable is what agents get in place of a result that is left out.
const notAvailable = "This result is not available."

// Input is what agents had read and a fork can leave out: the results of a call, and of all equal ones.
type Input struct {
	Tool      string  `json:"tool,omitempty"`
	Arguments string  `json:"arguments,omitempty"`
	Rows      []int64 `json:"rows,omitempty"` // of the results
	// From is the row of the first reply that had read one.
	From int64 `json:"from,omitempty"`
	// Again is what the model calls had used that a fork without the results makes once more.
	Again agent.Usage `json:"again"`
	// Problem says why the results cannot be left out; empty means that they can.
	Problem string `json:"problem,omitempty"`
}

// Inputs returns the results of tools in an investigation, in the order of their first rows.
func Inputs(p plan.Plan, entries []transcript.Entry) (all []Input) {
	h, byCall, known, refused := historyOf(p, entries), resultsByCall(entries), map[string]bool{}, checkLeaveOut(p)
	for _, e := range resultsOf(entries) {
		call := callOf(e)
		if known[call] || e.Call.Inward() || noResult(e) || e.Given != "" && e.Text == notAvailable {
			continue
		}
		known[call] = true
		in := Input{Tool: e.Call.Name, Arguments: e.Call.Arguments}
		for _, same := range byCall[call] {
			in.Rows = append(in.Rows, same.Seq)
		}
		err := refused
		if err == nil {
			in.From, in.Again, err = h.costWithout(byCall[call], entries)
		}
		if err != nil {
			in.Problem = err.Error()
		}
		all = append(all, in)
	}
	return all
}

// costWithout returns the place of a fork that leaves results out (see Cut), and what the model calls had used that it makes once more.
func (h *history) costWithout(results, entries []transcript.Entry) (from int64, again agent.Usage, err error) {
	f := plan.Fork{Parts: map[string]plan.ForkPart{}, Until: h.last}
	from, before, err := h.beforeReading(results)
	if err == nil {
		h.share(before, f.Parts)
		err = h.dropSubAgents(f.Parts)
	}
	if err != nil {
		return 0, again, err
	}
	withhold(&f, results, entries, map[int64]string{})
	return from, Again(f, entries), nil
}

// Again returns what the model calls had used that a fork makes once more, if it is a trial: nobody judges it or learns from it. Entries
// that the investigation itself shares with another one have no usage.
func Again(f plan.Fork, entries []transcript.Entry) (total agent.Usage) {
	sharing := Sharing(f)
	for _, e := range entries {
		if e.Usage != nil && !e.Superseded && !plan.Judges(e.Execution) && !sharing.Shares(e) {
			total = total.Add(*e.Usage)
		}
	}
	return total
}

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
		return fmt.Errorf("%s keeps a memory of its own, which may have the result, so nothing can be left out", place)
	}
	return nil
}

// leftOut returns the results that names mean, with those of all equal calls, and the calls.
func leftOut(p plan.Plan, entries []transcript.Entry, names []string) (results []transcript.Entry, calls []plan.LeftOut, err error) {
	if err := checkLeaveOut(p); err != nil {
		return nil, nil, err
	}
	known, byCall := map[int64]bool{}, resultsByCall(entries)
	for _, name := range names {
		e, err := resultOf(name, entries)
		if err != nil {
			return nil, nil, err
		}
		if known[e.Seq] {
			continue
		}
		call := plan.LeftOut{Tool: e.Call.Name}
		for _, same := range byCall[callOf(e)] {
			results, call.Rows, known[same.Seq] = append(results, same), append(call.Rows, same.Seq), true
		}
		calls = append(calls, call)
	}
	return results, calls, nil
}

// withhold puts a note in place of the shared ones of results, and leaves out what had been made of them.
func withhold(f *plan.Fork, results, entries []transcript.Entry, texts map[int64]string) {
	for _, e := range results {
		if part := f.Parts[e.Execution]; part.Iterations == e.Iteration && !part.Ended {
			texts[e.Seq] = notAvailable
			f.Without = append(f.Without, summariesOf(e, entries)...)
		}
	}
}

// beforeReading returns whether a reply comes before the first ones that had read a result, and the row of the first of these. The other
// agents of that stage share everything, those that work on their results nothing.
func (h *history) beforeReading(results []transcript.Entry) (row int64, before func(*execution, *reply) bool, err error) {
	var first *reply
	run, reads := "", map[*execution]int{}
	for _, e := range results {
		x, r := h.readerOf(e)
		if r == nil {
			continue
		}
		r = x.beforeDispatch(r)
		if n, reading := reads[x]; !reading || r.iteration < n {
			reads[x] = r.iteration
		}
		if first == nil || r.seq < first.seq {
			first = r
		}
		if run == "" || h.begins(x.run) < h.begins(run) {
			run = x.run
		}
	}
	if first == nil {
		return 0, nil, fmt.Errorf("no reply had read row %s, so nothing would change without it", rowsOf(results))
	}
	begins := h.begins(run)
	return first.seq, func(e *execution, r *reply) bool {
		if e.run != run {
			return h.begins(e.run) < begins
		}
		n, reading := reads[e]
		return reading && r.iteration < n || !reading && h.beside(e)
	}, nil
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
