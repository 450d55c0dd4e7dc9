// Package postmortem drafts a post-mortem of an investigation from its journal, without a model. It keeps what people have written into an
// earlier draft.
package postmortem

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/report"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/kit/markdown"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
)

// Source is what a draft is made of.
type Source struct {
	Record system.Record
	Report report.Report
	Acts   []audit.Act
	Page   string // public address of the page; empty means that rows have no links
}

// Section is a part of a post-mortem.
type Section struct {
	Key   string `json:"key"`
	Title string `json:"title"`
	Text  string `json:"text"` // Markdown
}

// Limits of a draft: it is a beginning for people, and the journal has the rest.
const (
	maxLine    = 300 // characters of a text from the journal
	maxLines   = 100 // in a list
	maxClaims  = 20
	maxImpact  = 2000 // bytes
	dateTime   = "2006-01-02 15:04:05 MST"
	notWritten = "*Nothing in the journal says so.*"
)

// Draft returns the sections of a post-mortem.
func Draft(s Source) []Section {
	d := draft{Source: s, rows: map[string]int64{}, ends: map[string]int64{}, asked: map[string]string{}}
	for _, a := range s.Acts {
		if question := detail(a)["question"]; a.What == audit.Asked && question != "" {
			d.asked[a.Call] = question
		}
	}
	for _, e := range s.Record.Entries {
		if e.Kind == transcript.KindReply && !e.Superseded {
			d.ends[e.Execution] = e.Seq
		}
		if e.Call != nil && !e.Superseded && d.rows[e.Execution+" "+e.Call.ID] == 0 {
			d.rows[e.Execution+" "+e.Call.ID] = e.Seq
		}
	}
	return []Section{
		{"summary", "Summary", d.summary()},
		{"impact", "Impact", d.impact()},
		{"cause", "Cause", d.cause()},
		{"timeline", "Timeline", d.timeline()},
		{"tried", "What was tried", d.tried()},
		{"actions", "Actions", d.actions()},
		{"questions", "Open questions", d.questions()},
	}
}

// Title is the heading of the document.
func Title(s Source) string {
	r := s.Record.Investigation
	return fmt.Sprintf("Post-mortem: %s, %s", text(cmp.Or(r.AlertType, r.Chain, r.WorkflowID)), r.StartedAt.UTC().Format(time.DateOnly))
}

// draft makes the sections.
type draft struct {
	Source
	rows  map[string]int64  // the first row of each call, by execution and ID
	ends  map[string]int64  // the last reply of each execution
	asked map[string]string // the questions to people, by ID
}

// text makes one line of Markdown of a text that may come from a model or a tool. It hides nothing, and it is no heading, list, link,
// image, HTML or line of ours, wherever it stands. Emphasis and code stay.
func text(from string) string {
	line := reveal.Unseen(strings.Join(strings.Fields(from), " "))
	parts := strings.Split(clip.Line(line, maxLine), "`")
	if len(parts)%2 == 0 || slices.Contains(parts[1:max(1, len(parts)-1)], "") { // not simple code
		parts = []string{strings.Join(parts, "'")}
	}
	for n := 0; n < len(parts); n += 2 {
		parts[n] = inert.Replace(parts[n])
	}
	line = numbered.ReplaceAllString(strings.Join(parts, "`"), `$1\$2`)
	return begins.ReplaceAllString(line, `\$1`)
}

var (
	inert = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "<", "&lt;")
	// numbered and begins match what would make a block of a line: "1. ", and "# ", "- ", "> ", "| ", "~~~", "===".
	numbered = regexp.MustCompile(`^(\d{1,9})([.)](?: |$))`)
	begins   = regexp.MustCompile(`^([#>|~=+-]|\*(?: |\*\*)|___)`)
)

// row refers to a row of the journal. It is empty without a number.
func (d draft) row(seq int64) string {
	switch {
	case seq == 0:
		return ""
	case d.Page == "":
		return fmt.Sprintf(" (row %d)", seq)
	}
	return fmt.Sprintf(" ([row %d](%s/%[1]d))", seq, system.PageOf(d.Page, d.Record.Investigation.ID))
}

