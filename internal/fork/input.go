package fork

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/knowledge/learning"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// InputKind is a kind of inputs.
type InputKind string

// The kinds of inputs.
const (
	Results  InputKind = "results"  // of tools
	Agents   InputKind = "agents"   // that work in parallel with others
	Memories InputKind = "memories" // learnings from earlier investigations, in the agents' prompts
)

// Input is what agents had read and a fork can leave out.
type Input struct {
	// Name is the input's name in agent.Fork.LeaveOut. The results of equal calls have that of the first one.
	Name string `json:"name,omitempty"`
	plan.LeftOut
	Arguments string `json:"arguments,omitempty"` // of the calls
	Text      string `json:"text,omitempty"`      // of the learning
	// From is the row of the first reply that a fork without the input does not share.
	From int64 `json:"from,omitempty"`
	// Again is the usage of the model calls that such a fork repeats.
	Again agent.Usage `json:"again"`
	// Problem says why the input cannot be left out; empty means that it can.
	Problem string `json:"problem,omitempty"`
}

// Inputs returns the inputs of an investigation: results in the order of their first rows, others in that of the plan.
func Inputs(p plan.Plan, entries []transcript.Entry, kind InputKind) (all []Input) {
	h, refused := historyOf(p, entries), checkLeaveOut(p)
	add := func(in Input, results []transcript.Entry) {
		err := refused
		if err == nil {
			in.From, in.Again, err = h.costWithout(in.LeftOut, results, entries)
		}
		if err != nil {
			in.Problem = err.Error()
		}
		all = append(all, in)
	}
	if kind != Results {
		for _, in := range planned(p) {
			if (in.Agent != "") == (kind == Agents) {
				add(in, nil)
			}
		}
		return all
	}
	byCall, known := resultsByCall(entries), map[string]bool{}
	for _, e := range resultsOf(entries) {
		call := callOf(e)
		if known[call] || e.Call.Inward() || noResult(e) || e.Given != "" && e.Text == notAvailable {
			continue
		}
		known[call] = true
		add(equalCalls(byCall[call]), byCall[call])
	}
	return all
}

// planned returns the inputs in a plan: the agents of stages, and the learnings in the agents' prompts.
func planned(p plan.Plan) (all []Input) {
	for _, s := range p.Stages {
		for _, a := range s.Agents {
			place := s.Name + "/" + a.Name
			all = append(all, Input{Name: place, LeftOut: plan.LeftOut{Agent: place}})
		}
	}
	for _, l := range p.LearningsFor(agent.Iterating) {
		all = append(all, Input{Name: learning.Name(l.ID), LeftOut: plan.LeftOut{Learning: l.ID}, Text: l.Text})
	}
	return all
}

// equalCalls returns the input for the results of equal calls.
func equalCalls(results []transcript.Entry) Input {
	first := results[0]
	in := Input{Name: fmt.Sprint(first.Seq), LeftOut: plan.LeftOut{Tool: first.Call.Name}, Arguments: first.Call.Arguments}
	for _, e := range results {
		in.Rows = append(in.Rows, e.Seq)
	}
	return in
}

// costWithout returns the place of a fork without an input (see Cut), and the usage of the model calls that it repeats. results are those
// of the input.
func (h *history) costWithout(in plan.LeftOut, results, entries []transcript.Entry) (from int64, again agent.Usage, err error) {
	f := plan.Fork{LeftOut: []plan.LeftOut{in}, Parts: map[string]plan.ForkPart{}, Until: h.last}
	if _, _, from, err = h.beginWithout(&f, results, entries, map[int64]string{}); err != nil {
		return 0, again, err
	}
	if in.Agent != "" {
		entries = slices.DeleteFunc(slices.Clone(entries), func(e transcript.Entry) bool { return placeOf(e.Execution) == in.Agent })
	}
	return from, Again(f, entries), nil
}

// Again returns the usage of the model calls that a fork repeats, if it is a trial: nobody judges it or learns from it. Entries that the
// investigation itself shares with another one have no usage.
func Again(f plan.Fork, entries []transcript.Entry) (total agent.Usage) {
	sharing := Sharing(f)
	for _, e := range entries {
		if e.Usage != nil && !e.Superseded && !plan.Judges(e.Execution) && !sharing.Shares(e) {
			total = total.Add(*e.Usage)
		}
	}
	return total
}

// leftOut returns what names mean, and the results in it. Calls that equal each other are one input.
func (h *history) leftOut(entries []transcript.Entry, names []string) (all []plan.LeftOut, results []transcript.Entry, err error) {
	if err := checkLeaveOut(h.plan); err != nil {
		return nil, nil, err
	}
	inputs, byCall, known := planned(h.plan), resultsByCall(entries), map[string]bool{}
	for _, name := range names {
		var in Input
		var equal []transcript.Entry
		if n := slices.IndexFunc(inputs, func(in Input) bool { return in.Name == name }); n >= 0 {
			in = inputs[n]
		} else {
			e, err := resultOf(name, entries)
			if err != nil {
				return nil, nil, h.withNames(err, inputs)
			}
			equal = byCall[callOf(e)]
			in = equalCalls(equal)
		}
		if !known[in.Name] {
			known[in.Name] = true
			all, results = append(all, in.LeftOut), append(results, equal...)
		}
	}
	return all, results, nil
}

// withNames adds to the error about an unknown name which inputs of the plan can be left out.
func (h *history) withNames(err error, inputs []Input) error {
	if !errors.Is(err, errNoResult) {
		return err
	}
	var names []string
	for _, in := range inputs {
		if in.Agent != "" {
			if _, problem := h.withoutAgent(in.Agent); problem != nil {
				continue
			}
		}
		names = append(names, in.Name)
	}
	if len(names) == 0 {
		return err
	}
	return fmt.Errorf("%w. Others that can be left out: %s", err, strings.Join(names, ", "))
}
