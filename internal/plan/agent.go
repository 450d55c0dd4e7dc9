package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Agent is one agent of a stage, ready to run.
type Agent struct {
	// Name is unique within the stage, and the last part of the execution's id.
	Name string `json:"name"`
	// Definition is the name of the agent's definition in the configuration.
	Definition string `json:"definition"`
	// Version is the version of a definition that was made at run time. Zero means that it comes from the
	// configuration.
	Version    int    `json:"version,omitempty"`
	Type       string `json:"type"`
	LLMBackend string `json:"llm_backend"`
	// Description tells the model the agent's purpose.
	Description  string `json:"description,omitempty"`
	Instructions string `json:"instructions,omitempty"`
	// Prompt is a template that replaces the type's prompt. Empty means the type's prompt.
	Prompt string `json:"prompt,omitempty"`
	// PromptFunc names the function of the workers' program that writes the prompt. Empty means none.
	PromptFunc string `json:"prompt_func,omitempty"`
	// Mock names the function of the workers' program that replaces the agent. Empty means that the agent itself works.
	Mock string `json:"mock,omitempty"`
	// Providers are tried in order: the agent's own, then its fallbacks.
	Providers []Provider `json:"providers"`
	// SkippedFallbacks explains why other fallbacks are not in Providers.
	SkippedFallbacks []string `json:"skipped_fallbacks,omitempty"`
	MaxIterations    int      `json:"max_iterations"`
	OnLimit          OnLimit  `json:"on_limit,omitempty"`
	// Servers are the MCP servers whose tools the agent gets.
	Servers []Server `json:"servers,omitempty"`
	// ToolIDs are the tools of the workers' program that the agent gets.
	ToolIDs []string `json:"tool_ids,omitempty"`
	// ToolSearchAbove is how many tools the agent may have before it has to search for them. Zero means any number. Programs
	// that do not know the field offer all tools.
	ToolSearchAbove int `json:"tool_search_above,omitempty"`

	Shell *Shell     `json:"shell,omitempty"`
	Tools ToolConfig `json:"tools,omitzero"`
	// Contract describes the required form of the agent's final text.
	Contract Contract `json:"contract,omitzero"`
	// Attached means that the agent is shown the beginning of the request's data and reads the rest in pages.
	Attached bool `json:"attached,omitempty"`
	// MemoryBlocks are the initial contents of the agent's memory.
	MemoryBlocks []agent.MemoryBlock `json:"memory_blocks,omitempty"`
	Temperature  *float32            `json:"temperature,omitempty"`
	MaxTokens    int                 `json:"max_tokens,omitempty"`
	Compression  Compression         `json:"compression"`
	Timeouts     Timeouts            `json:"timeouts"`
	// HeartbeatInterval calls the agent of a conversation after each period of this length without a message. Zero means never.
	HeartbeatInterval Duration `json:"heartbeat_interval,omitempty"`
	// Skills are in the agent's prompt or can be loaded by it.
	Skills []Skill `json:"skills,omitempty"`
	// Recalls means that the agent can look up earlier investigations and their learnings.
	Recalls bool `json:"recalls,omitempty"`
	// Orchestrator is set if the agent may dispatch others.
	Orchestrator *Orchestrator `json:"orchestrator,omitempty"`
}

// Skill is instructions for a kind of task. Its texts are stored with the plan, so that all workers have the same ones and a
// change of the configuration changes no running investigation.
type Skill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Required means that the text is in the prompt. Otherwise the agent loads it when it needs it.
	Required bool `json:"required,omitempty"`
	// Blobs are the texts: that of the skill by "", and those of the files beside it by their paths.
	Blobs map[string]string `json:"blobs,omitempty"`
	// Texts are what Blobs name, until the plan is stored.
	Texts map[string]string `json:"-"`
}

// Files returns the paths of the files beside the skill, sorted.
func (s Skill) Files() []string {
	paths := slices.Collect(maps.Keys(s.Blobs))
	if s.Texts != nil {
		paths = slices.Collect(maps.Keys(s.Texts))
	}
	slices.Sort(paths)
	return slices.DeleteFunc(paths, func(path string) bool { return path == "" })
}