// act refers to a row of the audit trail, which "starter audit" lists.
func (d draft) act(n int64) string {
	if d.Page == "" {
		return fmt.Sprintf(" (act %d)", n)
	}
	return fmt.Sprintf(" ([act %d](%s))", n, system.PageOf(d.Page, d.Record.Investigation.ID))
}

// list is a Markdown list. It leaves out the middle of a long one, because the beginning and the end matter more.
func list(lines []string, otherwise string) string {
	if len(lines) == 0 {
		return otherwise
	}
	if more := len(lines) - maxLines; more > 0 {
		middle := maxLines / 2
		lines = slices.Concat(lines[:middle], []string{fmt.Sprintf("*%d more*", more)}, lines[len(lines)-middle:])
	}
	return "- " + strings.Join(lines, "\n- ")
}

func (d draft) summary() string {
	r := d.Record.Investigation
	facts := [][2]string{
		{"Investigation", text(r.ID)}, {"Chain", text(r.Chain)}, {"Alert type", text(r.AlertType)},
		{"Severity", text(r.Metadata[agent.Severity])},
		{"Started", r.StartedAt.UTC().Format(dateTime) + " by " + cmp.Or(text(r.Envelope.By), "an unknown caller")},
		{"Status", text(d.Report.Line)},
	}
	if d.Page != "" {
		facts[0][1] = fmt.Sprintf("[%s](%s)", facts[0][1], system.PageOf(d.Page, r.ID))
	}
	out := "| | |\n|---|---|\n"
	for _, f := range facts {
		if f[1] != "" {
			out += fmt.Sprintf("| %s | %s |\n", f[0], strings.ReplaceAll(f[1], "|", `\|`))
		}
	}
	var lines []string
	for line := range strings.Lines(d.Report.Summary) {
		lines = append(lines, text(line))
	}
	return strings.TrimSpace(out + "\n" + strings.Join(lines, "\\\n"))
}

func (d draft) impact() string {
	said := report.Impact(d.Record.Investigation)
	if said == "" {
		return "*The report has no text about the impact.* Who was affected, since when, and how badly?"
	}
	var lines []string
	for line := range strings.Lines(clip.Text(said, maxImpact)) {
		item, isItem := strings.CutPrefix(line, "- ")
		if line = text(item); isItem {
			line = "- " + line
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func (d draft) cause() string {
	b := d.Report.Brief
	out := cmp.Or(text(b.Cause), notWritten)
	if b.Confidence != "" {
		out += "\n\nConfidence: " + text(b.Confidence)
	}
	var lines []string
	for _, c := range d.claims(evidence.Verified, evidence.Found) {
		lines = append(lines, text(c.Text)+d.row(d.source(c)))
	}
	if len(lines) > 0 {
		out += "\n\nEvidence, checked by code:\n\n" + list(lines[:min(len(lines), maxClaims)], "")
	}
	return out
}

// claims returns the claims of the report with one of some verdicts.
func (d draft) claims(of ...evidence.Verdict) (out []evidence.Claim) {
	if d.Report.Evidence == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(d.Report.Evidence.Claims), func(c evidence.Claim) bool { return !slices.Contains(of, c.Verdict) })
}

// source returns the row of the first evidence that a claim cites, or zero.
func (d draft) source(c evidence.Claim) int64 {
	for _, n := range c.Cites {
		for _, item := range d.Report.Evidence.Items {
			if item.N == n && item.Seq > 0 {
				return item.Seq
			}
		}
	}
	return 0
}

// tried says what each agent did, and how it ended.
func (d draft) tried() string {
	var out []string
	for _, x := range d.Record.Executions {
		if x.Stage == plan.SummaryName || x.Stage == plan.ScoringName || x.Stage == plan.LearningName {
			continue
		}
		calls, failed, conclusion, seq := map[string]int{}, 0, "", int64(0)
		for _, e := range d.Record.Entries {
			switch {
			case e.Execution != x.Name || e.Superseded:
			case e.Kind == transcript.KindResult && e.Call != nil && !e.Call.Own:
				if calls[e.Call.Name]++; e.ErrorType != "" || e.Refused {
					failed++
				}
			case e.Kind == transcript.KindReply && len(e.Calls) == 0 && d.ends[e.Execution] == e.Seq:
				conclusion, seq = firstSentence(e.Text), e.Seq
			}
		}
		var tools []string
		for _, name := range slices.Sorted(maps.Keys(calls)) {
			tools = append(tools, fmt.Sprintf("%s (%d)", text(name), calls[name]))
		}
		line := fmt.Sprintf("**%s** %s; tools: %s", text(x.Name), text(string(x.Status)), cmp.Or(strings.Join(tools, ", "), "none"))
		if failed > 0 {
			line += fmt.Sprintf("; failed or not made: %d", failed)
		}
		if said := cmp.Or(conclusion, x.Error); said != "" {
			line += ". " + text(said)
		}
		out = append(out, line+d.row(seq))
	}
	return list(out, notWritten)
}

// firstSentence returns the first line of a conclusion that says something: no heading, table, or line that only announces others.
func firstSentence(of string) string {
	for line := range strings.Lines(markdown.Readable(of)) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "|") && !strings.HasSuffix(line, ":") {
			return line
		}
	}
	return ""
}

