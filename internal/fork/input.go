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
		in.Name = nameOf(in.LeftOut)
		err := refused
		if err == nil {
			in.From, in.Again, err = h.costWithout(in.LeftOut, results, entries)
		}
		if err != nil {
			in.Problem = err.Error()
		}
		all = append(all, in)
	}
	switch kind {
	case Agents:
		for _, place := range agentsOf(p) {
			add(Input{LeftOut: plan.LeftOut{Agent: place}}, nil)
		}
	case Memories:
		for _, l := range shown(p) {
			add(Input{LeftOut: plan.LeftOut{Learning: l.ID}, Text: l.Text}, nil)
		}
	default:
		byCall, known := resultsByCall(entries), map[string]bool{}
		for _, e := range resultsOf(entries) {
			call := callOf(e)
			if known[call] || e.Call.Inward() || noResult(e) || e.Given != "" && e.Text == notAvailable {
				continue
			}
			known[call] = true
			add(Input{LeftOut: equalCalls(byCall[call]), Arguments: e.Call.Arguments}, byCall[call])
		}
	}
	return all
}

// shown returns the learnings in the prompts of agents.
func shown(p plan.Plan) []plan.Learning {
	if p.Memory == nil || p.Conversation {
		return nil
	}
	return p.Memory.Shown
}

// agentsOf returns the places of the agents in stages.
func agentsOf(p plan.Plan) (places []string) {
	for _, s := range p.Stages {
		for _, a := range s.Agents {
			places = append(places, s.Name+"/"+a.Name)
		}
	}
	return places
}

// nameOf returns a name in agent.Fork.LeaveOut.
func nameOf(in plan.LeftOut) string {
	switch {
	case in.Agent != "":
		return in.Agent
	case in.Learning != 0:
		return learning.Name(in.Learning)
	}
	return fmt.Sprint(in.Rows[0])
}

// equalCalls returns the input for the results of equal calls.
func equalCalls(results []transcript.Entry) plan.LeftOut {
	left := plan.LeftOut{Tool: results[0].Call.Name}
	for _, e := range results {
		left.Rows = append(left.Rows, e.Seq)
	}
	return left
}

// costWithout returns the place of a fork without an input (see Cut), and the usage of the model calls that it repeats. results are those
// of the input.
func (h *history) costWithout(in plan.LeftOut, results, entries []transcript.Entry) (from int64, again agent.Usage, err error) {
	f := plan.Fork{Parts: map[string]plan.ForkPart{}, Until: h.last}
	h, before, err := h.leaveOut([]plan.LeftOut{in}, results)
	if err == nil {
		_, from = h.share(before, f.Parts)
		err = h.dropSubAgents(f.Parts)
	}
	switch {
	case err != nil:
		return 0, again, err
	case from == 0:
		return 0, again, nothingChanges([]plan.LeftOut{in}, results)
	}
	withhold(&f, results, entries, map[int64]string{})
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
	agents, byCall := agentsOf(h.plan), resultsByCall(entries)
	known := map[string]bool{}
	for _, name := range names {
		in, equal := plan.LeftOut{}, []transcript.Entry(nil)
		switch id := h.learningOf(name); {
		case slices.Contains(agents, name):
			in.Agent = name
		case id != 0:
			in.Learning = id
		default:
			e, err := resultOf(name, entries)
			if err != nil {
				return nil, nil, h.withNames(err, agents)
			}
			equal = byCall[callOf(e)]
			in = equalCalls(equal)
		}
		if name = nameOf(in); !known[name] {
			known[name] = true
			all, results = append(all, in), append(results, equal...)
		}
	}
	return all, results, nil
}

// learningOf returns the ID of a learning in the agents' prompts with a name, or zero.
func (h *history) learningOf(name string) int64 {
	for _, l := range shown(h.plan) {
		if learning.Name(l.ID) == name {
			return l.ID
		}
	}
	return 0
}

// withNames adds to the error about an unknown name what else can be left out.
func (h *history) withNames(err error, agents []string) error {
	names := slices.DeleteFunc(agents, func(place string) bool {
		_, err := h.withoutAgent(place)
		return err != nil
	})
	for _, l := range shown(h.plan) {
		names = append(names, learning.Name(l.ID))
	}
	if len(names) > 0 && errors.Is(err, errNoResult) {
		return fmt.Errorf("%w. Others that can be left out: %s", err, strings.Join(names, ", "))
	}
	return err
}