// ByOthers reports whether a function, a service, or the provider itself may look at systems for the agent, without a call of a tool.
func (a Agent) ByOthers() bool {
	row, _ := agent.LookupType(a.Type)
	native := func(p Provider) bool { return p.NativeTools != NativeTools{} }
	return a.Mock != "" || row.Pattern == agent.Service || slices.ContainsFunc(a.Providers, native)
}

// Observes reports whether the agent can look at a system.
func (a Agent) Observes() bool {
	return len(a.Servers)+len(a.ToolIDs) > 0 || a.Shell != nil || a.ByOthers()
}

// MaskingOf returns the masking of a tool's results: that of its server or of the shell. For any other tool it returns
// otherwise.
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

// Provider is a model and the way to reach it. The worker that makes the call reads the key from the environment
// variable APIKeyEnv.
type Provider struct {
	Name      string `json:"name"`
	Type      string `json:"type"`
	Model     string `json:"model"`
	BaseURL   string `json:"base_url,omitempty"`
	APIKeyEnv string `json:"api_key_env,omitempty"`
	// APIVersion is for providers of type azure. Empty means the newer API, which has no versions.
	APIVersion string `json:"api_version,omitempty"`
	// Driver is the SDK of a provider of type google.
	Driver      string      `json:"driver,omitempty"`
	NativeTools NativeTools `json:"native_tools,omitzero"`
	Prices      Prices      `json:"prices,omitzero"`
	// Thinking is how much the model thinks for this agent.
	Thinking agent.Thinking `json:"thinking,omitzero"`
	// Responses selects OpenAI's Responses API.
	Responses bool `json:"responses,omitempty"`
	// Vertex is the location of a model in Google's cloud. The zero value means that the model is elsewhere.
	Vertex Vertex `json:"vertex,omitzero"`
	// QuickUnder is the time within which calls of a quick model end. Zero means that the model is not quick.
	QuickUnder Duration `json:"quick_under,omitempty"`
	// Vision means that the model gets the images that tools return.
	Vision bool `json:"vision,omitempty"`
	// Accepts describes the requests that the provider's server accepts. It is zero in plans of earlier versions, so read it
	// through Dialect.
	Accepts agent.Dialect `json:"accepts,omitzero"`
}

// Vertex is a location at Vertex AI. The worker that makes the call reads the named variables.
type Vertex struct {
	Project        string `json:"project,omitempty"`
	ProjectEnv     string `json:"project_env,omitempty"`
	Location       string `json:"location,omitempty"`
	LocationEnv    string `json:"location_env,omitempty"`
	CredentialsEnv string `json:"credentials_env,omitempty"`
}

// Prices are the prices of a model, in US dollars for a million tokens. A kind of token without a price costs as much
// as the input or output that it is part of.
type Prices struct {
	Input      float64 `json:"input,omitempty"`
	Output     float64 `json:"output,omitempty"`
	CacheRead  float64 `json:"cache_read,omitempty"`
	CacheWrite float64 `json:"cache_write,omitempty"`
	Reasoning  float64 `json:"reasoning,omitempty"`
	Image      float64 `json:"image,omitempty"`

	LongPrompts LongPrompts `json:"long_prompts,omitzero"`
	// Free means that the configuration sets all prices to 0. Prices without it that are all 0 are unknown, as in plans
	// of earlier versions.
	Free bool `json:"free,omitempty"`
}

// Known reports whether the prices are known, also if all are 0.
func (p Prices) Known() bool { return p != Prices{} }

// LongPrompts holds the factors for the prices of a call whose input has more than Over tokens. A factor of zero means
// no increase.
type LongPrompts struct {
	Over   int     `json:"over"`
	Input  float64 `json:"input,omitempty"`
	Output float64 `json:"output,omitempty"`
}

