// Package llm is how the rest of Inquest sees a language model: one request,
// one streamed reply, and errors by kind. The adapters below it speak to the
// providers; none of them retries, because Temporal does.
package llm

import (
	"context"
	"encoding/json"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Client sends one request to a model and streams the reply.
type Client interface {
	// Generate returns the whole reply, or an *Error. It calls onDelta, from one
	// goroutine, for every chunk as it arrives. It returns soon after ctx ends.
	Generate(ctx context.Context, req Request, onDelta func(Delta)) (Response, error)
}

// InProcess is implemented by clients whose model is code of this process: it can end it.
type InProcess interface{ InProcess() }

// Request is one model call.
type Request struct {
	Model    string
	Messages []agent.Message
	Tools    []Tool
	// Withheld are tools that earlier requests of the conversation offered and that must not be
	// called any more. They are declared as before, because some servers refuse calls in a request without tools,
	// and because what a cache has begins with them. There are no Tools then.
	Withheld []Tool
	// NativeTools are the provider's own, which it runs itself.
	NativeTools []NativeTool
	// Thinking is how much the model thinks; its zero value is the provider's default.
	Thinking agent.Thinking
	// Unthinking means that the server refuses all parameters about thinking, so that none is sent.
	Unthinking bool
	// JSON asks for a reply that is a JSON object, where the provider can promise one.
	JSON bool
	// Schema is the JSON schema of that object, for providers that can keep to one; nil = none.
	Schema json.RawMessage
	// Conversation names what later requests go on with, for the provider's cache; "" = nothing goes
	// on with this one. To write into a cache what nobody reads there costs more than not to.
	Conversation string
	Temperature  *float32
	MaxTokens    int // of the reply; 0 = the provider's default
}

// NativeTool names a tool that a provider runs itself. Only Gemini has these.
type NativeTool string

// The native tools.
const (
	GoogleSearch  NativeTool = "google_search"
	URLContext    NativeTool = "url_context"
	CodeExecution NativeTool = "code_execution"
)

// Tool is a tool as a model is told of it. Its name holds letters, digits,
// underscores and dashes only: see tool.WireName.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON schema of the arguments, an object
}

// Delta is one chunk of a streamed reply.
type Delta struct {
	Content  string
	Thinking string
}

// Finish says why a model stopped.
type Finish string

// The reasons that callers look at; others are passed on as the provider wrote them.
const (
	FinishStop      Finish = "stop"
	FinishToolCalls Finish = "tool_calls"
	FinishLength    Finish = "length"
	FinishFiltered  Finish = "content_filter"
	// FinishPaused: the provider has stopped half-way, and wants to be asked to go on, which nobody does.
	FinishPaused Finish = "paused"
	// FinishRepeating: we cut a stream that repeated itself.
	FinishRepeating Finish = "repeating"
)

// Response is a whole reply.
type Response struct {
	Content       string
	Thinking      string
	ToolCalls     []agent.ToolCall
	Finish        Finish
	Model         string // the model that really answered, as the provider names it
	Usage         agent.Usage
	ProviderState json.RawMessage
	// Sources are what a provider's own tools have read for the reply: pages that a search has found, each once.
	Sources []Source `json:",omitempty"`
	// SignedThinking means that the provider has signed or encrypted the thoughts. No call is read from these.
	SignedThinking bool `json:"-"`
	// Quoted are the names of tools whose calls, written as text, stay text because the request has them, too.
	Quoted []string `json:",omitempty"`
	// Omitted is what the request left out because the provider had refused it, beyond what the dialect of the
	// options leaves out.
	Omitted []Omission `json:",omitempty"`
}

// Omission is a part of a request that the server of a model does not take.
type Omission struct {
	// Tool is the tool that is not declared. An empty string means another part of the request, which Why names.
	Tool string
	Why  string
}

// Source is a page that a provider has read itself.
type Source struct{ Title, URL string }
