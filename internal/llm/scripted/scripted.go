// Package scripted is a client without a model: a function answers, and the answer is streamed at a realistic pace. It
// uses no network, so that first experiments work anywhere, and its replies are handled like all others.
package scripted

import (
	"context"
	"time"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// Reply answers a request. It must depend only on the request, and is called from several goroutines at once.
type Reply func(llm.Request) llm.Response

// Options configure a client. The zero value streams without waiting.
type Options struct {
	// Pace is the time between two chunks.
	Pace time.Duration
}

// Client is an llm.Client that answers by script.
type Client struct {
	model string
	reply Reply
	pace  time.Duration
}

var _ llm.Client = (*Client)(nil)

// New returns a client whose replies name the model "scripted/<name>".
func New(name string, reply Reply, opts Options) *Client {
	return &Client{model: "scripted/" + name, reply: reply, pace: opts.Pace}
}

// Generate streams the scripted reply: its thinking, then its text. If ctx ends
// first, it returns at once with an *llm.Error whose kind is ctx's error.
func (c *Client) Generate(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	res := c.reply(req)
	for _, chunk := range chunks(res.Thinking) {
		if err := c.send(ctx, llm.Delta{Thinking: chunk}, onDelta); err != nil {
			return llm.Response{}, err
		}
	}
	for _, chunk := range chunks(res.Content) {
		if err := c.send(ctx, llm.Delta{Content: chunk}, onDelta); err != nil {
			return llm.Response{}, err
		}
	}
	if err := c.wait(ctx); err != nil {
		return llm.Response{}, err
	}
	res.Model = c.model
	said := agent.Message{Content: res.Content, Thinking: res.Thinking, ToolCalls: res.ToolCalls}
	res.Usage = agent.Usage{InputTokens: requestTokens(req), OutputTokens: messageTokens(said), ModelCalls: 1}
	return res, nil
}

func (c *Client) send(ctx context.Context, delta llm.Delta, onDelta func(llm.Delta)) error {
	if err := c.wait(ctx); err != nil {
		return err
	}
	if onDelta != nil {
		onDelta(delta)
	}
	return nil
}

// wait waits until the next chunk.
func (c *Client) wait(ctx context.Context) error {
	if c.pace > 0 {
		timer := time.NewTimer(c.pace)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		return &llm.Error{Kind: err, Provider: c.model}
	}
	return nil
}

// chunkRunes is the typical size of a provider's chunk: a few words.
const chunkRunes = 24

// chunks splits text into pieces.
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

// tokens estimates four characters per token, rounded up, which is sufficient for a model that costs nothing.
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
