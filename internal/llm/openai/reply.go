package openai

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/inquest-dev/inquest/internal/llm"
)

// doneMark is the data of the event that ends a stream.
const doneMark = "[DONE]"

// reply puts a model's reply together.
type reply struct {
	asked   string // the model's name in the request
	onDelta func(llm.Delta)

	chunks    int
	content   llm.Text
	thinking  llm.Text
	repeating bool
	reasoning strings.Builder // of what it thinks, what has to come back
	details   joiner
	calls     calls
	finish    sdk.FinishReason
	model     string
	usage     usage
}

// Plain takes an answer in plain JSON: an error, or the reply of a server that
// does not stream.
func (r *reply) Plain(body []byte) error {
	if !json.Valid(body) {
		// Without the answer, for the same reason as in event.
		return &llm.Error{Kind: llm.ErrMalformed, Message: fmt.Sprintf("the answer is neither a stream of events nor JSON (%d bytes)", len(body))}
	}
	if _, err := r.Event(body); err != nil {
		return err
	}
	return r.Ended(io.EOF)
}

// Ended judges the end of a stream. Only a finish reason makes a reply whole;
// what is lost after it is at most the usage.
func (r *reply) Ended(err error) error {
	if r.finish != "" {
		return nil
	}
	return llm.CutOff(err, r.chunks > 0, "the stream ended without a finish reason")
}

// Event takes in one chunk.
func (r *reply) Event(data []byte) (done bool, err error) {
	if string(data) == doneMark {
		return true, r.Ended(io.EOF)
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		// Without the chunk: it may be what a model wrote, which is not for errors.
		return false, &llm.Error{Kind: llm.ErrMalformed, Message: err.Error()}
	}
	if c.Error != nil || c.Object == "error" {
		return false, parseFailure(data).error(0)
	}
	r.chunks++
	if c.Model != "" {
		r.model = c.Model
	}
	var d delta
	if len(c.Choices) > 0 {
		d = r.choice(c.Choices[0])
	}
	if c.Usage != nil && *c.Usage != (usage{}) {
		r.usage = *c.Usage
	}
	if r.onDelta != nil {
		r.onDelta(llm.Delta{Content: d.said(), Thinking: d.thinking()})
	}
	return r.repeating, nil
}

// choice takes in what a chunk says and returns it.
func (r *reply) choice(c choice) delta {
	d := c.Delta
	if c.Message != nil {
		d = *c.Message
	}
	stuck := r.content.Add(d.said())
	r.repeating = r.thinking.Add(d.thinking()) || stuck
	r.reasoning.WriteString(d.ReasoningContent)
	r.details.add(d.Details)
	for _, part := range d.ToolCalls {
		r.calls.add(part)
	}
	if c.Usage != nil {
		r.usage = *c.Usage
	}
	if c.Finish != "" { // some servers send an empty one after it
		r.finish = c.Finish
	}
	return d
}

// response returns the reply, or an error if its content was withheld.
func (r *reply) response() (llm.Response, error) {
	resp := llm.Response{
		Content:   r.content.String(),
		Thinking:  r.thinking.String(),
		ToolCalls: r.calls.list(),
		Finish:    llm.Finish(r.finish),
		Model:     r.model,
		Usage:     r.usage.usage(),
	}
	switch {
	case interrupted(r.finish):
		return resp, &llm.Error{Kind: llm.ErrTruncated, Message: "the provider broke off: " + string(r.finish)}
	case r.repeating: // it asks for nothing: its last call may be cut, too
		resp.Finish, resp.ToolCalls = llm.FinishRepeating, nil
	case resp.Finish == llm.FinishStop && len(resp.ToolCalls) > 0:
		resp.Finish = llm.FinishToolCalls // Ollama and others say "stop"
	case resp.Finish == "model_length": // Mistral's, for the end of the context
		resp.Finish = llm.FinishLength
	case resp.Finish == llm.FinishFiltered && strings.TrimSpace(resp.Content) == "" && len(resp.ToolCalls) == 0:
		return resp, &llm.Error{Kind: llm.ErrContentFiltered}
	}
	if !r.repeating {
		resp.ProviderState = r.chatState()
	}
	return resp, nil
}

// interrupted knows the finish reasons of a provider that has failed: DeepSeek's,
// and Mistral's and OpenRouter's.
func interrupted(finish sdk.FinishReason) bool {
	return finish == "insufficient_system_resource" || finish == "error"
}
