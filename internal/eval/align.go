package eval

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Divergence is the first place at which a run differs from the tape.
type Divergence struct {
	At
	Row  int64  `json:"row,omitempty"` // of the run's transcript, which --keep keeps; 0 means that it has none
	What string `json:"what"`
}

// String names the row and the difference.
func (d Divergence) String() string {
	text := fmt.Sprintf("%s, iteration %d: %s", oneLine(d.Agent), d.Iteration, d.What)
	if d.Row > 0 {
		text = fmt.Sprintf("row %d, %s", d.Row, text)
	}
	return text
}

// Diverged compares a run with the tape. It returns nil if each agent got the same results for the same calls, and wrote the same
// text where it made none.
func Diverged(recorded, run Tape) *Divergence {
	all := First(align(recorded, run))
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b Step) int { return cmp.Compare(uint64(a.RowB-1), uint64(b.RowB-1)) }) // 0 is last
	return &Divergence{all[0].At(), all[0].RowB, all[0].Difference}
}

// Step pairs a reply of an agent with that of the same agent in another run.
type Step struct {
	A *Turn `json:"a,omitempty" doc:"absent if the agent wrote fewer replies in A"`
	B *Turn `json:"b,omitempty" doc:"absent if the agent wrote fewer replies in B"`
	// Difference is empty if both replies have the same calls with the same results and, without calls, the same text.
	Difference string `json:"difference,omitempty" doc:"how B differs from A: in its calls, their results or, without calls, its text"`
	// RowA and RowB are where the difference is: at the replies, or at the results of a call. 0 means that there is no row.
	RowA int64 `json:"a_row,omitempty" doc:"the row of A's transcript that differs: a reply, or the result of a call"`
	RowB int64 `json:"b_row,omitempty" doc:"the row of B's transcript that differs; B's last reply if it wrote fewer"`
}

// At returns the place of the step, in B if B has it.
func (s Step) At() At {
	if s.B != nil {
		return s.B.At
	}
	return s.A.At
}

// First returns the first step of each agent that differs.
func First(steps []Step) (all []Step) {
	seen := map[string]bool{}
	for _, s := range steps {
		if name := s.At().Agent; s.Difference != "" && !seen[name] {
			seen[name] = true
			all = append(all, s)
		}
	}
	return all
}

// Turn is a reply in short.
type Turn struct {
	At
	Row   int64    `json:"row,omitempty" doc:"row of the transcript"`
	Calls []string `json:"calls,omitempty" doc:"the tool calls, each in one line that may be cut"`
	Text  string   `json:"text,omitempty" doc:"the beginning of the text, in one line"`
}

func turnOf(r Reply) *Turn {
	t := &Turn{At: r.At, Row: r.row, Text: oneLine(r.Text)}
	for _, c := range r.Calls {
		t.Calls = append(t.Calls, c.shown())
	}
	return t
}

// Align pairs the replies of two investigations, agent by agent, in the order of the agents' first rows in a, then in b. Hooks and agents
// that call no model count as agents; judges are left out.
func Align(a, b []transcript.Entry) []Step { return align(compared(a), compared(b)) }

// compared returns the part of a tape that is compared, without the texts and artifacts that are not in the entries.
func compared(entries []transcript.Entry) (t Tape) {
	calls := map[At][]Call{}
	for _, e := range entries {
		switch {
		case e.Superseded || plan.Judges(e.Execution):
		case e.Kind == transcript.KindReply:
			r := replyOf(e)
			t.Replies, calls[r.At] = append(t.Replies, r), r.Calls
		case e.Kind == transcript.KindResult && e.Call != nil && e.CallIndex() >= 0:
			r := shortResult(e)
			if asked := calls[r.At]; r.N < len(asked) {
				r.Call = asked[r.N]
			}
			t.Results = append(t.Results, r)
		}
	}
	slices.SortStableFunc(t.Replies, func(a, b Reply) int { return a.compare(b.At) })
	return t
}

// part is the part of a tape that belongs to one agent.
type part struct {
	replies []Reply
	results map[At][]Result
	first   int64 // its first row
}