// actions lists what remains to be done, and what was done.
func (d draft) actions() string {
	var open, done []string
	for _, c := range d.Report.UnknownWrites {
		open = append(open, fmt.Sprintf("[ ] Find out whether `%s` took effect", code(c.Tool+" "+c.Arguments))+d.row(c.Seq))
	}
	for _, step := range d.Report.Brief.Next {
		open = append(open, "[ ] "+text(step))
	}
	for _, r := range d.Record.Ratings {
		if r.ActionTaken != "" {
			done = append(done, fmt.Sprintf("[x] %s (%s)", text(r.ActionTaken), cmp.Or(text(r.By), "a person")))
		}
	}
	for _, e := range d.Record.Entries {
		if e.Kind == transcript.KindResult && !e.Superseded && e.Call != nil && changes(*e.Call) && e.ErrorType == "" && !e.Refused {
			call := code(e.Call.Name + " " + e.Call.Arguments)
			done = append(done, fmt.Sprintf("[x] `%s` by %s: %s", call, text(e.Execution), outcome(e))+d.row(e.Seq))
		}
	}
	return list(append(open, done...), "*Nothing was done or proposed.*")
}

// code makes a text fit into backquotes.
func code(of string) string {
	return strings.ReplaceAll(clip.Line(reveal.Unseen(strings.Join(strings.Fields(of), " ")), maxLine), "`", "'")
}

// questions lists what is not known.
func (d draft) questions() string {
	var out []string
	for line := range strings.Lines(d.Report.CaveatsMarkdown()) {
		out = append(out, text(strings.TrimPrefix(line, "- ")))
	}
	for _, c := range d.claims(evidence.Unverified) {
		var missing []string
		for _, m := range c.Missing {
			missing = append(missing, text(m))
		}
		out = append(out, fmt.Sprintf("Not found in the evidence: %s (%s)", text(c.Text), strings.Join(missing, ", ")))
	}
	for _, a := range d.Acts {
		if a.What == audit.Answered && a.Who == "" {
			out = append(out, "Nobody answered: "+text(d.asked[a.Call]))
		}
	}
	for _, line := range d.Report.Unfinished {
		out = append(out, text(line))
	}
	if why := d.Report.Error; why != "" && !report.Said(d.Report.Unfinished, why) {
		out = append(out, fmt.Sprintf("The investigation %s: %s", d.Report.Status, text(why)))
	}
	for _, r := range d.Record.Ratings {
		if r.Rating != record.Accurate {
			line := fmt.Sprintf("%s rated the result %s: %s", cmp.Or(text(r.By), "a person"), r.Rating, text(r.Note))
			out = append(out, strings.TrimSuffix(line, ": "))
		}
	}
	if s := d.Report.Score; s != nil && s.MissingTools != "" {
		out = append(out, "Tools that were missing, says the judge: "+text(s.MissingTools))
	}
	return list(out, "*None.*")
}
