package modelcall

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/compress"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/token"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// view returns the conversation in the form sent to the model: in full if it fits, otherwise compressed. The transcript
// itself never changes.
func (g *generation) view(stored []transcript.Entry, tools []llm.Tool) ([]agent.Message, *transcript.Compression, error) {
	entries := stored
	for _, row := range g.rows {
		entries = append(entries, transcript.Entry{Key: row.Key, Kind: row.Kind, Body: row.Body})
	}
	model, settings := g.provider().Model, g.Agent.Compression
	options := compress.Options{
		Enabled: settings.Enabled, MaxTokens: settings.MaxContextTokens, Threshold: settings.Threshold,
		KeepRecent: settings.KeepRecentMessages, Strategy: settings.Strategy, ShortenResultsFirst: !g.Plan.Conversation, Steady: true,
		Count: func(m []agent.Message) int { return token.Messages(model, m) },
	}
	if window := token.Window(model); options.MaxTokens == 0 || g.in.Provider > 0 { // the setting applies to the first model
		options.MaxTokens = min(cmp.Or(options.MaxTokens, window), window)
	}
	options.ToolTokens = min(toolTokens(model, tools), options.MaxTokens/2)
	options.MaxTokens = corrected(options.MaxTokens, options.ToolTokens, stored)
	messages := g.mark(transcript.Messages(entries))
	if !g.provider().Vision {
		for i := range messages {
			messages[i].Images = nil
		}
	}
	result, err := compress.View(messages, options)
	if errors.Is(err, compress.ErrContextTooLong) {
		return nil, nil, fmt.Errorf("%s: %w: %v", model, llm.ErrContextTooLong, err)
	}
	if err != nil {
		return nil, nil, err
	}
	return result.Messages, &transcript.Compression{
		OriginalTokens: result.Original, CompressedTokens: result.Compressed, Ratio: result.Ratio, Strategy: result.Strategy,
	}, nil
}

// mark says in a long conversation how many turns are left out, after the system prompt. The text stays the same for many turns, so
// that requests share a prefix.
func (g *generation) mark(messages []agent.Message) []agent.Message {
	if g.in.From == 0 {
		return messages
	}
	n := slices.IndexFunc(messages, func(m agent.Message) bool { return m.Role != agent.System })
	return slices.Insert(messages, max(n, 0), agent.Message{Role: agent.User, Content: prompt.Skipped(g.in.Skipped)})
}

// recalledBy returns the agent that can find this conversation with conversation_search. An empty string means none.
func (g *generation) recalledBy() string {
	if !slices.Contains(g.Row.Tools, agent.ToolConversationSearch) {
		return ""
	}
	return g.Agent.Definition
}

// toolTokens estimates how many tokens the tools add to a request.
func toolTokens(model string, tools []llm.Tool) (n int) {
	for _, t := range tools {
		n += token.Count(model, t.Name) + token.Count(model, t.Description) + token.Count(model, string(t.Schema))
	}
	return n
}

// corrected divides the window by the ratio of the provider's token count to ours, rounded up to the next eighth. The ratio
// varies a little from call to call, so it is only lowered when it drops by a quarter. A steady window lets
// requests omit the same parts, and share a prefix (prompt caching).
func corrected(window, tools int, stored []transcript.Entry) int {
	const eighth = 1.0 / 8
	more := 1.0
	for _, e := range stored {
		if e.Kind != transcript.KindReply || e.Usage == nil || e.Compression == nil || e.Compression.CompressedTokens == 0 {
			continue
		}
		ratio := float64(e.Usage.InputTokens) / float64(e.Compression.CompressedTokens+tools)
		if ratio > more || ratio <= more-2*eighth {
			more = max(math.Ceil(ratio/eighth)*eighth, 1)
		}
	}
	return max(int(float64(window)/more), window/4)
}
