package start

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/report"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/fork"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
)

// whyResult is what the command prints.
type whyResult struct {
	Of         string         `json:"of"`        // ID of the investigation
	LeaveOut   fork.InputKind `json:"leave_out"` // what the inputs are
	Conclusion string         `json:"conclusion"`
	Times      int            `json:"times"`
	Estimate   agent.Usage    `json:"estimate"` // before the start
	Used       agent.Usage    `json:"used"`     // by the forks and the comparison
	// Control are forks that leave nothing out.
	Control without   `json:"control"`
	Without []without `json:"without"` // most changes first
	// NotTried are inputs that cannot be left out, or are beyond a limit.
	NotTried    []fork.Input `json:"not_tried"`
	Comparisons []string     `json:"comparisons"` // IDs of the investigations that compared the conclusions
	Interrupted bool         `json:"interrupted,omitempty"`
}

// without is what became of the conclusion without an input. Its input is zero for the control.
type without struct {
	fork.Input
	Changed int      `json:"changed"` // of the forks
	Same    int      `json:"same"`
	Forks   []oneRun `json:"forks"`
}

// oneRun is one fork.
type oneRun struct {
	ID         string  `json:"id,omitempty"`
	Conclusion string  `json:"conclusion,omitempty"`
	Verdict    verdict `json:"verdict,omitempty"` // empty: not compared
	Error      string  `json:"error,omitempty"`   // why there is no conclusion
}

// verdict is how the conclusion of a fork compares with that of the investigation.
type verdict string

const (
	same      verdict = "same"
	different verdict = "different"
)

// maxConclusion limits the conclusions that are compared, in characters.
const maxConclusion = 1500

// conclusionOf returns the cause in a report, or else the report without its caveats: what is left out must not be a difference.
func conclusionOf(r record.Investigation) string {
	whole := strings.TrimSpace(strings.TrimPrefix(r.Report, r.Envelope.NotCheckedParagraph()))
	return clip.Line(cmp.Or(report.BriefOf(r, nil).Cause, whole), maxConclusion)
}

// rank puts the inputs first without which the conclusion changes most often. It returns how many of their forks were compared.
func (r *whyResult) rank() (compared int) {
	for n := range r.Without {
		r.Without[n].count()
		compared += r.Without[n].Changed + r.Without[n].Same
	}
	r.Control.count()
	share := func(one without) float64 { return float64(one.Changed) / float64(max(one.Changed+one.Same, 1)) }
	slices.SortStableFunc(r.Without, func(a, b without) int {
		return cmp.Or(cmp.Compare(share(b), share(a)), cmp.Compare(b.Changed, a.Changed))
	})
	return compared
}

func (one *without) count() {
	one.Changed, one.Same = 0, 0
	for _, f := range one.Forks {
		switch f.Verdict {
		case same:
			one.Same++
		case different:
			one.Changed++
		}
	}
}

// tried returns the inputs that are left out, and the control if there is one.
func (r *whyResult) tried() (all []*without) {
	for n := range r.Without {
		all = append(all, &r.Without[n])
	}
	if r.Control.Problem == "" {
		all = append(all, &r.Control)
	}
	return all
}

// print prints a line for each input, and what the agents concluded without it.
func (w *why) print() error {
	r := w.result
	all := r.tried()
	err := base.PrintTable(w.CLI, "CHANGED\tLEFT OUT", all, func(one *without) []any {
		about := cmp.Or(one.Text, strings.TrimSpace(one.Tool+" "+one.Arguments))
		return []any{one.changed(), clip.Line(strings.TrimSuffix(called(one.Input)+": "+about, ": "), maxCall)}
	})
	lines := []string{"", "The conclusion of " + r.Of + ": " + terminal.CleanLine(clip.Line(r.Conclusion, maxValue))}
	for _, one := range all {
		what := "Without " + called(one.Input) + ": "
		if one.Name == "" {
			what = "With nothing left out: "
		}
		lines = append(lines, one.others(what)...)
	}
	untried := map[string][]fork.Input{} // by the reason
	for _, in := range r.NotTried {
		untried[in.Problem] = append(untried[in.Problem], in)
	}
	for _, problem := range slices.Sorted(maps.Keys(untried)) {
		if what := called(untried[problem]...); !strings.HasPrefix(problem, what) {
			problem = "Not left out: " + clip.Line(what, maxValue) + ": " + problem
		}
		lines = append(lines, terminal.CleanLine(problem))
	}
	lines = append(lines, fmt.Sprintf("Used: %s. The forks: starter list --meta why=%s", usageText(r.Used), r.Of))
	return errors.Join(err, w.Print(lines...))
}

// called returns how people call inputs of one kind.
func called(all ...fork.Input) string {
	var rows []int64
	var names []string
	for _, in := range all {
		rows, names = append(rows, in.Rows...), append(names, in.Name)
	}
	switch len(rows) {
	case 0:
		return cmp.Or(strings.Join(names, ", "), "nothing")
	case 1:
		return "row " + plan.RowList(rows)
	}
	return "rows " + plan.RowList(rows)
}

// maxValue limits a conclusion on the screen, and maxCall what is left out, in characters.
const (
	maxValue = 300
	maxCall  = 100
)

// changed returns the forks with another conclusion out of those that were compared: "2/3", or "-" if none was.
func (one *without) changed() string {
	if one.Changed+one.Same == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d", one.Changed, one.Changed+one.Same)
}

// others returns the conclusions that differ, and the problems, each once.
func (one *without) others(what string) (lines []string) {
	for _, f := range one.Forks {
		text := ""
		switch {
		case f.Error != "":
			text = "no conclusion: " + f.Error
		case f.Verdict == "":
			text = "not compared: " + f.Conclusion
		case f.Verdict == different:
			text = f.Conclusion
		}
		if line := what + terminal.CleanLine(clip.Line(text, maxValue)); text != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// problems lists why inputs cannot be left out.
func problems(all []fork.Input) (text string) {
	for _, in := range all {
		text += fmt.Sprintf("\n%s: %s", called(in), in.Problem)
	}
	return text
}
