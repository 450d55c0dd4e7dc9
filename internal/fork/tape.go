package fork

import (
	"cmp"
	"slices"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Tape is what answers the tool calls of a fork.
type Tape struct {
	Results []Recorded `json:"results"`
	// Servers are the blobs with the tools that each server listed, by its name.
	Servers map[string]string `json:"servers,omitempty"`
}

// Recorded is a result of the other investigation.
type Recorded struct {
	Place
	N         int    `json:"n"` // of the call in its reply, from 0
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"` // as the model wrote them, in canonical form if they are JSON
	Row       int64  `json:"row"`       // its number
	Summary   int64  `json:"summary,omitempty"`
}

// Place is a model call of an agent.
type Place struct {
	Agent     string `json:"agent"`     // the execution: "<stage>/<agent>"
	Iteration int    `json:"iteration"` // from 1
}

// Record returns the results of an investigation that can answer calls of its fork, in the order of their calls. Results that the fork
// replaces or leaves out, or that a person gave, are not among them.
func Record(entries []transcript.Entry, f plan.Fork) (all []Recorded) {
	type call struct {
		execution string
		key       transcript.Key
	}
	written, summaries := map[call]transcript.Call{}, map[call]int64{}
	for _, e := range entries {
		switch {
		case e.Superseded || e.Seq > f.Until:
		case e.Kind == transcript.KindReply:
			for n, c := range e.Calls {
				written[call{e.Execution, transcript.ResultKey(e.Iteration, n)}] = c
			}
		case e.Kind == transcript.KindSummary && e.Call != nil && e.ErrorType == "": // another one is made in place of a failed one
			summaries[call{e.Execution, transcript.ResultKey(e.Iteration, e.CallIndex())}] = e.Seq
		}
	}
	replaced := func(row int64) bool {
		return f.LeavesOut(row) || slices.ContainsFunc(f.Given, func(g plan.ForkGiven) bool { return g.Row == row })
	}
	for _, e := range entries {
		if e.Superseded || e.Seq > f.Until || e.Kind != transcript.KindResult || e.Call == nil || e.Given != "" || replaced(e.Seq) ||
			e.Call.Inward() || e.Refused || !Returned(e.ErrorType) {
			continue
		}
		at := call{e.Execution, e.Key}
		asked, known := written[at]
		if !known { // a person may have changed the arguments of the call that was made
			asked = *e.Call
		}
		all = append(all, Recorded{
			Place: Place{e.Execution, e.Iteration}, N: e.CallIndex(), Tool: asked.Name, Arguments: tool.Spelled(asked.Arguments),
			Row: e.Seq, Summary: summaries[at],
		})
	}
	slices.SortStableFunc(all, func(a, b Recorded) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Iteration, b.Iteration), cmp.Compare(a.N, b.N))
	})
	return all
}

// Returned reports whether an error type is that of a result that a tool returned, or may have: other calls were not made, or their
// failure says nothing about the tool.
func Returned(errorType string) bool {
	return slices.Contains([]string{"", tool.ErrorTool, tool.ErrorTimeout, tool.ErrorOutcomeUnknown}, errorType)
}

// Knows reports whether the tape has a result for a call. made are the arguments with which the call would be made.
func (t Tape) Knows(c transcript.Call, made string) bool { return len(t.same(c, made)) > 0 }

func (t Tape) same(c transcript.Call, made string) (found []Recorded) {
	written := tool.Spelled(c.Arguments)
	for _, r := range t.Results {
		if r.Tool == c.Name && (r.Arguments == written || r.Arguments == made) {
			found = append(found, r)
		}
	}
	return found
}

// Find returns the result that answers an agent's call: see Knows and Choose. had reports whether the agent has got a result, by its row.
func (t Tape) Find(c transcript.Call, made string, at Place, had func(row int64) bool) (Recorded, bool) {
	found := t.same(c, made)
	places := make([]Place, len(found))
	for n, r := range found {
		places[n] = r.Place
	}
	n := Choose(places, at, func(n int) bool { return had(found[n].Row) })
	if n < 0 {
		return Recorded{}, false
	}
	return found[n], true
}

// Choose returns which of several recorded results of the same call answers it: that of the same agent and iteration, or else the agent's
// next one, or one of another agent, or else the last one again. What other agents have got does not matter. It returns -1 if there are
// none.
func Choose(places []Place, at Place, had func(n int) bool) int {
	best, rank := -1, -1
	for n, p := range places {
		own, again := p.Agent == at.Agent, had(n)
		r := 0 // of another agent, once more
		switch {
		case own && again:
			r = 1
		case !own && !again:
			r = 2
		case own && p.Iteration != at.Iteration:
			r = 3
		case own:
			r = 4
		}
		if r > rank || r == rank && r < 2 { // of those that were returned, the last one
			best, rank = n, r
		}
	}
	return best
}
