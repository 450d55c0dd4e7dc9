package transcript

import (
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Messages rebuilds the conversation from an execution's entries, which must be in key order and without superseded ones. Each call
// of a reply is followed by its result, or by the summary that replaces it. A call without a result gets one that says so, because
// providers reject unanswered calls.
func Messages(entries []Entry) []agent.Message {
	summaries, begun := Summaries(entries), Unanswered(entries)
	results := map[string]agent.Message{}
	for _, e := range entries {
		if e.Kind == KindResult {
			results[e.Call.ID] = resultMessage(e, summaries)
		}
	}
	var out []agent.Message
	for _, e := range entries {
		switch e.Kind {
		case KindSystem:
			out = append(out, agent.Message{Role: agent.System, Content: e.Text})
		case KindUser:
			out = append(out, agent.Message{Role: agent.User, Content: e.Text})
		case KindMemory:
			out = append(out, agent.Message{Role: agent.User, Content: e.Text, Memory: true})
		case KindReply:
			out = append(out, replyMessages(e, results, begun)...)
		}
	}
	return out
}

func replyMessages(e Entry, results map[string]agent.Message, begun map[Key]bool) []agent.Message {
	reply := agent.Message{Role: agent.Assistant, Content: e.OwnText(), Thinking: e.Thinking, ProviderState: e.ProviderState}
	out := []agent.Message{reply}
	for n, call := range e.Calls {
		out[0].ToolCalls = append(out[0].ToolCalls, agent.ToolCall{ID: call.ID, Name: call.Name, Arguments: call.Arguments})
		result, ok := results[call.ID]
		if !ok {
			result = agent.Message{Role: agent.ToolRole, ToolCallID: call.ID, Content: NotRun}
			if e.Forced {
				result.Content = Withheld
			}
			if begun[CallKey(e.Iteration, n)] {
				result.Content = Unknown
			}
		}
		out = append(out, result)
	}
	return out
}

// OwnText returns the text of a reply that the model itself wrote, without its provider's sources.
func (e Entry) OwnText() string {
	if e.Own > 0 {
		return e.Text[:min(e.Own, len(e.Text))]
	}
	return e.Text
}

func resultMessage(e Entry, summaries map[Key]Entry) agent.Message {
	text := e.Text
	if summary, ok := summaries[e.Key]; ok {
		text = summary.Text + "\n" + pointer(e, summary)
	} else if e.Blob != "" {
		text += "\n" + pointer(e, e)
	}
	if e.Call.Respelled != "" {
		text = e.Call.Respelled + "\n" + text
	}
	if e.Call.Edited != "" {
		text = e.Call.Edited + "\n" + text
	}
	return agent.Message{Role: agent.ToolRole, Content: text, ToolCallID: e.Call.ID, Ref: e.Ref(), Images: e.Images}
}

// Final returns an execution's final text: the text of its last reply that has one, even beside calls. With thinkingFallback, the
// model's thoughts replace it if there is no text in the last reply with calls and all later replies.
func Final(entries []Entry, thinkingFallback bool) string {
	thoughts, called := "", false
	for _, e := range slices.Backward(entries) {
		if e.Kind != KindReply || e.Superseded {
			continue
		}
		if e.concludes() && (thoughts == "" || !called) {
			return e.Text
		}
		if thoughts == "" && thinkingFallback {
			thoughts = e.Thinking
			if e.NoReport == OnlyThoughts {
				thoughts = e.Text
			}
		}
		called = called || len(e.Calls) > 0
	}
	return thoughts
}

// concludes reports whether the text of a reply can be a report.
func (e Entry) concludes() bool { return strings.TrimSpace(e.Text) != "" && e.NoReport == "" }

// Turn returns the entries after the last reply that ended a turn of a conversation.
func Turn(entries []Entry) []Entry {
	for n := len(entries) - 1; n >= 0; n-- {
		if e := entries[n]; e.Kind == KindReply && !e.Superseded && len(e.Calls) == 0 && e.concludes() {
			return entries[n+1:]
		}
	}
	return entries
}
