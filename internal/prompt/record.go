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
func written(entries []transcript.Entry) string {
	var out strings.Builder
	summaries, unanswered := transcript.Summaries(entries), transcript.Unanswered(entries)
	task := true
	for _, e := range entries {
		if e.Superseded {
			continue
		}
		switch e.Kind {
		case transcript.KindUser:
			if !task {
				writePart(&out, e, "told", e.Text)
			}
			task = false
		case transcript.KindReply:
			writeReply(&out, e)
		case transcript.KindCall:
			if unanswered[e.Key] {
				writePart(&out, e, "result of "+e.Call.Name, transcript.Interrupted)
			}
		case transcript.KindResult:
			writeResult(&out, e, summaries)
		case transcript.KindFallback:
			writePart(&out, e, "model replaced", e.Text)
		}
	}
	return out.String()
}

func writeReply(out *strings.Builder, e transcript.Entry) {
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
func writeResult(out *strings.Builder, e transcript.Entry, summaries map[transcript.Key]transcript.Entry) {
	what := "result"
	if e.Call != nil {
		what += " of " + e.Call.Name
	}
	if e.ErrorType != "" {
		what += " (" + e.ErrorType + ")"
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
func writePart(out *strings.Builder, e transcript.Entry, what, text string) {
	body := strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
	fmt.Fprintf(out, "[iteration %d] %s:\n  %s\n\n", e.Iteration, line(what), body)
}
