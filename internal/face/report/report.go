package report

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/kit/markdown"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
)

// Report is the result of an investigation.
type Report struct {
	ID           string              `json:"id"`
	WorkflowID   string              `json:"workflow_id,omitempty"`
	Chain        string              `json:"chain,omitempty"`
	AlertType    string              `json:"alert_type,omitempty"`
	Status       agent.Status        `json:"status"`
	EndReason    agent.EndReason     `json:"end_reason,omitempty"`
	Error        string              `json:"error,omitempty"`
	StartedAt    time.Time           `json:"started_at,omitzero"`
	EndedAt      *time.Time          `json:"ended_at,omitempty"`
	Usage        agent.Usage         `json:"usage,omitzero"`
	Summary      string              `json:"summary,omitempty"` // the executive summary, 1–4 lines
	Brief        system.Brief        `json:"brief,omitzero"`
	NotChecked   []record.NotChecked `json:"not_checked,omitempty"` // as in Brief.Caveats
	NoToolResult bool                `json:"no_tool_result,omitempty"`
	Text         string              `json:"report"` // Markdown; an agent's JSON object is converted to Markdown
	Unfinished   []string            `json:"unfinished,omitempty"`
	Undelivered  []string            `json:"undelivered,omitempty"`
	// ActionsExecuted says whether any action agent reported a change; nil means that none reported anything.
	ActionsExecuted *bool `json:"actions_executed,omitempty"`
	// Score is the judgment; nil means that there is none.
	Score *record.Score `json:"score,omitempty"`
	// SummaryError is why there is no executive summary.
	SummaryError string `json:"summary_error,omitempty"`
	// Advice is what to do about a failure or a limit; empty means that there was none.
	Advice string `json:"advice,omitempty"`
	// UnknownWrites are tool calls, other than reads, that may or may not have taken effect, unless their late answers say so.
	UnknownWrites []transcript.UnknownCall `json:"unknown_writes,omitempty"`
	// Evidence is the evidence that the text was checked against; nil means that it cites nothing.
	Evidence *evidence.Evidence `json:"evidence,omitempty"`
	// Line describes the investigation in one line for people.
	Line string `json:"-"`
}

// Of returns the report of an investigation. line describes it in one line, and proof is the evidence that it was checked against.
func Of(r record.Investigation, stages []record.Stage, line string, proof *evidence.Evidence) Report {
	text := textOfReport(r)
	if proof != nil { // the brief has it
		text = strings.TrimPrefix(text, proof.Warning())
	}
	out := Report{
		ID: r.ID, WorkflowID: r.WorkflowID, Chain: r.Chain, AlertType: r.AlertType, Status: r.Status, EndReason: r.EndReason, Error: r.Error,
		StartedAt: r.StartedAt, EndedAt: r.EndedAt, Usage: r.Usage, Brief: BriefOf(r, proof), Text: text,
		Undelivered: r.Envelope.Undelivered, Line: line, Evidence: proof, Summary: r.Envelope.Summary, SummaryError: r.Envelope.SummaryError,
		NotChecked: r.Envelope.NotChecked, NoToolResult: r.Envelope.NoToolResult, Advice: Advice(r, stages),
	}
	for _, s := range stages {
		for _, a := range s.Envelope.Agents {
			if said := a.ActionsExecuted; said != nil && (out.ActionsExecuted == nil || *said) {
				out.ActionsExecuted = said
			}
		}
		if s.Index < 0 {
			continue // SummaryError covers this
		}
		switch {
		case s.Status.Closed() && s.Status != agent.StatusCompleted:
			out.Unfinished = append(out.Unfinished, fmt.Sprintf("stage %s: %s", s.Name, s.Why()))
		case s.Envelope.Partial != "":
			out.Unfinished = append(out.Unfinished, fmt.Sprintf("stage %s is partial: %s", s.Name, s.Envelope.Partial))
		}
	}
	return out
}

// Checked returns the report of a recorded investigation with everything that the store knows of it. find returns the evidence of an
// investigation whose report was checked, as a system's reader does.
func Checked(ctx context.Context, w system.Record, line string,
	find func(context.Context, system.Record) (evidence.Evidence, error)) (Report, error) {
	var proof *evidence.Evidence
	if w.Investigation.Envelope.Evidence != "" {
		found, err := find(ctx, w)
		if err != nil {
			return Report{}, err
		}
		proof = &found
	}
	r := Of(w.Investigation, w.Stages, line, proof)
	r.UnknownWrites, r.Score = transcript.Writes(w.UnknownCalls), w.Score()
	return r, nil
}

// Text returns the report as Markdown, after its caveats.
func Text(r record.Investigation) string {
	return strings.TrimLeft(r.Envelope.CaveatsMarkdown("- ")+"\n"+textOfReport(r), "\n")
}

// textOfReport returns the report as Markdown without the paragraph that its brief repeats.
func textOfReport(r record.Investigation) string {
	return markdown.Readable(strings.TrimPrefix(r.Report, r.Envelope.NotCheckedParagraph()))
}

