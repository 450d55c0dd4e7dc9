package eval

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
)

// Run is one run of a case.
type Run struct {
	Case     string `json:"case"`
	Provider string `json:"provider"`
	N        int    `json:"n"` // from 1
	Passed   bool   `json:"passed"`
	// Failures are the expectations that were not met. Error is why the case could not be run, also if its model failed.
	Failures []string       `json:"failures,omitempty"`
	Error    string         `json:"error,omitempty"`
	Report   string         `json:"report,omitempty"`
	Coverage agent.Coverage `json:"coverage"`
	Diverged *Divergence    `json:"diverged,omitempty"` // nil means nowhere
	CostUSD  float64        `json:"cost_usd"`
	Tokens   int            `json:"tokens"`
	TookMS   int64          `json:"took_ms"`
}

// Problems returns the failures and the error.
func (r Run) Problems() []string {
	if r.Error == "" {
		return r.Failures
	}
	return append([]string{"not run: " + r.Error}, r.Failures...)
}

// Total sums up the runs of a case, or of all cases, with a provider.
type Total struct {
	Case     string `json:"case,omitempty"` // empty means all
	Provider string `json:"provider"`
	Runs     int    `json:"runs"`
	Passed   int    `json:"passed"`
	NotRun   int    `json:"not_run,omitempty"` // those with an error, which do not count for the rate
	// Rate is the pass rate, from 0 to 1. Low and High are its 95 % confidence interval (Wilson score).
	Rate float64 `json:"rate"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Coverage, CostUSD and Tokens are sums. TookMS is the mean.
	Coverage agent.Coverage `json:"coverage"`
	CostUSD  float64        `json:"cost_usd"`
	Tokens   int            `json:"tokens"`
	TookMS   int64          `json:"took_ms"`
	// Diverged is that of the first run that failed, or of the first one with recorded replies.
	Diverged *Divergence `json:"diverged,omitempty"`
}

// Columns returns what tables show of a total, besides the case and the provider: the runs that have passed, the rate, the cost, the mean
// time and the coverage of the tape.
func (t Total) Columns() []string {
	return []string{t.Count(), t.Percent(), t.Cost(), Seconds(t.TookMS), t.Coverage.String()}
}

// Seconds formats milliseconds: "1.5 s".
func Seconds(ms int64) string { return fmt.Sprintf("%.1f s", float64(ms)/1000) }

// Cost returns the cost, or "-" if it is zero or unknown.
func (t Total) Cost() string {
	if t.CostUSD <= 0 {
		return "-"
	}
	return fmt.Sprintf("$%.4f", t.CostUSD)
}

// Results are the runs of an evaluation and their sums: one for each case and provider, then one for each provider.
type Results struct {
	Version int       `json:"version"`
	MadeAt  time.Time `json:"made_at"`
	// Interrupted means that runs are missing.
	Interrupted bool    `json:"interrupted,omitempty"`
	Runs        []Run   `json:"runs"`
	Cases       []Total `json:"cases"`
	Totals      []Total `json:"totals"`
}

// NewResults sums up runs. It keeps the order of the cases and providers.
func NewResults(runs []Run, now time.Time) Results {
	out := Results{Version: version, MadeAt: now.UTC().Truncate(time.Second), Runs: runs}
	for _, r := range runs {
		out.Cases = added(out.Cases, r.Case, r)
		out.Totals = added(out.Totals, "", r)
	}
	for _, totals := range [][]Total{out.Cases, out.Totals} {
		for n := range totals {
			totals[n].finish()
		}
	}
	return out
}

func added(all []Total, name string, r Run) []Total {
	n := slices.IndexFunc(all, func(t Total) bool { return t.Case == name && t.Provider == r.Provider })
	if n < 0 {
		n, all = len(all), append(all, Total{Case: name, Provider: r.Provider})
	}
	t := &all[n]
	t.Runs++
	if r.Passed {
		t.Passed++
	}
	if r.Error != "" {
		t.NotRun++
	}
	if t.Diverged == nil && (!r.Passed || r.Provider == Recorded) {
		t.Diverged = r.Diverged
	}
	t.Coverage, t.CostUSD, t.Tokens, t.TookMS = t.Coverage.Add(r.Coverage), t.CostUSD+r.CostUSD, t.Tokens+r.Tokens, t.TookMS+r.TookMS
	return all
}

func (t *Total) finish() {
	t.TookMS, t.High = t.TookMS/int64(t.Runs), 1
	if n := t.Runs - t.NotRun; n > 0 {
		t.Rate = float64(t.Passed) / float64(n)
		t.Low, t.High = wilson(t.Passed, n)
	}
}

// wilson returns the 95 % confidence interval of a rate (E. B. Wilson, 1927). Unlike the normal approximation, it holds for few runs.
func wilson(passed, runs int) (low, high float64) {
	const z = 1.96
	n := float64(runs)
	p := float64(passed) / n
	middle, width := p+z*z/(2*n), z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	scale := 1 + z*z/n
	if low, high = (middle-width)/scale, (middle+width)/scale; passed == 0 {
		low = 0 // without rounding errors
	}
	return low, min(1, high)
}

// Count returns how many runs have passed: "4 of 5", or "4 of 5 (1 not run)".
func (t Total) Count() string {
	text := fmt.Sprintf("%d of %d", t.Passed, t.Runs)
	if t.NotRun > 0 {
		text += fmt.Sprintf(" (%d not run)", t.NotRun)
	}
	return text
}

// Percent returns the rate and its interval: "80 % (49–94)".
func (t Total) Percent() string {
	if t.Runs == t.NotRun {
		return "-"
	}
	return fmt.Sprintf("%.0f %% (%.0f–%.0f)", t.Rate*100, t.Low*100, t.High*100)
}

// Passes reports whether all runs have passed.
func (r Results) Passes() bool {
	return !slices.ContainsFunc(r.Runs, func(run Run) bool { return !run.Passed })
}

// Regressions compares results with earlier ones, case by case. A case has regressed if its pass rate is lower, by more than chance
// explains (Newcombe's 95 % interval for the difference of two rates, 1998); with recorded replies, nothing is chance. A case that could
// not be run, and a failed one that is not among the earlier ones, count too. The error says that there is nothing to compare.
func (r Results) Regressions(earlier Results) (out []string, err error) {
	compared := 0
	for _, now := range r.Cases {
		n := slices.IndexFunc(earlier.Cases, func(t Total) bool { return t.Case == now.Case && t.Provider == now.Provider })
		bad := now.NotRun > 0
		before := "no earlier results"
		if n < 0 {
			bad = bad || now.Passed < now.Runs
		} else {
			then := earlier.Cases[n]
			compared++
			lost, chance := then.Rate-now.Rate, math.Hypot(then.Rate-then.Low, now.High-now.Rate)
			bad = bad || lost > chance || now.Provider == Recorded && lost > 0
			before = then.Count() + " before"
		}
		if bad {
			out = append(out, fmt.Sprintf("%s · %s: %s passed now, %s", now.Case, now.Provider, now.Count(), before))
		}
	}
	if compared == 0 {
		return out, errors.New("none of these cases was run with the same provider before")
	}
	return out, nil
}

// ParseResults reads results that were written as JSON, and sums up their runs anew.
func ParseResults(text []byte) (out Results, err error) {
	err = json.Unmarshal(text, &out)
	switch {
	case err != nil:
	case out.Version > version:
		err = fmt.Errorf("they have version %d, and this program knows version %d: use a newer release", out.Version, version)
	case out.Interrupted:
		err = errors.New("the evaluation was interrupted: some runs are missing")
	case len(out.Runs) == 0:
		err = errors.New("no results found: expected the output of an evaluation with --json")
	}
	return NewResults(out.Runs, out.MadeAt), err
}

// The parts of a JUnit report, as most CI systems read them.
type (
	suites struct {
		XMLName xml.Name `xml:"testsuites"`
		Suites  []suite  `xml:"testsuite"`
	}
	suite struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Time     string `xml:"time,attr"`
		Cases    []test `xml:"testcase"`
	}
	test struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Time    string   `xml:"time,attr"`
		Failure *problem `xml:"failure"`
		Error   *problem `xml:"error"`
	}
	problem struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit returns the results as a JUnit report, with a suite for each provider.
func (r Results) JUnit() ([]byte, error) {
	var all suites
	for _, t := range r.Totals {
		s := suite{Name: t.Provider}
		var took int64
		for _, run := range r.Runs {
			if run.Provider != t.Provider {
				continue
			}
			took += run.TookMS
			one := test{Class: t.Provider, Name: run.Case, Time: seconds(run.TookMS)}
			if run.N > 1 {
				one.Name += fmt.Sprintf("#%d", run.N)
			}
			s.Tests++
			switch problems := run.Problems(); {
			case run.Error != "":
				s.Errors++
				one.Error = &problem{run.Error, strings.Join(problems, "\n")}
			case !run.Passed:
				s.Failures++
				one.Failure = &problem{problems[0], strings.Join(append(problems, run.where()...), "\n")}
			}
			s.Cases = append(s.Cases, one)
		}
		s.Time = seconds(took)
		all.Suites = append(all.Suites, s)
	}
	text, err := xml.MarshalIndent(all, "", "  ")
	return append([]byte(xml.Header), append(text, '\n')...), err
}

func seconds(ms int64) string { return fmt.Sprintf("%.3f", float64(ms)/1000) }

// where says where a run first differed from the recording.
func (r Run) where() []string {
	if r.Diverged == nil {
		return nil
	}
	return []string{"first difference from the tape: " + r.Diverged.String()}
}

// Markdown returns the results as a table and a list of failures, for a pull request.
func (r Results) Markdown() string {
	var out strings.Builder
	out.WriteString("| case | provider | passed | rate (95 %) | cost | time | from the tape |\n|---|---|---|---|---|---|---|\n")
	for _, t := range append(slices.Clone(r.Cases), r.Totals...) {
		name := "**all**"
		if t.Case != "" {
			name = cell(t.Case)
		}
		fmt.Fprintf(&out, "| %s | %s | %s |\n", name, cell(t.Provider), strings.Join(t.Columns(), " | "))
	}
	for _, run := range r.Runs {
		if run.Passed {
			continue
		}
		fmt.Fprintf(&out, "\n%s · %s · run %d\n\n", cell(run.Case), cell(run.Provider), run.N)
		for _, text := range append(run.Problems(), run.where()...) {
			fmt.Fprintf(&out, "- %s\n", cell(text))
		}
	}
	return out.String()
}

// cell makes a text a span of code in a table's cell. What models and servers wrote cannot become markup.
func cell(text string) string {
	return "`" + strings.NewReplacer("`", "'", "|", "¦").Replace(reveal.Unseen(strings.Join(strings.Fields(text), " "))) + "`"
}
