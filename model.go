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
	"github.com/inquest-dev/inquest/internal/kit/safely"
	"github.com/inquest-dev/inquest/internal/llm"
)

// Model is a custom client for a model. It makes one call: it passes each part of the reply to emit as it arrives, from
// one goroutine, and returns the complete reply. It must not retry, because Inquest does, and must return soon after
// ctx ends. Several calls may run at once.
//
// An error should wrap one of the kinds (ErrRateLimited …), which decides what happens next. A *ModelError gives more
// details. An error without a kind, or a panic, counts as ErrMalformed: it is retried a few times, and the attempts
// count as paid. If a reply comes with an error, only its usage is used.
type Model func(ctx context.Context, req ModelRequest, emit func(ModelDelta)) (ModelReply, error)

// ModelRequest is one call of a model.
type ModelRequest struct {
	Model    string
	Messages []ModelMessage
	Tools    []ModelTool
	// Withheld holds tools that earlier requests offered but that must no longer be called. Tools is then empty. A
	// provider that can forbid calls may still receive the definitions, to keep its prompt cache valid.
	Withheld []ModelTool
	// Thinking is how much the model thinks, as configured. JSON asks for a reply that is a JSON object, and Schema is
	// its JSON schema; nil means no schema.
	Thinking ModelThinking
	JSON     bool
	Schema   json.RawMessage
	// Conversation identifies a conversation that later requests continue, for the provider's cache. An empty string
	// means that no request follows this one.
	Conversation string
	Temperature  *float32
	MaxTokens    int // of the reply; zero means the model's default
}

// ModelThinking is how much a model thinks. The zero value leaves that to the model.
type ModelThinking struct {
	Mode   string // "off", "on" or "adaptive"
	Budget int    // in tokens; zero means no budget
	Effort string // "low", "high" …
}

// ModelMessage is a message of a conversation.
type ModelMessage struct {
	Role              string // "system", "user", "assistant" or "tool"
	Content, Thinking string
	// ToolCalls are the calls that an assistant requests. ToolCallID is the call that a tool message answers.
	ToolCalls  []ModelToolCall
	ToolCallID string
	// Ref is the name under which the model can read a shortened result again.
	Ref string
	// Images are those of a tool's result, if the provider's entry sets vision: true.
	Images []ModelImage
	// ProviderState is the value from the ModelReply that became this message.
	ProviderState json.RawMessage
}

// ModelImage is a picture, small enough for a model.
type ModelImage struct {
	Ref           string // its hash
	Type          string // "image/png" or "image/jpeg"
	Width, Height int
	Data          []byte
}

// ModelToolCall is a model's request to call a tool. In replies, ID may be empty.
type ModelToolCall struct {
	ID, Name  string
	Arguments string // JSON
}

// ModelTool is the description of a tool for a model.
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
	// Finish is "stop", "tool_calls", "length" or "content_filter". Empty means "tool_calls" if there are any, or else
	// "stop".
	Finish string
	Model  string // the model that answered; empty means the requested one
	Usage  ModelUsage
	// ProviderState is returned unchanged with the following requests.
	ProviderState json.RawMessage
	// Sources are pages that the model's own search read for the reply. They are listed below it.
	Sources []ModelSource
}

// ModelSource is a page that a model read itself.
type ModelSource = struct{ Title, URL string }

// ModelUsage is the usage of a call, in tokens. The zero value means that Inquest estimates it. Cache reads, cache writes
// and images are parts of the input; reasoning is part of the output.
type ModelUsage struct {
	InputTokens, OutputTokens         int
	CacheReadTokens, CacheWriteTokens int
	ReasoningTokens, ImageTokens      int
}

// The kinds of a model's errors.
var (
	ErrRateLimited     = llm.ErrRateLimited     // retried after ModelError.RetryAfter
	ErrUnavailable     = llm.ErrUnavailable     // retried
	ErrStalled         = llm.ErrStalled         // retried
	ErrTruncated       = llm.ErrTruncated       // retried
	ErrMalformed       = llm.ErrMalformed       // retried
	ErrNoKey           = llm.ErrNoKey           // another worker may have one
	ErrAuth            = llm.ErrAuth            // not retried, and neither are the kinds below
	ErrInvalidRequest  = llm.ErrInvalidRequest  // the provider rejected the request itself
	ErrContextTooLong  = llm.ErrContextTooLong  // the request exceeds the model's context
	ErrContentFiltered = llm.ErrContentFiltered // the reply is withheld
	ErrQuotaExhausted  = llm.ErrQuotaExhausted  // the quota has to be raised
	ErrNotAModel       = llm.ErrNotAModel       // the server that answered is not a model's
)

// ModelError is an error of a Model with more details than its kind.
type ModelError struct {
	Kind       error // one of the kinds
	Status     int   // HTTP status; zero means none
	RetryAfter time.Duration
	Message    string // from the provider; it must not contain credentials
}

func (e *ModelError) Error() string { return fmt.Sprintf("%v: %s", e.Kind, e.Message) }

// Unwrap returns the kind.
func (e *ModelError) Unwrap() error { return e.Kind }

// modelClient adapts a Model to llm.Client.
type modelClient struct {
	name  string
	model Model
	log   *slog.Logger
}

// InProcess marks the client as an llm.InProcess.
func (modelClient) InProcess() {}

func (c modelClient) Generate(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	emit := func(d ModelDelta) {
		if onDelta != nil && ctx.Err() == nil {
			onDelta(llm.Delta(d))
		}
	}
	reply, err := safely.Run(ctx, func() (ModelReply, error) { return c.model(ctx, modelRequest(req), emit) }, func(kind, stack string) {
		c.log.Error("a model client panicked", "provider", c.name, "type", kind, "stack", stack)
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
		out.Tools = append(out.Tools, ModelTool{Name: t.Name, Description: t.Description, Schema: t.Schema})
	}
	for _, t := range req.Withheld {
		out.Withheld = append(out.Withheld, ModelTool{Name: t.Name, Description: t.Description, Schema: t.Schema})
	}
	return out
}
