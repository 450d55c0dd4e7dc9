package prompt

import (
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/transcript"
)

// resultLimit is how much of a tool's result a synthesis agent sees, in bytes: about 1,000 tokens, so that the records
// of several agents fit.
const resultLimit = 4000

// written returns an agent's log for another agent: thinking, calls with arguments, results, errors, replies. It omits
// the system prompt and the task, because the reader has its own, and notices, which are not for models.
func written(entries []transcript.Entry) string { return recorded(entries, false) }

// numbered is written with the number of each row.
func numbered(entries []transcript.Entry) string { return recorded(entries, true) }

func recorded(entries []transcript.Entry, rows bool) string {
	out := &recorder{rows: rows}
	summaries, unanswered := transcript.Summaries(entries), transcript.Unanswered(entries)
	task := true
	for _, e := range entries {
		if e.Superseded {
			continue
		}
		switch e.Kind {
		case transcript.KindUser:
			if !task {
				writePart(out, e, "told", e.Text)
			}
			task = false
		case transcript.KindReply:
			writeReply(out, e)
		case transcript.KindCall:
			if unanswered[e.Key] {
				writePart(out, e, "result of "+e.Call.Name, transcript.Interrupted)
			}
		case transcript.KindResult:
			writeResult(out, e, summaries)
		case transcript.KindFallback:
			writePart(out, e, "model replaced", e.Text)
		case transcript.KindSystem, transcript.KindMemory, transcript.KindTry, transcript.KindNotice: // not for other agents
		case transcript.KindSummary: // written in place of its result
		}
	}
	return out.String()
}

// recorder writes the parts of a record.
type recorder struct {
	strings.Builder
	rows bool // with the numbers of rows
}

func writeReply(out *recorder, e transcript.Entry) {
	if e.Thinking != "" {
		writePart(out, e, "thinking", e.Thinking)
	}
	if e.Text != "" {
		writePart(out, e, "reply", e.Text)
	}
	for _, call := range e.Calls {
		writePart(out, e, "call "+call.Name, call.Arguments)
	}
}

// writeResult writes the result of a call, or its summary.
func writeResult(out *recorder, e transcript.Entry, summaries map[transcript.Key]transcript.Entry) {
	what := "result"
	if e.Call != nil {
		what += " of " + e.Call.Name
	}
	if e.ErrorType != "" {
		what += " (" + e.ErrorType + ")"
	}
	if e.Given != "" {
		what += " (not the tool's: " + e.Given + " gave it)"
	}
	text := cut(e.Text, resultLimit)
	switch summary, ok := summaries[e.Key]; {
	case ok:
		text = cut(summary.Text, resultLimit) + fmt.Sprintf("\n[a summary; the whole result has %d bytes]", e.Size)
	case e.Blob != "":
		text += fmt.Sprintf("\n[the whole result has %d bytes]", e.Size)
	}
	writePart(out, e, what, text)
}

// writePart indents the text, so that no text can imitate the heading of another part.
func writePart(out *recorder, e transcript.Entry, what, text string) {
	body := strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
	row := ""
	if out.rows {
		row = fmt.Sprintf("row %d, ", e.Seq)
	}
	fmt.Fprintf(out, "[%siteration %d] %s:\n  %s\n\n", row, e.Iteration, line(what), body)
}