// Markdown returns the brief, then the report, then what went wrong.
func (r Report) Markdown() string {
	var out strings.Builder
	out.WriteString(r.Line + "\n")
	if lines := r.CaveatsMarkdown(); lines != "" { // before the summary, which may name the cause
		out.WriteString("\n" + lines)
	}
	if r.Summary != "" {
		out.WriteString("\n" + r.SummaryMarkdown() + "\n")
	}
	out.WriteString(r.Brief.Markdown())
	if line := r.ActionsLine(); line != "" {
		out.WriteString("\n" + line + "\n")
	}
	if lines := r.UnknownLines(); lines != "" {
		out.WriteString("\n" + lines)
	}
	if r.Text != "" {
		fmt.Fprintf(&out, "\n---\n\n%s\n", strings.TrimSpace(r.Text))
	}
	if line := r.ScoreLine(); line != "" {
		fmt.Fprintf(&out, "\n---\n\n%s\n", line)
	}
	for n, line := range r.wrong() {
		if n == 0 {
			out.WriteString("\n---\n\n")
		}
		fmt.Fprintf(&out, "- %s\n", line)
	}
	return out.String()
}

// Short is Markdown without the report itself, if the brief names a cause or a step. cut reports whether a report was left out.
func (r Report) Short() (text string, cut bool) {
	if cut = r.Text != "" && (r.Brief.Cause != "" || len(r.Brief.Next) > 0); cut {
		r.Text = ""
	}
	return r.Markdown(), cut
}

// CaveatsMarkdown lists in Markdown the evidence that the report lacks.
func (r Report) CaveatsMarkdown() string {
	return record.Envelope{NotChecked: r.NotChecked, NoToolResult: r.NoToolResult}.CaveatsMarkdown("- ")
}

// ActionsLine says in Markdown whether something was changed. It is empty if that is unknown.
func (r Report) ActionsLine() string {
	if r.ActionsExecuted == nil {
		return ""
	}
	return "**Actions executed:** " + map[bool]string{true: "yes", false: "no"}[*r.ActionsExecuted]
}

// maxUnknownLines limits each list of UnknownLines.
const maxUnknownLines = 20

// UnknownLines lists the writes with an unknown outcome in Markdown, then those that are known to have taken effect by a late
// answer. Without any it is empty.
func (r Report) UnknownLines() string {
	calls := r.UnknownWrites
	if len(calls) == 0 {
		return ""
	}
	var paragraphs []string
	for _, p := range []struct {
		done bool
		text string
	}{
		{false, "**Outcome unknown:** these calls were interrupted and may have taken effect. Check before you repeat them."},
		{true, "**Answered late:** these calls were interrupted, but their tools later reported success. The agents did not see it."},
	} {
		those := slices.DeleteFunc(slices.Clone(calls), func(c transcript.UnknownCall) bool { return c.Done() != p.done })
		if len(those) > 0 {
			paragraphs = append(paragraphs, p.text+"\n\n"+callLines(those))
		}
	}
	return strings.Join(paragraphs, "\n")
}

// callLines is a Markdown list of calls.
func callLines(calls []transcript.UnknownCall) string {
	var out strings.Builder
	for n, c := range calls {
		if n == maxUnknownLines {
			fmt.Fprintf(&out, "- and %d more\n", len(calls)-n)
			break
		}
		stage, name, _ := strings.Cut(c.Execution, "/")
		fmt.Fprintf(&out, "- %s %s · %s, stage %s · %s", code(c.Tool), code(clip.Line(c.Arguments, maxUnknownArguments)), name, stage,
			c.At.UTC().Format("2006-01-02 15:04:05 MST"))
		if c.Late != nil {
			fmt.Fprintf(&out, " · answered late: %s %s", c.Late.Status, code(clip.Line(c.Late.Text, maxUnknownArguments)))
		}
		out.WriteString("\n")
	}
	return out.String()
}

// maxUnknownArguments limits a call's arguments and its late answer in UnknownLines, in characters.
const maxUnknownArguments = 120

// code quotes a text as Markdown code, even if it contains backquotes.
func code(text string) string {
	if text = strings.Join(strings.Fields(text), " "); text == "" {
		return ""
	}
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		text = " " + text + " "
	}
	return fence + text + fence
}

// ScoreLine formats the score as Markdown. It is empty without a score.
func (r Report) ScoreLine() string {
	if r.Score == nil || r.Score.Score == nil {
		return ""
	}
	line := fmt.Sprintf("**Score:** %d of 100", *r.Score.Score)
	if len(r.Score.Tags) > 0 {
		line += " (" + strings.Join(r.Score.Tags, ", ") + ")"
	}
	return line
}

// SummaryMarkdown returns the executive summary with its line breaks preserved.
func (r Report) SummaryMarkdown() string { return strings.ReplaceAll(r.Summary, "\n", "  \n") }

// wrong lists what went wrong, and what to do about it.
func (r Report) wrong() (lines []string) {
	lines = append(lines, r.Unfinished...)
	for _, line := range r.Undelivered {
		lines = append(lines, "not delivered: "+line)
	}
	if r.SummaryError != "" {
		lines = append(lines, "no executive summary: "+r.SummaryError)
	}
	if r.Error != "" && !Said(lines, r.Error) {
		lines = append(lines, r.Error)
	}
	if r.Advice != "" {
		lines = append(lines, r.Advice)
	}
	return lines
}

// Said reports whether a line already names a problem, perhaps after the stage or the agent that has it.
func Said(lines []string, problem string) bool {
	return slices.ContainsFunc(lines, func(line string) bool { return strings.HasSuffix(line, problem) })
}
