package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Plan is a chain, fully resolved: every inheritance applied, every default
// filled in. It is recorded once, at the start, and nothing later looks at live
// configuration. It holds no secret: only names of environment variables.
type Plan struct {
	// Version is the PlanVersion of the program that has made the plan.
	Version   int    `json:"version"`
	Chain     string `json:"chain"`
	AlertType string `json:"alert_type,omitempty"`
	Runbook   string `json:"runbook,omitempty"`
	// Store is the identity of the store that holds what the plan is for: in any
	// other one, there is no such plan.
	Store string `json:"store,omitempty"`
	// Conversation: the plan of a conversation. Its one stage has one agent, and
	// there is no task: people say what they want.
	Conversation bool `json:"conversation,omitempty"`
	// AlertMasking is what is masked in the request's data; nil = nothing.
	AlertMasking *Masking `json:"alert_masking,omitempty"`
	// MaxData is how large the request's data may be without being attached, in bytes; 0 = any size.
	MaxData int `json:"max_data,omitempty"`
	// Timeout bounds the investigation; time paused does not count. 0 = none.
	Timeout    Duration    `json:"timeout,omitempty"`
	Bounds     Bounds      `json:"bounds,omitzero"`
	Interrupts Interrupts  `json:"interrupts,omitzero"`
	Stages     []StagePlan `json:"stages"`
}

// PlanVersion is that of the plans of this program. It grows with every change that
// a program from before must not overlook: a restriction that it would not keep to,
// a kind of stage that it would run in another way.
const PlanVersion = 1

// ErrNewerPlan: a plan was made by a newer program than this one.
var ErrNewerPlan = errors.New("the plan is of a newer version")

// UnmarshalJSON reads a plan, leniently, unless it is of a newer version: then the
// rest of it may mean anything.
func (p *Plan) UnmarshalJSON(data []byte) error {
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return err
	}
	if head.Version > PlanVersion {
		return fmt.Errorf("%w: %d, and this program knows %d", ErrNewerPlan, head.Version, PlanVersion)
	}
	type plain Plan
	return json.Unmarshal(data, (*plain)(p))
}

// StageOf is the stage that a run is one of: of "dig" and "dig#2" it is "dig".
func (p Plan) StageOf(run string) (StagePlan, bool) {
	name, _, _ := strings.Cut(run, "#")
	i := slices.IndexFunc(p.Stages, func(s StagePlan) bool { return s.Name == name })
	if i < 0 {
		return StagePlan{}, false
	}
	return p.Stages[i], true
}

// Attach has all agents read the request's data in pages.
func (p *Plan) Attach() {
	for i := range p.Stages {
		for n := range p.Stages[i].Agents {
			p.Stages[i].Agents[n].Attached = true
		}
		if p.Stages[i].Synthesis != nil {
			p.Stages[i].Synthesis.Attached = true
		}
	}
}

// MainQueue is the task queue that workers serve unless they are told otherwise.
const MainQueue = "inquest"

// SuccessPolicy says how many of a stage's agents must succeed.
type SuccessPolicy string

// The success policies of a stage.
const (
	SuccessAny SuccessPolicy = "any"
	SuccessAll SuccessPolicy = "all"
)

// StagePlan is one step of a plan.
type StagePlan struct {
	Name          string        `json:"name"`
	SuccessPolicy SuccessPolicy `json:"success_policy"`
	Timeout       Duration      `json:"timeout,omitempty"`
	// Agents run in parallel; replicas are already spelled out (Name-1 … Name-N).
	Agents []AgentPlan `json:"agents"`
	// Synthesis joins the work of several agents; nil for a single one.
	Synthesis *AgentPlan `json:"synthesis,omitempty"`
	// OutputKey names the stage's output for other stages; "" = the stage's name.
	OutputKey string  `json:"output_key,omitempty"`
	Routing   Routing `json:"routing,omitzero"`
	Hooks
}

// Hooks name functions of the workers' program that work on a stage; "" = none.
type Hooks struct {
	PreProcess  string `json:"pre_process,omitempty"`  // before the agents
	PostProcess string `json:"post_process,omitempty"` // on what the stage hands on
}

// Key is what the stage hands on under.
func (s StagePlan) Key() string { return cmp.Or(s.OutputKey, s.Name) }

// All are the agents of the stage, the synthesis last.
func (s StagePlan) All() []AgentPlan {
	if s.Synthesis == nil {
		return s.Agents
	}
	return append(slices.Clone(s.Agents), *s.Synthesis)
}

// Steers reports whether what the stage hands on decides where its chain goes.
func (s StagePlan) Steers() bool {
	r := s.Routing
	if len(r.Rules) > 0 || r.DefaultNext != "" || r.LoopTarget != "" || s.OutputKey != "" || s.PostProcess != "" {
		return true
	}
	for _, a := range s.Agents {
		row, _ := LookupType(a.Type)
		if row.JSON || a.Contract.Asks() {
			return true
		}
	}
	return s.Synthesis != nil && s.Synthesis.Contract.Asks()
}