// parts returns the parts of a tape by agent.
func (t Tape) parts() map[string]*part {
	all := map[string]*part{}
	of := func(name string, row int64) *part {
		p := all[name]
		if p == nil {
			p = &part{results: map[At][]Result{}, first: row}
			all[name] = p
		}
		p.first = min(p.first, row)
		return p
	}
	for _, r := range t.Replies {
		p := of(r.Agent, r.row)
		p.replies = append(p.replies, r)
	}
	for _, r := range t.Results {
		p := of(r.Agent, r.row)
		p.results[r.At] = append(p.results[r.At], r)
	}
	return all
}

func align(recorded, run Tape) (out []Step) {
	a, b := recorded.parts(), run.parts()
	names := inOrder(a)
	for _, name := range inOrder(b) {
		if a[name] == nil {
			names = append(names, name)
		}
	}
	for _, name := range names {
		out = append(out, alignAgent(cmp.Or(a[name], &part{}), cmp.Or(b[name], &part{}))...)
	}
	return out
}

// inOrder returns the names of agents in the order of their first rows.
func inOrder(parts map[string]*part) []string {
	return slices.SortedFunc(maps.Keys(parts), func(x, y string) int {
		return cmp.Or(cmp.Compare(parts[x].first, parts[y].first), cmp.Compare(x, y))
	})
}

// alignAgent pairs the replies of one agent.
func alignAgent(recorded, run *part) (out []Step) {
	for n := range max(len(recorded.replies), len(run.replies)) {
		switch {
		case n >= len(recorded.replies):
			now, what := run.replies[n], fmt.Sprintf("an additional reply, after %d", len(recorded.replies))
			out = append(out, Step{B: turnOf(now), RowB: now.row, Difference: what})
		case n >= len(run.replies):
			then, ended := recorded.replies[n], len(run.replies)
			s := Step{A: turnOf(then), RowA: then.row}
			if s.Difference = fmt.Sprintf("the agent ended after %d of %d replies", ended, len(recorded.replies)); ended > 0 {
				s.RowB = run.replies[ended-1].row
			}
			out = append(out, s)
		default:
			then, now := recorded.replies[n], run.replies[n]
			s := Step{A: turnOf(then), B: turnOf(now), Difference: now.differs(then)}
			if s.Difference != "" {
				s.RowA, s.RowB = then.row, now.row
			} else {
				s.compare(recorded.results[then.At], run.results[now.At])
			}
			out = append(out, s)
		}
	}
	return out
}

// differs says how a reply differs from the recorded one; empty means not at all.
func (r Reply) differs(then Reply) string {
	for n := range max(len(r.Calls), len(then.Calls)) {
		switch {
		case n >= len(then.Calls):
			return fmt.Sprintf("it called %s in addition", r.Calls[n].shown())
		case n >= len(r.Calls):
			return fmt.Sprintf("it did not call %s", then.Calls[n].shown())
		case r.Calls[n].key() != then.Calls[n].key():
			return fmt.Sprintf("it called %s instead of %s", r.Calls[n].shown(), then.Calls[n].shown())
		}
	}
	if len(r.Calls) == 0 && r.Text != then.Text {
		return "its text differs"
	}
	return ""
}

// ended returns how a call ended: "success" or "error Timeout".
func (r Result) ended() string { return strings.TrimSpace(r.Status + " " + r.ErrorType) }

// compare compares the results of the calls of one reply.
func (s *Step) compare(recorded, run []Result) {
	for _, now := range run {
		n := slices.IndexFunc(recorded, func(r Result) bool { return r.N == now.N })
		switch {
		case n < 0:
			s.Difference = fmt.Sprintf("only this run has a result of %s", now.shown())
		case now.ended() != recorded[n].ended():
			s.Difference = fmt.Sprintf("the result of %s is %s instead of %s", now.shown(), now.ended(), recorded[n].ended())
		case now.Text != recorded[n].Text || now.blob != recorded[n].blob:
			s.Difference = fmt.Sprintf("the result of %s differs", now.shown())
		}
		if s.Difference != "" {
			if s.RowB = now.row; n >= 0 {
				s.RowA = recorded[n].row
			}
			return
		}
	}
	for _, then := range recorded {
		if !slices.ContainsFunc(run, func(r Result) bool { return r.N == then.N }) {
			s.Difference, s.RowA = fmt.Sprintf("it has no result of %s", then.shown()), then.row
			return
		}
	}
}
