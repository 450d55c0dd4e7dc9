package plan

import (
	"cmp"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Agent is one agent of a stage, ready to run.
type Agent struct {
	// Name is unique within the stage, and the last part of the execution's id.
	Name string `json:"name"`
	// Definition is the name of the agent's definition in the configuration.
	Definition string `json:"definition"`
	// Version is that of a definition that was made at run time; 0 = it is the configuration's.
	Version    int    `json:"version,omitempty"`
	Type       string `json:"type"`
	LLMBackend string `json:"llm_backend"`
	// Description is what the agent is for, as its model is told.
	Description  string `json:"description,omitempty"`
	Instructions string `json:"instructions,omitempty"`
	// Prompt is a template that stands in place of the type's own; "" = the type's.
	Prompt string `json:"prompt,omitempty"`
	// PromptFunc names the function of the workers' program that writes it; "" = none does.
	PromptFunc string `json:"prompt_func,omitempty"`
	// Mock names the function of the workers' program that works in the agent's
	// place; "" = the agent works itself.
	Mock string `json:"mock,omitempty"`
	// Providers are tried in order: the agent's own, then its fallbacks.
	Providers []Provider `json:"providers"`
	// SkippedFallbacks says of other fallbacks why they are not among them.
	SkippedFallbacks []string `json:"skipped_fallbacks,omitempty"`
	MaxIterations    int      `json:"max_iterations"`
	OnLimit          OnLimit  `json:"on_limit,omitempty"`
	// Servers are the MCP servers whose tools the agent is offered.
	Servers []Server `json:"servers,omitempty"`
	// ToolIDs are the tools of the workers' own program that the agent is offered.
	ToolIDs []string   `json:"tool_ids,omitempty"`
	Shell   *Shell     `json:"shell,omitempty"`
	Tools   ToolConfig `json:"tools,omitzero"`
	// Contract is what the agent's final text has to be.
	Contract Contract `json:"contract,omitzero"`
	// Attached: the agent is shown the beginning of the request's data and reads the
	// rest in pages.
	Attached bool `json:"attached,omitempty"`
	// MemoryBlocks are those that the agent's memory begins with.
	MemoryBlocks []agent.MemoryBlock `json:"memory_blocks,omitempty"`
	Temperature  *float32            `json:"temperature,omitempty"`
	MaxTokens    int                 `json:"max_tokens,omitempty"`
	Compression  Compression         `json:"compression"`
	Timeouts     Timeouts            `json:"timeouts"`
	// HeartbeatInterval calls the agent of a conversation whenever nobody has
	// spoken for that long; 0 = never.
	HeartbeatInterval Duration `json:"heartbeat_interval,omitempty"`
	// Orchestrator is set if the agent may dispatch others.
	Orchestrator *Orchestrator `json:"orchestrator,omitempty"`
}

// MaskingOf is what is masked in a tool's results: what its server or the shell
// says; a tool that is of neither has none of its own.
func (a Agent) MaskingOf(name string, otherwise *Masking) *Masking {
	server, _, _ := strings.Cut(name, ".")
	for _, s := range a.Servers {
		if s.Name == server {
			return s.Masking
		}
	}
	if name == agent.ToolShell && a.Shell != nil {
		return a.Shell.Masking
	}
	return otherwise
}

// OnLimit says what happens when an agent has used up its iterations.
type OnLimit string

// What happens at the iteration limit.
const (
	OnLimitConclude OnLimit = "conclude"
	OnLimitError    OnLimit = "error"
)

// Provider is a model and how it is reached. The key itself is read from the
// environment variable APIKeyEnv by the worker that makes the call.
type Provider struct {
	Name      string `json:"name"`
	Type      string `json:"type"`
	Model     string `json:"model"`
	BaseURL   string `json:"base_url,omitempty"`
	APIKeyEnv string `json:"api_key_env,omitempty"`
	// APIVersion is that of a provider of type azure; "" = the newer API, which has none.
	APIVersion string `json:"api_version,omitempty"`
	// Driver is the SDK of a provider of type google.
	Driver      string      `json:"driver,omitempty"`
	NativeTools NativeTools `json:"native_tools,omitzero"`
	Prices      Prices      `json:"prices,omitzero"`
	// Thinking is how much the model thinks for this agent.
	Thinking agent.Thinking `json:"thinking,omitzero"`
	// Responses: it is asked by OpenAI's Responses API.
	Responses bool `json:"responses,omitempty"`
	// Vertex is where a model of Google's cloud is; zero = it is not there.
	Vertex Vertex `json:"vertex,omitzero"`
	// QuickUnder is how long the calls of a quick model take; 0 = the model is none.
	QuickUnder Duration `json:"quick_under,omitempty"`
	// Vision: the model is sent the images that tools return.
	Vision bool `json:"vision,omitempty"`
	// Accepts is what its server accepts in a request; the zero value means that the plan is of an earlier version. Read it
	// by Dialect.
	Accepts agent.Dialect `json:"accepts,omitzero"`
}

// Vertex is a place at Vertex AI. The names of variables are read by the worker that calls.
type Vertex struct {
	Project        string `json:"project,omitempty"`
	ProjectEnv     string `json:"project_env,omitempty"`
	Location       string `json:"location,omitempty"`
	LocationEnv    string `json:"location_env,omitempty"`
	CredentialsEnv string `json:"credentials_env,omitempty"`
}

// Prices are what a model costs, in US dollars for a million tokens. Kinds of tokens without a
// price of their own cost what the input or the output does that they are part of.
type Prices struct {
	Input      float64 `json:"input,omitempty"`
	Output     float64 `json:"output,omitempty"`
	CacheRead  float64 `json:"cache_read,omitempty"`
	CacheWrite float64 `json:"cache_write,omitempty"`
	Reasoning  float64 `json:"reasoning,omitempty"`
	Image      float64 `json:"image,omitempty"`

	LongPrompts LongPrompts `json:"long_prompts,omitzero"`
}

// LongPrompts are how many times as much the input and the output cost of a call whose input has
// more than Over tokens; 0 = no more.
type LongPrompts struct {
	Over   int     `json:"over"`
	Input  float64 `json:"input,omitempty"`
	Output float64 `json:"output,omitempty"`
}

// Cost is the price of what one call used, in US dollars. An image that came from the cache counts as cached.
func (p Prices) Cost(u agent.Usage) float64 {
	input, output := float64(u.InputTokens)*p.Input, float64(u.OutputTokens)*p.Output
	instead := func(of *float64, tokens int, own, price float64) {
		if own > 0 {
			*of += float64(tokens) * (own - price)
		}
	}
	instead(&input, u.CacheReadTokens, p.CacheRead, p.Input)
	instead(&input, u.CacheWriteTokens, p.CacheWrite, p.Input)
	instead(&input, min(u.ImageTokens, max(u.InputTokens-u.CacheReadTokens-u.CacheWriteTokens, 0)), p.Image, p.Input)
	instead(&output, u.ReasoningTokens, p.Reasoning, p.Output)
	if long := p.LongPrompts; long.Over > 0 && u.InputTokens > long.Over {
		input, output = input*cmp.Or(long.Input, 1), output*cmp.Or(long.Output, 1)
	}
	return (input + output) / 1e6
}

// NativeTools are tools that a provider of type google runs itself.
type NativeTools struct {
	GoogleSearch  bool `json:"google_search,omitempty"`
	URLContext    bool `json:"url_context,omitempty"`
	CodeExecution bool `json:"code_execution,omitempty"`
}

// Server is an MCP server that an agent uses. How it is reached (command,
// environment, URL) stays in the worker's configuration: it may hold secrets.
type Server struct {
	Name string `json:"name"`
	// TaskQueue runs the server's calls on the workers of that queue; "" = the main queue.
	TaskQueue    string `json:"task_queue,omitempty"`
	Instructions string `json:"instructions,omitempty"`
	// Tools are those that the request names, "server.tool"; nil = all.
	Tools []string              `json:"tools,omitempty"`
	Risk  map[string]agent.Risk `json:"risk,omitempty"`
	// Idempotent are tools whose calls may be made again though they change something.
	Idempotent []string `json:"idempotent,omitempty"`
	// TrustAnnotations: what the server says of its tools may lower their risk.
	TrustAnnotations bool `json:"trust_annotations,omitempty"`
	// Trusted: what the server says, and what its tools return, taints nobody.
	Trusted bool `json:"trusted,omitempty"`
	// Masking is what is masked in the server's results; nil = nothing.
	Masking *Masking `json:"masking,omitempty"`
	// Summarization shortens large results; nil = they are shown as they are.
	Summarization *Summarization `json:"summarization,omitempty"`
}

// Shell limits the shell tool of an agent; an agent without one has no shell.
type Shell struct {
	// Allow lists the commands that may be run; empty = all.
	Allow []string `json:"allow,omitempty"`
	// AllOptions: the options of the commands in Allow are not checked.
	AllOptions bool     `json:"all_options,omitempty"`
	Timeout    Duration `json:"timeout"`
	MaxOutput  int      `json:"max_output"` // bytes
	// Dir is where commands run; "" = in a new folder each.
	Dir  string     `json:"dir,omitempty"`
	Risk agent.Risk `json:"risk"`
	// Confine says whether commands may write in their folder only; "" = they are not confined.
	Confine Confinement `json:"confine,omitempty"`
	// Offline: commands have no network.
	Offline bool `json:"offline,omitempty"`
	// Masking is what is masked in the results of commands; nil = nothing.
	Masking *Masking `json:"masking,omitempty"`
}

// Confinement says what becomes of a command where it cannot be confined.
type Confinement string

// The confinements.
const (
	ConfineNever      Confinement = "never"
	ConfineIfPossible Confinement = "if_possible"
	ConfineRequired   Confinement = "required"
)

// Compression bounds the view of a conversation that a model is sent
// (spec: conversation, "Compression").
type Compression struct {
	Enabled bool `json:"enabled"`
	// MaxContextTokens is the window to fit into; 0 = the model's own.
	MaxContextTokens   int     `json:"max_context_tokens,omitempty"`
	Threshold          float64 `json:"threshold"`
	KeepRecentMessages int     `json:"keep_recent_messages"`
	Strategy           string  `json:"strategy"`
}

// Timeouts bound an agent's work; 0 = no bound of our own.
type Timeouts struct {
	Agent     Duration `json:"agent,omitempty"`
	Iteration Duration `json:"iteration,omitempty"`
	Tool      Duration `json:"tool,omitempty"`
	// StreamIdle is how long a model's stream may be silent.
	StreamIdle Duration `json:"stream_idle,omitempty"`
	// Queue is how long a tool waits for a worker of its server's task queue; 0 = a minute.
	Queue Duration `json:"queue,omitempty"`
	// Outage is how long a provider is waited for that is away; 0 = 4 h, or a minute if
	// there is another one to ask.
	Outage Duration `json:"outage,omitempty"`
	// Conclude is how long the agent has to conclude after a limit; 0 = the two minutes of older plans, see Grace.
	Conclude Duration `json:"conclude,omitempty"`
}

// Grace is how long work may take to conclude after a time limit: conclude, but never longer than the limit.
// Zero for conclude means that the plan is older than the setting, and gives zero; zero for limit means no limit.
func Grace(conclude, limit Duration) Duration {
	if limit > 0 {
		return min(conclude, limit)
	}
	return conclude
}
