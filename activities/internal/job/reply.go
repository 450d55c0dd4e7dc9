package job

import (
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// MaxInlineResult is how much of a result is stored in the transcript, in bytes. A larger result is stored in full as a
// blob.
const MaxInlineResult = 256 << 10

// A conclusion is a reply whose text can be the agent's report. Some replies contain no report: see transcript.NoReport.

// Blank reports whether the reply contains no conclusion. Calls in a reply that was offered no tools are ignored.
func Blank(e transcript.Entry) bool {
	noText := strings.TrimSpace(e.Text) == "" || e.NoReport != ""
	return noText && (len(e.Calls) == 0 || e.Forced)
}

// OnlyThought reports whether a reply reached its limit while the model was still thinking. The model may think less if it is asked
// once more.
func OnlyThought(e transcript.Entry) bool {
	return llm.Finish(e.Finish) == llm.FinishLength && Blank(e) && len(e.Calls) == 0
}

// limitOf names the limit that a reply has reached.
func limitOf(e transcript.Entry) string {
	if e.Usage != nil && e.Usage.OutputTokens > 0 {
		return fmt.Sprintf("its whole limit of %d tokens", e.Usage.OutputTokens)
	}
	return "its whole limit"
}

// noReport returns why a reply contains no conclusion; "" means that it is empty, or that it contains one.
func noReport(e transcript.Entry) transcript.NoReport {
	switch {
	case OnlyThought(e):
		return transcript.NoReport("only thinking, which took " + limitOf(e) + ",")
	case Blank(e) && len(e.Calls) > 0:
		return transcript.OnlyWithheld
	}
	return e.NoReport
}

// NotWhole returns why a reply is incomplete; "" means it is complete.
func NotWhole(e transcript.Entry) string {
	switch llm.Finish(e.Finish) {
	case llm.FinishLength:
		if OnlyThought(e) {
			return "" // the model is asked once more
		}
		return "the reply was cut off: the model used " + limitOf(e)
	case llm.FinishFiltered:
		return "the provider's content filter withheld the rest of the reply"
	case llm.FinishPaused:
		if Blank(e) {
			return "" // the model is asked once more
		}
		return "the provider paused the reply and did not resume it"
	case llm.FinishRepeating:
		return "the model's reply repeated itself and was cut off"
	}
	return ""
}

// EarlierStands explains why a report is incomplete if the agent's last reply contained none: see GenerateOut.Earlier.
const EarlierStands = "the last reply contained no conclusion, so the agent's earlier text or thinking is used instead"

// FinishRepeating marks a reply that was cut because it repeated itself.
const FinishRepeating = string(llm.FinishRepeating)

// MaxCalls is the maximum number of calls in one reply. Any others are not run, and the transcript says so.
const MaxCalls = 64

// Clipped shortens an error for the transcript.
func Clipped(text string) string { return tool.ValidText(clip.Bytes(text, maxTryError)) }

const maxTryError = 1000

// Outcome summarises the appended rows for the workflow.
func Outcome(entries []transcript.Entry) GenerateOut {
	var out GenerateOut
	if len(entries) > 0 {
		out.Seen = entries[len(entries)-1].Mark()
	}
	for _, e := range entries {
		if e.Kind == transcript.KindNotice && e.ErrorType != "" {
			out.Exceeded = agent.EndReason(e.ErrorType)
		}
		if e.Kind != transcript.KindReply {
			continue
		}
		out.Finish, out.Model, out.Preview = e.Finish, e.Model, Preview(e.Text)
		out.Invalid, out.ActionsExecuted = e.Invalid, e.ActionsExecuted
		out.Empty, out.NoReport = Blank(e), noReport(e)
		out.Partial = NotWhole(e)
		if e.Usage != nil {
			out.Usage = *e.Usage
		}
		if e.SummaryUsage != nil {
			out.Usage = out.Usage.Add(*e.SummaryUsage)
		}
	}
	return out
}

// previewRunes is the length of the preview that goes into history, in characters.
const previewRunes = 120

// Preview is the beginning of a text on one line.
func Preview(text string) string {
	return clip.Line(strings.Join(strings.Fields(text), " "), previewRunes)
}

// ScoringType is the type of agents that judge.
const ScoringType = "scoring"

// Beginning returns the first n bytes of a text, marked as cut if there are more.
func Beginning(text string, n int) string {
	start := clip.Bytes(text, n)
	if len(start) == len(text) {
		return text
	}
	return fmt.Sprintf("%s\n[truncated: the first %d of %d bytes]", start, len(start), len(text))
}
