package evidence

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// byCode begins this package's statements in a report.
const byCode = "Checked by code:"

// forged matches those words in any spelling: with emphasis, links, tags, other spaces or invisible characters, between the words
// and within them.
var forged = regexp.MustCompile(`(?i)` + strings.Join(strings.Split("checkedbycode", ""),
	"(?:[\\s\\p{Z}\\p{Cf}\\p{M}\\p{Pd}*_~`\\\\\\[\\]]|\\]\\([^()\n]*\\)|<[^<>\n]*>|&#?[0-9A-Za-z]+;)*"))

// Unforged returns a text in which no agent's statement looks like one of this package. In JSON, the words may be spelt with
// escapes.
func Unforged(text string) string {
	text = unforged(text)
	if strings.Contains(text, `\`) && isObject(text) {
		text = rewritten(text, allTexts, unforged)
	}
	return text
}

func unforged(text string) string {
	return forged.ReplaceAllString(text, "checked (claimed by the agent) by code")
}

// Failed returns the summary of the check if some claims are not verified, and otherwise an empty string.
func (e Evidence) Failed() string {
	if e.Count(Unverified) == 0 {
		return ""
	}
	return e.Summary()
}

// Warning is the paragraph that Report begins with if some claims are not verified, and otherwise an empty string.
func (e Evidence) Warning() string {
	if failed := e.Failed(); failed != "" {
		return fmt.Sprintf("**%s %s.**\n\n", byCode, failed)
	}
	return ""
}

// mark returns the text that follows a citation that is no proof.
func mark(c Claim) string {
	var missing []string
	for _, one := range c.Missing {
		missing = append(missing, plainly(one))
	}
	return fmt.Sprintf(" **(✗ not verified: %s)**", strings.Join(missing, "; "))
}

// plainly returns a text without Markdown syntax, because quoted text may come from anyone.
func plainly(text string) string { return Unforged(marking.Replace(clipped(text, 600))) }

var marking = strings.NewReplacer("`", "'", "[", "(", "]", ")", "|", "¦", "*", "", "<", "‹", ">", "›", "\\", "", "&", "+", "~", "-")

// Summary describes the result of the check in one sentence.
func (e Evidence) Summary() string {
	var said []string
	if n := len(e.Claims) - e.Count(Found); n == 0 {
		pieces := 0 // that an agent or a tool named
		for _, item := range e.Items {
			if item.By != ByCode {
				pieces++
			}
		}
		said = []string{"the report contains no citations"}
		if pieces > 0 || e.Count(Found) == 0 { // otherwise "0 pieces" would deny what code has found
			said = append(said, counted(pieces, "piece of evidence was", "pieces of evidence were")+" found")
		}
	} else {
		cited := counted(n, "cited statement is supported by its evidence", "cited statements are supported by their evidence")
		said = []string{fmt.Sprintf("%d of %s", e.Count(Verified), cited)}
	}
	if n := e.Count(Unverified); n > 0 {
		said = append(said, fmt.Sprintf("%d not supported, marked ✗", n))
	}
	if n := e.Count(Unchecked); n > 0 {
		said = append(said, fmt.Sprintf("%d not checkable by code", n))
	}
	if n := e.Count(Found); n > 0 {
		one, many := "sentence without a citation matches a result or the alert", "sentences without a citation match a result or the alert"
		said = append(said, counted(n, one, many))
	}
	if e.Uncited > 0 {
		said = append(said, counted(e.Uncited, "sentence states facts without a citation", "sentences state facts without a citation"))
	}
	return strings.Join(said, "; ") + e.more()
}

// more says how much was left out; empty if nothing was.
func (e Evidence) more() string {
	if e.LeftOut == 0 {
		return ""
	}
	return fmt.Sprintf("; evidence and discoveries omitted because of the limit: %d", e.LeftOut)
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Concerns reports whether a report has anything to check: it cites something, or names evidence.
func Concerns(report string) bool {
	if isObject(report) {
		cites := false
		texts(report, func(text string, _, _ int) { cites = cites || Cites(text) })
		return cites
	}
	_, _, _, named := block(report)
	return named || Cites(report)
}

// Report returns the report with its claims checked: failed ones are marked and counted, and the cited evidence is appended. JSON,
// which is for programs, gets only the marks.
func (e *Evidence) Report(execution, text string) string {
	text = e.marked(execution, text)
	if isObject(text) {
		return text
	}
	var out strings.Builder
	if e.Failed() == "" { // otherwise the warning says it
		fmt.Fprintf(&out, "\n\n%s %s.", byCode, e.Summary())
	}
	e.listCited(&out, execution)
	e.listFound(&out)
	for n, one := range e.Pending[:min(len(e.Pending), maxNext)] {
		if n == 0 {
			out.WriteString(map[bool]string{true: "\n\nInconclusive. ", false: "\n\n"}[e.Count(Verified)+e.Count(Found) == 0] + "Still to check:\n")
		}
		out.WriteString("\n- " + plainly(one))
	}
	text = e.Warning() + strings.TrimSpace(text)
	if out.Len() > 0 {
		text += "\n\n---" + out.String()
	}
	return strings.TrimSpace(text) + "\n"
}

// Judged returns a result for a judge: failed claims are marked as in a report, and the summary is appended.
func (e *Evidence) Judged(execution, text string) string {
	return fmt.Sprintf("%s\n\n%s %s.", strings.TrimSpace(e.marked(execution, text)), byCode, e.Summary())
}

// marked checks an execution's text and marks failed claims.
func (e *Evidence) marked(execution, text string) string {
	text = Unforged(e.Shown(execution, text))
	e.forget()
	if isObject(text) {
		text = e.object(text)
	} else {
		text = e.check(text)
	}
	e.findUncited()
	return text
}

// listCited lists the evidence that a report cites or, if it cites nothing, the findings of the execution that wrote it.
func (e Evidence) listCited(out *strings.Builder, execution string) {
	shown := map[int]bool{}
	for _, claim := range e.Claims {
		for _, n := range claim.Cites {
			shown[n] = shown[n] || claim.Verdict != Found
		}
	}
	first := "\n"
	if e.Failed() != "" {
		first = "\n\n" + byCode + " the report cites this evidence:\n"
	}
	for _, item := range e.Items {
		if shown[item.N] || len(e.Claims) == 0 && item.By == execution {
			fmt.Fprintf(out, "%s\n- [%d] %s", first, item.N, item.shown())
			first = ""
		}
	}
}

// listFound lists the sentences that cite nothing, with the passage that code has found for each.
func (e Evidence) listFound(out *strings.Builder) {
	first := true
	for _, claim := range e.Claims {
		if claim.Verdict != Found {
			continue
		}
		if first {
			fmt.Fprintf(out, "\n\n%s these sentences have no citation but match a result or the alert:\n", byCode)
		}
		first = false
		text := strings.TrimRight(plainly(claim.Text), ".:")
		fmt.Fprintf(out, "\n- %s: [%d] %s", text, claim.Cites[0], e.Items[claim.Cites[0]-1].shown())
	}
}

// maxNext bounds the items that a report lists as next to check.
const maxNext = 5

// Text returns the evidence for models and people, one line for each piece.
func (e Evidence) Text() string {
	var out strings.Builder
	for _, item := range e.Items {
		if item.Problem != undone {
			fmt.Fprintf(&out, "[%d] %s\n", item.N, item.line())
		}
	}
	for _, d := range e.Discoveries {
		fmt.Fprintf(&out, "found: %s %s %s\n", clipped(d.ItemType, 60), clipped(d.Identifier, 200), clipped(d.Location, 200))
	}
	for _, one := range e.Pending {
		fmt.Fprintf(&out, "not checked: %s\n", clipped(one, 200))
	}
	if e.LeftOut > 0 {
		fmt.Fprintf(&out, "omitted because of the limit: %d\n", e.LeftOut)
	}
	return out.String()
}

// Of returns the findings of one execution.
func (e Evidence) Of(execution string) (out Evidence) {
	out.Items = slices.DeleteFunc(slices.Clone(e.Items), func(i Item) bool { return i.By != execution })
	return out
}

// line describes a piece of evidence without its number.
func (i Item) line() string { return clipped(i.Content, 400) + i.source() }

// shown is line as Markdown. The quote is code, because Markdown would take the underscores of "__name__" for emphasis.
func (i Item) shown() string {
	quote := plainly(clipped(i.Content, 400))
	if quote == "" {
		return plainly(i.line())
	}
	return "`" + quote + "` " + plainly(i.source())
}

// source says where a piece of evidence comes from, after its quote.
func (i Item) source() string {
	var parts []string
	if i.Location != "" {
		parts = append(parts, "at "+clipped(i.Location, 120))
	}
	if i.Relevance != "" {
		parts = append(parts, clipped(i.Relevance, 200))
	}
	parts = append(parts, i.Where())
	if i.Problem != "" {
		parts = append(parts, "proves nothing: "+i.Problem)
	}
	return " · " + strings.Join(parts, " · ")
}

// Where names the piece's row in the journal.
func (i Item) Where() string {
	if i.Seq == 0 {
		return "said by " + i.By
	}
	return fmt.Sprintf("%s, row %d of %s", i.Tool, i.Seq, i.Execution)
}
