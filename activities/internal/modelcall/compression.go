package modelcall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/compress"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/token"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// view returns the conversation in the form sent to the model: in full if it fits, otherwise compressed. The transcript
// itself never changes.
func (g *generation) view(stored []transcript.Entry, tools []llm.Tool) ([]agent.Message, error) {
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
	g.room = options.MaxTokens
	least := 1.0
	if window := g.window(); window.Tokens > 0 && window.Room(g.Agent.MaxTokens) < options.MaxTokens {
		g.narrowed = true
		options.Enabled, options.MaxTokens = true, window.Tokens-window.Reply(g.Agent.MaxTokens)
		options.Threshold = cmp.Or(options.Threshold, defaultThreshold)
		least = window.Ratio
	}
	options.ToolTokens = min(toolTokens(model, tools), options.MaxTokens/2)
	options.MaxTokens = corrected(options.MaxTokens, options.ToolTokens, stored, least)
	messages := g.mark(transcript.Messages(entries))
	if !g.provider().Vision {
		for i := range messages {
			messages[i].Images = nil
		}
	}
	result, err := compress.View(messages, options)
	if errors.Is(err, compress.ErrContextTooLong) {
		return nil, fmt.Errorf("%s: %w: %v", model, llm.ErrContextTooLong, err)
	}
	if err != nil {
		return nil, err
	}
	g.compression = &transcript.Compression{
		OriginalTokens: result.Original, CompressedTokens: result.Compressed, Ratio: result.Ratio, Strategy: result.Strategy,
	}
	return result.Messages, nil
}

// size returns the size of the view and the tools, in tokens.
func (g *generation) size(tools []llm.Tool) int {
	return g.compression.CompressedTokens + toolTokens(g.provider().Model, tools)
}

// maxNarrowings is how often a call is made again with a shorter view.
const maxNarrowings = 8

// askFitting asks for the reply to a request. If the server refuses the request as too long, askFitting learns the window and makes
// the request again with a shorter view of the conversation. If no view fits, it returns the refusal.
func (g *generation) askFitting(ctx context.Context, leave *permit, client llm.Client, request *llm.Request, stored []transcript.Entry) (
	llm.Response, error) {
	tools := slices.Concat(request.Tools, request.Withheld)
	reply, err := g.ask(ctx, leave, client, request)
	for range maxNarrowings {
		before, most := g.size(tools), request.MaxTokens
		window, ok := g.window().Narrower(job.LLMError(err), before, g.room, g.Agent.MaxTokens)
		if !ok {
			break
		}
		g.learned = window
		view, failed := g.view(stored, tools)
		if failed == nil {
			failed = g.addImages(ctx, view)
		}
		if failed != nil {
			break
		}
		request.Messages, request.MaxTokens = wireNames(view), window.Reply(g.Agent.MaxTokens)
		if g.size(tools) >= before && request.MaxTokens == most { // it would be the same request, so an even smaller window is tried
			continue
		}
		g.needs.InputTokens = g.size(tools)
		if reply, err = g.ask(ctx, leave, client, request); err == nil {
			g.Windows.Learn(g.provider(), window)
		}
	}
	return reply, err
}

// defaultThreshold is the fraction of a learned window from which a conversation is compressed, if the plan has none.
const defaultThreshold = 0.8

// window returns the window that refusals have shown, during this call or before.
func (g *generation) window() job.Window {
	if g.learned.Tokens > 0 {
		return g.learned
	}
	return g.Windows.Of(g.provider())
}

// windowNotice says that the conversation is shortened to fit a window that is not configured. It is empty otherwise.
func (g *generation) windowNotice() string {
	if !g.narrowed {
		return ""
	}
	return fmt.Sprintf("Requests to %s are adapted: the conversation is shortened to fit the model's context window because %s.",
		g.provider().Model, g.window())
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
// requests omit the same parts, and share a prefix (prompt caching). least is the ratio that a refusal has shown.
func corrected(window, tools int, stored []transcript.Entry, least float64) int {
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
	return max(int(float64(window)/max(more, least)), window/4)
}