// AgentPlan is one agent of a stage, ready to run.
type AgentPlan struct {
	// Name is unique within the stage, and the last part of the execution's id.
	Name string `json:"name"`
	// Definition is the name of the agent's definition in the configuration.
	Definition   string `json:"definition"`
	Type         string `json:"type"`
	LLMBackend   string `json:"llm_backend"`
	Instructions string `json:"instructions,omitempty"`
	// Prompt is a template that stands in place of the type's own; "" = the type's.
	Prompt string `json:"prompt,omitempty"`
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
	MemoryBlocks []MemoryBlock `json:"memory_blocks,omitempty"`
	Temperature  *float32      `json:"temperature,omitempty"`
	MaxTokens    int           `json:"max_tokens,omitempty"`
	Compression  Compression   `json:"compression"`
	Timeouts     Timeouts      `json:"timeouts"`
	// HeartbeatInterval calls the agent of a conversation whenever nobody has
	// spoken for that long; 0 = never.
	HeartbeatInterval Duration `json:"heartbeat_interval,omitempty"`
}

// MaskingOf is what is masked in a tool's results: what its server or the shell
// says; a tool that is of neither has none of its own.
func (a AgentPlan) MaskingOf(name string, otherwise *Masking) *Masking {
	server, _, _ := strings.Cut(name, ".")
	for _, s := range a.Servers {
		if s.Name == server {
			return s.Masking
		}
	}
	if name == ToolShell && a.Shell != nil {
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
}

// Prices are what a model costs, in US dollars for a million tokens.
type Prices struct {
	Input  float64 `json:"input,omitempty"`
	Output float64 `json:"output,omitempty"`
}

// Cost is the price of a usage, in US dollars.
func (p Prices) Cost(u Usage) float64 {
	return (float64(u.InputTokens)*p.Input + float64(u.OutputTokens)*p.Output) / 1e6
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
	TaskQueue    string          `json:"task_queue,omitempty"`
	Instructions string          `json:"instructions,omitempty"`
	Risk         map[string]Risk `json:"risk,omitempty"`
	// Idempotent are tools whose calls may be made again though they change something.
	Idempotent []string `json:"idempotent,omitempty"`
	// TrustAnnotations: what the server says of its tools may lower their risk.
	TrustAnnotations bool `json:"trust_annotations,omitempty"`
	// Masking is what is masked in the server's results; nil = nothing.
	Masking *Masking `json:"masking,omitempty"`
	// Summarization shortens large results; nil = they are shown as they are.
	Summarization *Summarization `json:"summarization,omitempty"`
}

// Risk says what a tool may do to the world (spec: tools, "Risk").
type Risk string

// The risks of a tool. An unknown risk is treated as the worst.
const (
	RiskReadOnly    Risk = "read_only"
	RiskWrite       Risk = "write"
	RiskDestructive Risk = "destructive"
	RiskLow         Risk = "low"
	RiskMedium      Risk = "medium"
	RiskHigh        Risk = "high"
	RiskCritical    Risk = "critical"
	RiskUnknown     Risk = "unknown"
)

// Shell limits the shell tool of an agent; an agent without one has no shell.
type Shell struct {
	// Allow lists the commands that may be run; empty = all.
	Allow []string `json:"allow,omitempty"`
	// AllOptions: the options of the commands in Allow are not checked.
	AllOptions bool     `json:"all_options,omitempty"`
	Timeout    Duration `json:"timeout"`
	MaxOutput  int      `json:"max_output"` // bytes
	// Dir is where commands run; "" = in a new folder each.
	Dir  string `json:"dir,omitempty"`
	Risk Risk   `json:"risk"`
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
}

// Duration is a time.Duration that is written as text ("90s") in JSON.
type Duration time.Duration

// D returns d as a time.Duration.
func (d Duration) D() time.Duration { return time.Duration(d) }

// String writes d the way that configuration spells it.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalJSON writes d as text.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("read duration: %w", err)
	}
	parsed, err := time.ParseDuration(text)
	*d = Duration(parsed)
	return err
}

// AgentRequest asks for the plan of a conversation with one agent.
type AgentRequest struct {
	Agent    string
	Provider string // as in PlanRequest
}

// PlanRequest asks for the plan of one investigation.
type PlanRequest struct {
	// Chain names the chain; empty = the one that AlertType belongs to.
	Chain     string
	AlertType string
	// Provider replaces the model of every agent: the name of an llm_providers
	// entry, or "provider:model"; empty = as configured.
	Provider string
	Runbook  string
	// UseMocks has the agents' mocks work in their place, where there are any.
	UseMocks bool
}
