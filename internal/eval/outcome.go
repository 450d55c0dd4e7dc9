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
