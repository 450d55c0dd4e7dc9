package scripted

import (
	"unicode/utf8"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// chunkRunes is about what a provider sends at once: a few words.
const chunkRunes = 24

// chunks parts text into pieces that, put together, are the text again.
func chunks(text string) []string {
	var out []string
	start, n := 0, 0
	for i := range text {
		if n == chunkRunes {
			out = append(out, text[start:i])
			start, n = i, 0
		}
		n++
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}

// tokens estimates with four characters a token, rounded up: close enough for a
// model that costs nothing.
func tokens(text string) int { return (utf8.RuneCountInString(text) + 3) / 4 }

func requestTokens(req llm.Request) int {
	n := messageTokens(req.Messages...)
	for _, t := range req.Tools {
		n += tokens(t.Name) + tokens(t.Description) + tokens(string(t.Schema))
	}
	return n
}

func messageTokens(messages ...agent.Message) (n int) {
	for _, m := range messages {
		n += tokens(m.Content) + tokens(m.Thinking)
		for _, call := range m.ToolCalls {
			n += tokens(call.Name) + tokens(call.Arguments)
		}
	}
	return n
}
