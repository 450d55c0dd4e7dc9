package geminilegacy

import (
	"errors"
	"fmt"

	"github.com/google/generative-ai-go/genai"
	"google.golang.org/api/iterator"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// reply assembles a model's reply.
type reply struct {
	call    *call
	idle    *llm.Idle
	onDelta func(llm.Delta)

	chunks    int
	content   llm.Text
	repeating bool
	calls     []agent.ToolCall
}

type stream = *genai.GenerateContentResponseIterator

// read processes chunks until the reply is complete. It returns an *llm.Error, unless the SDK did not send the request
// at all.
func (r *reply) read(send func() stream) error {
	var chunks stream
	for !r.repeating {
		r.idle.Wait()
		chunk, err := pull(func() (*genai.GenerateContentResponse, error) {
			if chunks == nil {
				chunks = send()
			}
			return chunks.Next()
		})
		r.idle.Arrived()
		if err != nil {
			return r.ended(err)
		}
		r.chunks++
		r.chunk(chunk)
	}
	return nil
}

// pull returns the next chunk. It recovers from the SDK's panics on unknown parts.
func pull(next func() (*genai.GenerateContentResponse, error)) (chunk *genai.GenerateContentResponse, err error) {
	defer func() {
		if recover() != nil {
			chunk, err = nil, malformed("the SDK cannot decode a chunk of the response")
		}
	}()
	return next()
}

// ended judges the end of a stream. Only a finish reason makes a reply complete: an error after the chunk with the
// reason is about something else, and loses at most the usage.
func (r *reply) ended(err error) error {
	finish, _ := llm.GoogleFinish(r.call.finish)
	var known *llm.Error
	switch {
	case finish != "" && r.chunks >= r.call.last:
		return nil
	case errors.Is(err, iterator.Done):
		return &llm.Error{Kind: llm.ErrTruncated, Message: "the stream ended without a finish reason"}
	case errors.As(err, &known):
		return known
	case r.call.opened: // without its text, which may be the model's
		return malformed("the SDK cannot decode the response")
	}
	return err
}

// chunk processes one chunk.
func (r *reply) chunk(c *genai.GenerateContentResponse) {
	var said string
	if len(c.Candidates) > 0 && c.Candidates[0].Content != nil {
		for _, part := range c.Candidates[0].Content.Parts {
			switch p := part.(type) {
			case genai.Text:
				said += string(p)
			case genai.FunctionCall:
				n := len(r.calls)
				args := llm.GoogleArguments(p.Args)
				if n < len(r.call.arguments) {
					args = r.call.arguments[n]
				}
				r.calls = append(r.calls, agent.ToolCall{ID: fmt.Sprintf("call_%d", n), Name: p.Name, Arguments: args})
			}
		}
	}
	r.repeating = r.content.Add(said)
	if r.onDelta != nil {
		r.onDelta(llm.Delta{Content: said})
	}
}

// response returns the reply, or an error if there is none.
func (r *reply) response() (llm.Response, error) {
	return llm.GoogleReply(llm.Response{
		Content:   r.content.String(),
		ToolCalls: r.calls,
		Model:     r.call.model,
		Usage:     r.call.usage,
	}, r.repeating, r.call.finish, r.call.message)
}
