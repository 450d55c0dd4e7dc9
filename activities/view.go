package activities

import (
	"errors"
	"fmt"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/compress"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/token"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// view is the conversation as the model is sent it: all of it if it fits, else
// compressed. The transcript itself never changes.
func (g *generation) view(stored []transcript.Entry) ([]agent.Message, *transcript.Compression, error) {
	entries := stored
	for _, row := range g.rows {
		entries = append(entries, transcript.Entry{Key: row.Key, Kind: row.Kind, Body: row.Body})
	}
	model, settings := g.provider().Model, g.agent.Compression
	options := compress.Options{
		Enabled: settings.Enabled, MaxTokens: settings.MaxContextTokens, Threshold: settings.Threshold,
		KeepRecent: settings.KeepRecentMessages, Strategy: settings.Strategy, ShortenResultsFirst: true,
		Count: func(m []agent.Message) int { return token.Messages(model, m) },
	}
	if options.MaxTokens == 0 {
		options.MaxTokens = token.Window(model)
	}
	options.MaxTokens = corrected(options.MaxTokens, stored)
	result, err := compress.View(transcript.Messages(entries), options)
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
