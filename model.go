package inquest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/safely"
)

// Model is a client of a model that is reached in a way of one's own. It makes one
// call: it tells each part of the reply as it arrives, from one goroutine, and returns
// the whole. It does not try again, because Inquest does, and returns soon after ctx
// ends. Several calls run at once.
//
// What an error means its kind says (ErrRateLimited …), which it wraps; with a
// *ModelError it says more. An error of no kind counts as ErrMalformed, as a panic does:
// it is tried again a few times, and the tries count as paid for. Of a reply beside an
// error, the usage counts.
type Model func(ctx context.Context, req ModelRequest, tell func(ModelDelta)) (ModelReply, error)

// ModelRequest is one call of a model.
type ModelRequest struct {
	Model    string
	Messages []ModelMessage
	Tools    []ModelTool
	// Withheld are tools that earlier requests offered and that must not be called any more. A provider
	// that can be told so may get them as before, for the sake of its cache; there are no Tools then.
	Withheld []ModelTool
	// Thinking is how much the model thinks, as the configuration says it. JSON asks for a reply
	// that is a JSON object, and Schema is the JSON schema of that; nil = none.
	Thinking ModelThinking
	JSON     bool
	Schema   json.RawMessage
	// Conversation names what later requests go on with, for the provider's cache; "" = nothing goes on with this one.
	Conversation string
	Temperature  *float32
	MaxTokens    int // of the reply; 0 = the model's default
}

// ModelThinking is how much a model thinks; the zero value leaves that to it.
type ModelThinking struct {
	Mode   string // "off", "on" or "adaptive"
	Budget int    // in tokens; 0 = no budget
	Effort string // "low", "high" …
}

// ModelMessage is a message of a conversation.
type ModelMessage struct {
	Role              string // "system", "user", "assistant" or "tool"
	Content, Thinking string
	// ToolCalls are those that an assistant asks for. ToolCallID says which one a tool's message answers.
	ToolCalls  []ModelToolCall
	ToolCallID string
	// Ref names what a shortened result can be read again by.
	Ref string
	// Images are those of a tool's result, if the provider's entry says vision: true.
	Images []ModelImage
	// ProviderState is the ModelReply's of this message.
	ProviderState json.RawMessage
}

// ModelImage is a picture, small enough for a model.
type ModelImage struct {
	Ref           string // its hash
	Type          string // "image/png" or "image/jpeg"
	Width, Height int
	Data          []byte
}

// ModelToolCall is a model's wish to have a tool called. In replies, ID may be empty.
type ModelToolCall struct {
	ID, Name  string
	Arguments string // JSON
}

// ModelTool is a tool as a model is told of it.
type ModelTool struct {
	Name, Description string
	Schema            json.RawMessage // JSON schema of the arguments, an object
}

// ModelDelta is a part of a reply.
type ModelDelta struct{ Content, Thinking string }

// ModelReply is a whole reply.
type ModelReply struct {
	Content, Thinking string
	ToolCalls         []ModelToolCall
	// Finish is "stop", "tool_calls", "length" or "content_filter"; "" = one of the first two.
	Finish string
	Model  string // the one that really answered; "" = that of the request
	Usage  ModelUsage
	// ProviderState comes back with the next requests, as it is.
	ProviderState json.RawMessage
	// Sources are pages that the model's own search has read for the reply: they are named below it.
	Sources []ModelSource
}

// ModelSource is a page that a model has read itself.
type ModelSource = struct{ Title, URL string }

// ModelUsage is what a call took, in tokens; zero = Inquest estimates it. What was read from a
// cache, or written there, is part of the input, as images are; thoughts are part of the output.
type ModelUsage struct {
	InputTokens, OutputTokens         int
	CacheReadTokens, CacheWriteTokens int
	ReasoningTokens, ImageTokens      int
}

// The kinds of a model's errors.
var (
	ErrRateLimited     = llm.ErrRateLimited     // again, after ModelError.RetryAfter
	ErrUnavailable     = llm.ErrUnavailable     // again
	ErrStalled         = llm.ErrStalled         // again
	ErrTruncated       = llm.ErrTruncated       // again
	ErrMalformed       = llm.ErrMalformed       // again
	ErrNoKey           = llm.ErrNoKey           // another worker may have one
	ErrAuth            = llm.ErrAuth            // never again, as all below
	ErrInvalidRequest  = llm.ErrInvalidRequest  // and so is what it asks for
	ErrContextTooLong  = llm.ErrContextTooLong  // of the request
	ErrContentFiltered = llm.ErrContentFiltered // the reply is withheld
	ErrQuotaExhausted  = llm.ErrQuotaExhausted  // it has to be raised
	ErrNotAModel       = llm.ErrNotAModel       // what answers is no model's server
)

