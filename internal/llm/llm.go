// Package llm defines the interface to language models: one request, one streamed reply, and errors by kind. The
// adapters below it call the providers. None of them retries, because Temporal does.
package llm

import (
	"context"
	"encoding/json"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Client sends one request to a model and streams the reply.
type Client interface {
	// Generate returns the complete reply or an *Error. It calls onDelta, from one goroutine, for every chunk as it
	// arrives. It returns soon after ctx ends.
	Generate(ctx context.Context, req Request, onDelta func(Delta)) (Response, error)
}

// InProcess is implemented by clients whose model is code of this process, which can crash it.
type InProcess interface{ InProcess() }

// Request is one model call.
type Request struct {
	Model    string
	Messages []agent.Message
	Tools    []Tool
	// Withheld holds tools that earlier requests of the conversation offered and that must not be called any more. They
	// are declared as before, because some servers refuse calls in a request without tools, and because cached prompts
	// begin with them. Tools is empty then.
	Withheld []Tool
	// NativeTools are the provider's own tools, which it runs itself.
	NativeTools []NativeTool
	// Thinking is how much the model thinks. The zero value means the provider's default.
	Thinking agent.Thinking
	// Unthinking means that the server refuses all parameters about thinking, so none is sent.
	Unthinking bool
	// Thoughts means that the server refuses replies without thinking, so those without any get an empty one.
	Thoughts bool
	// Omit names optional fields of the wire format that the server does not know. If max_tokens or max_completion_tokens is one of
	// them, the other field replaces it.
	Omit []string
	// JSON asks for a reply that is a JSON object, if the provider can ensure that.
	JSON bool
	// Schema is the JSON schema of that object, for providers that can follow one. Nil means none.
	Schema json.RawMessage
	// Conversation identifies a conversation that later requests continue, for the provider's cache. Empty means that
	// no request follows this one. Writing unused cache entries costs more than not caching.
	Conversation string
	Temperature  *float32
	MaxTokens    int // of the reply; zero means the provider's default
}

// NativeTool names a tool that a provider runs itself. Only Gemini has these.
type NativeTool string

// The native tools.
const (
	GoogleSearch  NativeTool = "google_search"
	URLContext    NativeTool = "url_context"
	CodeExecution NativeTool = "code_execution"
)

// Tool is a tool as described to a model. Its name contains only letters, digits, underscores and dashes: see
// tool.WireName.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON schema of the arguments, an object
	// Found orders the tools that the model has found by searching: the latest has the highest number. Zero means that the model did
	// not search for the tool. If the server accepts fewer tools, those with the lowest numbers above zero are left out first.
	Found int
}

// Delta is one chunk of a streamed reply.
type Delta struct {
	Content  string
	Thinking string
}

// Finish says why a model stopped.
type Finish string

// The reasons that callers check. Others are passed on as the provider wrote them.
const (
	FinishStop      Finish = "stop"
	FinishToolCalls Finish = "tool_calls"
	FinishLength    Finish = "length"
	FinishFiltered  Finish = "content_filter"
	// FinishPaused means that the provider stopped half-way and expects another request to continue, which is not sent.
	FinishPaused Finish = "paused"
	// FinishRepeating means that the client cut a stream that repeated itself.
	FinishRepeating Finish = "repeating"
)

// Response is a complete reply.
type Response struct {
	Content       string
	Thinking      string
	ToolCalls     []agent.ToolCall
	Finish        Finish
	Model         string // the model that answered, as the provider names it
	Usage         agent.Usage
	ProviderState json.RawMessage
	// Sources are pages that the provider's own tools have read for the reply, each once.
	Sources []Source `json:",omitempty"`
	// SignedThinking means that the provider has signed or encrypted the thinking. No calls are parsed from it.
	SignedThinking bool `json:"-"`
	// Quoted names the tools whose calls, written as text, stay text because the request contains them too.
	Quoted []string `json:",omitempty"`
	// Omitted holds what the request omitted because the provider had refused it, beyond the omissions of the options'
	// dialect.
	Omitted []Omission `json:",omitempty"`
}

// Omission is a part of a request that the model's server does not accept.
type Omission struct {
	// Tool is the tool that is not declared. Empty means another part of the request, which Why names.
	Tool string
	Why  string
	// Limit means that the tool is left out because the server accepts fewer tools.
	Limit bool `json:",omitempty"`
}

// Source is a page that a provider has read itself.
type Source struct{ Title, URL string }