// Cost returns the cost of one call, in US dollars. A cached image counts as cached input.
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

// Server is an MCP server that an agent uses. The way to reach it (command, environment, URL) stays in the worker's
// configuration, because it may hold secrets.
type Server struct {
	Name string `json:"name"`
	// TaskQueue runs the server's calls on the workers of that queue. Empty means the main queue.
	TaskQueue    string `json:"task_queue,omitempty"`
	Instructions string `json:"instructions,omitempty"`
	// Tools are the tools that the request selects, as "server.tool". Nil means all.
	Tools []string              `json:"tools,omitempty"`
	Risk  map[string]agent.Risk `json:"risk,omitempty"`
	// Idempotent are tools whose calls may be repeated although they change something.
	Idempotent []string `json:"idempotent,omitempty"`
	// TrustAnnotations means that the server's annotations may lower the risk of its tools.
	TrustAnnotations bool `json:"trust_annotations,omitempty"`
	// Trusted means that the server's texts and its tools' results do not taint agents.
	Trusted bool `json:"trusted,omitempty"`
	// Masking is applied to the server's results. Nil means none.
	Masking *Masking `json:"masking,omitempty"`
	// Summarization shortens large results. Nil means that they are shown in full.
	Summarization *Summarization `json:"summarization,omitempty"`
}

// Shell limits the shell tool of an agent. An agent without it has no shell.
type Shell struct {
	// Allow lists the allowed commands. Empty means all.
	Allow []string `json:"allow,omitempty"`
	// AllOptions means that the options of the commands in Allow are not checked.
	AllOptions bool     `json:"all_options,omitempty"`
	Timeout    Duration `json:"timeout"`
	MaxOutput  int      `json:"max_output"` // bytes
	// Dir is the working directory of commands. Empty means a new directory for each command.
	Dir  string     `json:"dir,omitempty"`
	Risk agent.Risk `json:"risk"`
	// Confine says whether commands may write only in their own directory. Empty means ConfineNever.
	Confine Confinement `json:"confine,omitempty"`
	// Offline means that commands have no network.
	Offline bool `json:"offline,omitempty"`
	// Masking is applied to the results of commands. Nil means none.
	Masking *Masking `json:"masking,omitempty"`
}

// Compression limits the view of a conversation that a model is sent (spec: conversation, "Compression").
type Compression struct {
	Enabled bool `json:"enabled"`
	// MaxContextTokens is the size that the view must fit into. Zero means the model's own window.
	MaxContextTokens   int     `json:"max_context_tokens,omitempty"`
	Threshold          float64 `json:"threshold"`
	KeepRecentMessages int     `json:"keep_recent_messages"`
	Strategy           string  `json:"strategy"`
}

// Timeouts limit an agent's work. Zero means that Inquest sets no limit.
type Timeouts struct {
	Agent     Duration `json:"agent,omitempty"`
	Iteration Duration `json:"iteration,omitempty"`
	Tool      Duration `json:"tool,omitempty"`
	// StreamIdle is how long a model's stream may be silent.
	StreamIdle Duration `json:"stream_idle,omitempty"`
	// Queue is how long a tool call waits for a worker of its server's task queue. Zero means one minute.
	Queue Duration `json:"queue,omitempty"`
	// Startup is how long to wait for MCP servers that start. Zero means three minutes.
	Startup Duration `json:"startup,omitempty"`
	// Outage is how long to wait for an unavailable provider. Zero means 4 h, or one minute if there is a fallback.
	Outage Duration `json:"outage,omitempty"`
	// Conclude is how long the agent has to conclude after a limit. Zero means the two minutes of older plans: see
	// Grace.
	Conclude Duration `json:"conclude,omitempty"`
}

// Grace returns how long work may take to conclude after a time limit: conclude, but never longer than the limit. Zero
// for conclude means that the plan is older than the setting, and gives zero; zero for limit means no limit.
func Grace(conclude, limit Duration) Duration {
	if limit > 0 {
		return min(conclude, limit)
	}
	return conclude
}