// ModelError is an error of a Model that says more than its kind.
type ModelError struct {
	Kind       error // one of the kinds
	Status     int   // of HTTP; 0 = none
	RetryAfter time.Duration
	Message    string // of the provider; it must not hold credentials
}

func (e *ModelError) Error() string { return fmt.Sprintf("%v: %s", e.Kind, e.Message) }

// Unwrap returns the kind.
func (e *ModelError) Unwrap() error { return e.Kind }

// modelClient is a Model as the rest of Inquest sees one.
type modelClient struct {
	name  string
	model Model
	log   *slog.Logger
}

// InProcess: see llm.InProcess.
func (modelClient) InProcess() {}

func (c modelClient) Generate(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	tell := func(d ModelDelta) {
		if onDelta != nil && ctx.Err() == nil {
			onDelta(llm.Delta(d))
		}
	}
	reply, err := safely.Run(ctx, func() (ModelReply, error) { return c.model(ctx, modelRequest(req), tell) }, func(kind, stack string) {
		c.log.Error("a model client has panicked", "provider", c.name, "type", kind, "stack", stack)
	})
	if err != nil {
		return llm.Response{}, c.failure(ctx, err, usageOf(reply.Usage))
	}
	finish := llm.FinishStop
	if len(reply.ToolCalls) > 0 {
		finish = llm.FinishToolCalls
	}
	out := llm.Response{
		Content: reply.Content, Thinking: reply.Thinking, Finish: cmp.Or(llm.Finish(reply.Finish), finish), Model: cmp.Or(reply.Model, req.Model),
		Usage: usageOf(reply.Usage), ProviderState: reply.ProviderState,
	}
	for _, call := range reply.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, agent.ToolCall(call))
	}
	for _, source := range reply.Sources {
		out.Sources = append(out.Sources, llm.Source(source))
	}
	return out, nil
}

func usageOf(u ModelUsage) agent.Usage {
	return agent.Usage{
		InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CacheReadTokens: u.CacheReadTokens, CacheWriteTokens: u.CacheWriteTokens,
		ReasoningTokens: u.ReasoningTokens, ImageTokens: u.ImageTokens,
	}
}

func (c modelClient) failure(ctx context.Context, err error, used agent.Usage) error {
	out := &llm.Error{Kind: llm.ErrMalformed, Provider: c.name, Message: err.Error(), Usage: used}
	if own, ok := errors.AsType[*ModelError](err); ok {
		out.Status, out.RetryAfter, out.Message = own.Status, own.RetryAfter, own.Message
	}
	kinds := []error{
		ErrRateLimited, ErrUnavailable, ErrStalled, ErrTruncated, ErrMalformed, ErrNoKey, ErrAuth, ErrInvalidRequest,
		ErrContextTooLong, ErrContentFiltered, ErrQuotaExhausted, ErrNotAModel,
	}
	for _, kind := range kinds {
		if errors.Is(err, kind) {
			out.Kind = kind
		}
	}
	if errors.Is(err, safely.ErrCrashed) {
		out.Kind = llm.ErrMalformed
	}
	if ctx.Err() != nil {
		out.Kind = ctx.Err()
	}
	return out
}

func modelRequest(req llm.Request) ModelRequest {
	out := ModelRequest{
		Model: req.Model, JSON: req.JSON, Schema: req.Schema, Conversation: req.Conversation,
		Temperature: req.Temperature, MaxTokens: req.MaxTokens,
		Thinking: ModelThinking{Mode: string(req.Thinking.Mode), Budget: req.Thinking.Budget, Effort: req.Thinking.Effort},
	}
	for _, m := range req.Messages {
		own := ModelMessage{
			Role: string(m.Role), Content: m.Content, Thinking: m.Thinking, ToolCallID: m.ToolCallID, Ref: m.Ref, ProviderState: m.ProviderState,
		}
		for _, call := range m.ToolCalls {
			own.ToolCalls = append(own.ToolCalls, ModelToolCall(call))
		}
		for _, image := range m.Images {
			own.Images = append(own.Images, ModelImage(image))
		}
		out.Messages = append(out.Messages, own)
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, ModelTool(t))
	}
	for _, t := range req.Withheld {
		out.Withheld = append(out.Withheld, ModelTool(t))
	}
	return out
}
