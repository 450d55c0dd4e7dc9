package eval

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
)

// Outcome is the result of a run.
type Outcome struct {
	Status agent.Status
	Error  string // why the investigation failed
	Report string
	Cause  string // the report's part about the cause; empty means that it has none
	Proof  evidence.Evidence
	Tape   Tape // of the run itself
}

// Failures returns the expectations that an outcome does not meet, in words. None means that the run passed.
func (e Expect) Failures(o Outcome) (out []string) {
	fail := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if want := cmp.Or(agent.Status(e.Status), agent.StatusCompleted); o.Status != want {
		text := fmt.Sprintf("it ended as %s instead of %s", o.Status, want)
		if o.Error != "" {
			text += ": " + o.Error
		}
		fail("%s", text)
	}
	for _, text := range e.Cause {
		if !found(text, cmp.Or(o.Cause, o.Report)) {
			fail("the cause does not match %q: %s", text, oneLine(cmp.Or(o.Cause, o.Report, "(no report)")))
		}
	}
	for _, text := range e.Report {
		if !found(text, o.Report) {
			fail("the report does not match %q", text)
		}
	}
	for _, text := range e.NotReport {
		if found(text, o.Report) {
			fail("the report matches %q", text)
		}
	}
	for _, fact := range e.Cites {
		if !fact.cited(o) {
			fail("the report does not cite %q from %s", fact.Text, fact.Tool)
		}
	}
	for _, pattern := range e.Calls {
		called := func(r Result) bool { return tool.Glob(pattern, r.Tool) && r.Status == string(tool.StatusSuccess) }
		if !slices.ContainsFunc(o.Tape.Results, called) {
			fail("no successful call of %s", pattern)
		}
	}
	for _, pattern := range e.Never {
		for _, r := range o.Tape.Replies {
			for _, c := range r.Calls {
				if tool.Glob(pattern, c.Tool) || tool.Glob(strings.ReplaceAll(pattern, ".", "__"), c.Tool) { // as models write unknown tools
					fail("%s requested %s", oneLine(r.Agent), oneLine(c.Tool))
				}
			}
		}
	}
	return out
}

func found(text, in string) bool {
	re, err := compile(text)
	return err == nil && re.MatchString(in)
}

// cited reports whether a claim that was not refuted cites the fact. If the chain does not check claims, the fact must be in the report
// and in a result of the tool.
func (f Fact) cited(o Outcome) bool {
	e := o.Proof
	if len(e.Claims) == 0 {
		shown := func(r Result) bool { return tool.Glob(f.Tool, r.Tool) && found(f.Text, r.Text) }
		return found(f.Text, o.Report) && slices.ContainsFunc(o.Tape.Results, shown)
	}
	for _, claim := range e.Claims {
		if claim.Verdict == evidence.Unverified {
			continue
		}
		for _, n := range claim.Cites {
			if n > 0 && n <= len(e.Items) && tool.Glob(f.Tool, e.Items[n-1].Tool) && found(f.Text, e.Items[n-1].Content) {
				return true
			}
		}
	}
	return false
}

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
	var all []Divergence
	for _, name := range agents(recorded, run) {
		if d := diverged(recorded.of(name), run.of(name)); d != nil {
			all = append(all, *d)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b Divergence) int { return cmp.Compare(uint64(a.Row-1), uint64(b.Row-1)) }) // 0 is last
	return &all[0]
}

// agents returns the names of the agents on tapes.
func agents(tapes ...Tape) (names []string) {
	for _, t := range tapes {
		for _, r := range t.Replies {
			names = append(names, r.Agent)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// of returns the part of one agent.
func (t Tape) of(name string) (out Tape) {
	for _, r := range t.Replies {
		if r.Agent == name {
			out.Replies = append(out.Replies, r)
		}
	}
	for _, r := range t.Results {
		if r.Agent == name {
			out.Results = append(out.Results, r)
		}
	}
	return out
}

// diverged compares the parts of one agent.
func diverged(recorded, run Tape) *Divergence {
	for n, now := range run.Replies {
		at := Divergence{At: now.At, Row: now.row}
		if n >= len(recorded.Replies) {
			at.What = fmt.Sprintf("the tape has %d replies of this agent", len(recorded.Replies))
			return &at
		}
		then := recorded.Replies[n]
		if at.What = now.differs(then); at.What != "" {
			return &at
		}
		if d := differs(recorded.at(then.At), run.at(now.At)); d != nil {
			return d
		}
	}
	if n := len(run.Replies); n < len(recorded.Replies) {
		d := Divergence{At: recorded.Replies[n].At, What: fmt.Sprintf("the agent ended after %d of %d replies", n, len(recorded.Replies))}
		if n > 0 {
			d.Row = run.Replies[n-1].row
		}
		return &d
	}
	return nil
}

// differs says how a reply differs from the recorded one; empty means not at all.
func (r Reply) differs(then Reply) string {
	for n := range max(len(r.Calls), len(then.Calls)) {
		switch {
		case n >= len(then.Calls):
			return fmt.Sprintf("it called %s, which is not on the tape", r.Calls[n].shown())
		case n >= len(r.Calls):
			return fmt.Sprintf("it did not call %s", then.Calls[n].shown())
		case r.Calls[n].key() != then.Calls[n].key():
			return fmt.Sprintf("it called %s instead of %s", r.Calls[n].key(), then.Calls[n].shown())
		}
	}
	if len(r.Calls) == 0 && r.Text != then.Text {
		return "its text differs"
	}
	return ""
}

// ended returns how a call ended: "success" or "error Timeout".
func (r Result) ended() string { return strings.TrimSpace(r.Status + " " + r.ErrorType) }

// at returns the results of the calls of one reply.
func (t Tape) at(a At) (out []Result) {
	for _, r := range t.Results {
		if r.At == a {
			out = append(out, r)
		}
	}
	return out
}

// differs compares the results of the calls of one reply.
func differs(recorded, run []Result) *Divergence {
	for _, now := range run {
		n := slices.IndexFunc(recorded, func(r Result) bool { return r.N == now.N })
		switch {
		case n < 0:
			return &Divergence{now.At, now.row, fmt.Sprintf("the tape has no result of %s", now.shown())}
		case now.ended() != recorded[n].ended():
			return &Divergence{now.At, now.row, fmt.Sprintf("the result of %s is %s instead of %s", now.shown(), now.ended(), recorded[n].ended())}
		case now.Text != recorded[n].Text:
			return &Divergence{now.At, now.row, fmt.Sprintf("the result of %s differs", now.shown())}
		}
	}
	for _, then := range recorded {
		if !slices.ContainsFunc(run, func(r Result) bool { return r.N == then.N }) {
			return &Divergence{then.At, 0, fmt.Sprintf("it has no result of %s", then.shown())}
		}
	}
	return nil
}
