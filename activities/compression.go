package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/compress"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/memory"
	"github.com/inquest-dev/inquest/internal/token"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// view is the conversation as the model is sent it: all of it if it fits, else
// compressed. The transcript itself never changes.
func (g *generation) view(stored []transcript.Entry, blocks string) ([]agent.Message, *transcript.Compression, error) {
	entries := stored
	for _, row := range g.rows {
		entries = append(entries, transcript.Entry{Key: row.Key, Kind: row.Kind, Body: row.Body})
	}
	model, settings := g.provider().Model, g.agent.Compression
	options := compress.Options{
		Enabled: settings.Enabled, MaxTokens: settings.MaxContextTokens, Threshold: settings.Threshold,
		KeepRecent: settings.KeepRecentMessages, Strategy: settings.Strategy, ShortenResultsFirst: !g.plan.Conversation,
		Count: func(m []agent.Message) int { return token.Messages(model, m) },
	}
	if window := token.Window(model); options.MaxTokens == 0 || g.in.Provider > 0 { // what is set is for the first model
		options.MaxTokens = min(cmp.Or(options.MaxTokens, window), window)
	}
	options.MaxTokens = corrected(options.MaxTokens, stored)
	messages := transcript.Messages(entries)
	if len(messages) > 0 && messages[0].Role == agent.System {
		messages[0].Content += blocks
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

// memoryBlocks are an agent's core memory as it is now, for the end of its system prompt.
func (g *generation) memoryBlocks(ctx context.Context) (string, error) {
	if !g.row.Remembers() {
		return "", nil
	}
	blocks, err := g.Memories.Blocks(ctx, g.agent.Definition, g.agent.MemoryBlocks)
	if err != nil {
		return "", fmt.Errorf("read the memory of %s: %w", g.agent.Definition, err)
	}
	return "\n" + memory.Render(blocks), nil
}

// recalledBy is the agent that may find by conversation_search what is said here.
func (g *generation) recalledBy() string {
	if !slices.Contains(g.row.Tools, agent.ToolConversationSearch) {
		return ""
	}
	return g.agent.Definition
}

// corrected shrinks the window by as much as the provider counted more tokens
// than we did for the last call; schemas of tools are in its count and not in ours.
func corrected(window int, stored []transcript.Entry) int {
	for i := len(stored) - 1; i >= 0; i-- {
		e := stored[i]
		if e.Kind != transcript.KindReply || e.Usage == nil || e.Compression == nil {
			continue
		}
		if real, ours := e.Usage.InputTokens, e.Compression.CompressedTokens; ours > 0 && real > ours {
			return max(int(float64(window)*float64(ours)/float64(real)), window/4)
		}
		return window
	}
	return window
}
