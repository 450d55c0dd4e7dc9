package config

import (
	"regexp"
	"slices"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/virtual"
)

// Agent is an agent's definition.
type Agent struct {
	// Type selects the agent's behaviour (spec: agents, "One table, no polymorphism"). An agent of type llm replies with
	// one JSON object, for routing and for later stages; leave the type out if the agent writes a report.
	Type string `yaml:"type" enum:"agent type" default:"default"`
	// AgentSource is virtual for an agent that is made at run time, by the HTTP API or starter agent create, in the
	// project of each request. Such an entry may only have a type and a description.
	AgentSource string `yaml:"agent_source" enum:"agent source" default:"the configuration"`
	// Description describes the agent's purpose, in lists and to other agents.
	Description string `yaml:"description"`
	// MCPServers are the servers whose tools the agent may use.
	MCPServers []string `yaml:"mcp_servers" default:"none"`
	// ToolIDs are tools that the workers' program has registered in Go: see docs/reference/go-api.md. ["*"] stands for all of them.
	ToolIDs []string `yaml:"tool_ids" default:"none"`
	// DefaultModel is the model if chains and stages name no provider: the name of an llm_providers entry,
	// provider:model, or the name of an OpenAI model. With selector:NAME, a function of the workers' program chooses
	// the model.
	DefaultModel string `yaml:"default_model" default:"llm_provider of defaults"`
	// ModelRole takes the model from model_roles of defaults, instead of default_model.
	ModelRole string `yaml:"model_role" default:"none"`
	// SystemPrompt replaces the type's own prompt, also in conversations. A prompt_key takes precedence over it. It can
	// use the same variables as prompts.
	SystemPrompt string `yaml:"system_prompt,template" default:"that of the type"`
	// CustomInstructions are added to the system prompt.
	CustomInstructions string `yaml:"custom_instructions"`
	// LLMBackend selects the way to reach the provider.
	LLMBackend string `yaml:"llm_backend" enum:"backend"`
	// MaxIterations limits the model calls of one run.
	MaxIterations *int `yaml:"max_iterations" min:"1" default:"that of the type, else of defaults"`
	// OnLimit says what happens at the last iteration: the agent concludes with its findings so far, or fails.
	OnLimit plan.OnLimit `yaml:"on_limit" enum:"on limit" default:"conclude"`
	// Temperature is passed to the model.
	Temperature *float32 `yaml:"temperature" min:"0" max:"2" default:"the model's own"`
	// MaxTokens limits a reply.
	MaxTokens *int `yaml:"max_tokens" min:"1" unit:"tokens" default:"the model's own"`
	// Thinking overrides the provider's setting: off, on, adaptive, or how many tokens the model may think.
	Thinking string `yaml:"thinking" default:"the provider's"`
	// ReasoningEffort sets how much the model thinks, in the provider's words.
	ReasoningEffort string `yaml:"reasoning_effort" enum:"reasoning effort" default:"the provider's"`
	// NativeTools override the provider's, one by one; they need llm_backend native-gemini. Models before Gemini 3
	// cannot combine them with other tools: if the agent has other tools, its native tools are left out.
	NativeTools NativeTools `yaml:"native_tools" default:"the provider's"`
	// Compression overrides that of defaults, key by key.
	Compression Compression `yaml:"compression"`
	// Shell overrides that of defaults, key by key; only some types have a shell.
	Shell Shell `yaml:"shell"`
	// ToolConfig overrides that of defaults, key by key.
	ToolConfig ToolConfig `yaml:"tool_config"`
	// MemoryBlocks are the initial contents of the agent's memory; only some types have a memory.
	MemoryBlocks []MemoryBlock `yaml:"memory_blocks" default:"none"`
	// HeartbeatInterval calls the agent of a conversation after each period of this length without a message. It must be at
	// least 1m; only some types have heartbeats.
	HeartbeatInterval plan.Duration `yaml:"heartbeat_interval" default:"none"`
	// Timeouts override those of defaults, one by one.
	Timeouts Timeouts `yaml:"timeouts"`

	// SubAgents are the agents that this agent may dispatch while it works, if its type iterates.
	SubAgents []SubAgent `yaml:"sub_agents" default:"none"`
	// Orchestrator overrides that of defaults, key by key.
	Orchestrator Orchestrator `yaml:"orchestrator"`

	model string         // default_model, or the role's model: see defineModels
	made  *virtual.Agent // set if the agent was made at run time

	_ struct{} `later:"skills required_skills"`
}

func (a *Agent) validate(p path, v *validator) {
	v.name(p)
	a.validateSource(p, v)
	v.servers(p.Key("mcp_servers"), a.MCPServers)
	a.validatePrompt(p.Key("system_prompt"), v)
	a.validateTools(p.Key("tool_ids"), v)
	a.validateMemory(p.Key("memory_blocks"), v)
	a.validateHeartbeats(p.Key("heartbeat_interval"), v)
	v.subAgents(p, a.SubAgents, p.Name)
	v.thinks(p.Key("thinking"), a.Thinking)
	row, ok := agent.LookupType(a.Type)
	if ok && value(a.Shell.Enabled) && !slices.Contains(row.Tools, agent.ToolShell) {
		v.Errorf(p.Key("shell").Key("enabled"), "an agent of type %q has no shell", row.Name)
	}
	if instructions := a.SystemPrompt + a.CustomInstructions; row.JSON && row.Pattern.Model() &&
		prose.MatchString(instructions) && !structured.MatchString(instructions) {
		v.Add(SeverityWarning, p.Key("type"), "an agent of type %q replies with one JSON object, but its instructions ask for prose: "+
			"leave the type out for a report in Markdown, or name the fields of the object in the instructions", row.Name)
	}
}

// prose matches instructions that ask for text. structured matches those that ask for an object or name one of its
// fields.
var (
	prose      = regexp.MustCompile(`(?i)\b(report|markdown|prose|paragraphs?|sentences?|headings?|bullets?|essay|letter)\b`)
	structured = regexp.MustCompile(`(?i)\bjson\b|\b(object|fields?|keys?)\b|"\w+"`)
)

// row returns the agent's row of the type table, or the zero row if there is none.
func (a *Agent) row() agent.Type {
	row, _ := agent.LookupType(a.Type)
	return row
}

// notEmpty returns nil for an empty list. A nil list counts as not set, so it clears nothing.
func notEmpty[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

// minHeartbeatInterval keeps an agent from calling itself constantly: every heartbeat is at least one model call.
const minHeartbeatInterval = plan.Duration(time.Minute)

func (a *Agent) validateHeartbeats(p path, v *validator) {
	if a.HeartbeatInterval == 0 {
		return
	}
	if row, ok := agent.LookupType(a.Type); ok && !row.Heartbeats {
		v.Errorf(p, "an agent of type %q has no heartbeats", row.Name)
	}
	if a.HeartbeatInterval < minHeartbeatInterval {
		v.Errorf(p, "must be 1m or longer, got %s", a.HeartbeatInterval)
	}
}
