package config

import "github.com/inquest-dev/inquest/value"

// Agent is an agent's definition.
type Agent struct {
	// Type selects the agent's behaviour. An agent of type llm replies with one JSON object, for routing and for later
	// stages. For an agent that writes a report, leave the type out.
	Type string `yaml:"type" enum:"agent type" default:"default"`
	// AgentSource is virtual for an agent that is created at run time, with the HTTP API or starter agent create. The
	// agent is taken from the project of each request. Such an entry may only have a type and a description.
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
	DefaultModel string `yaml:"default_model" default:"defaults.llm_provider"`
	// ModelRole takes the model from model_roles of defaults, instead of default_model.
	ModelRole string `yaml:"model_role" default:"none"`
	// FallbackProviders are tried in order when the provider fails; [] means none.
	FallbackProviders []Fallback `yaml:"fallback_providers"`
	// FallbackList names an entry of fallback_lists to use instead of fallback_providers.
	FallbackList string `yaml:"fallback_list" default:"none"`
	// SystemPrompt replaces the type's own prompt, also in conversations. A prompt_key takes precedence over it. It can
	// use the same variables as prompts.
	SystemPrompt string `yaml:"system_prompt,template" default:"the type's"`
	// CustomInstructions are added to the system prompt.
	CustomInstructions string `yaml:"custom_instructions"`
	// LLMBackend selects the way to reach the provider.
	LLMBackend string `yaml:"llm_backend" enum:"backend"`
	// MaxIterations limits the model calls of one run.
	MaxIterations *int `yaml:"max_iterations" min:"1" default:"the type's, else the value in defaults"`
	// OnLimit is what happens at the last iteration: the agent concludes with its findings so far, or fails.
	OnLimit value.OnLimit `yaml:"on_limit" enum:"on limit" default:"conclude"`
	// Temperature is passed to the model.
	Temperature *float32 `yaml:"temperature" min:"0" max:"2" default:"the model's own"`
	// MaxTokens limits a reply.
	MaxTokens *int `yaml:"max_tokens" min:"1" unit:"tokens" default:"the model's own"`
	// Thinking replaces the provider's value: off, on, adaptive, or how many tokens the model may think.
	Thinking string `yaml:"thinking" default:"the provider's"`
	// ReasoningEffort sets how much the model thinks, as one of the provider's values.
	ReasoningEffort string `yaml:"reasoning_effort" enum:"reasoning effort" default:"the provider's"`
	// NativeTools replace the provider's values, tool by tool; they need llm_backend native-gemini. Models before Gemini 3
	// cannot combine them with other tools: if the agent has other tools, its native tools are left out.
	NativeTools NativeTools `yaml:"native_tools" default:"the provider's"`
	// Compression replaces the values in defaults.compression, key by key.
	Compression Compression `yaml:"compression"`
	// ToolSearch replaces the value in defaults.tool_search.
	ToolSearch ToolSearch `yaml:"tool_search"`
	// Shell replaces the values in defaults.shell, key by key; only some types have a shell.
	Shell Shell `yaml:"shell"`
	// ToolConfig replaces the values in defaults.tool_config, key by key.
	ToolConfig ToolConfig `yaml:"tool_config"`
	// MemoryBlocks are the initial contents of the agent's memory; only some types have a memory.
	MemoryBlocks []MemoryBlock `yaml:"memory_blocks" default:"none"`
	// HeartbeatInterval calls the agent of a conversation after each period of this length without a message. It must be at
	// least 1m; only some types have heartbeats.
	HeartbeatInterval value.Duration `yaml:"heartbeat_interval" default:"none"`
	// Timeouts replace the values in defaults.timeouts, key by key.
	Timeouts Timeouts `yaml:"timeouts"`

	// SubAgents are the agents that this agent may dispatch while it works, if its type iterates.
	SubAgents []SubAgent `yaml:"sub_agents" default:"none"`
	// Orchestrator replaces the values in defaults.orchestrator, key by key.
	Orchestrator Orchestrator `yaml:"orchestrator"`

	// Skills are the skills that the agent may load: see docs/how-to/add-skills.md. [] means none.
	Skills []string `yaml:"skills" default:"all"`
	// RequiredSkills are skills whose text is always in the agent's prompt.
	RequiredSkills []string `yaml:"required_skills" default:"none"`
}

// MemoryBlock is a part of an agent's memory. It is created when the agent first reads its
// memory. From then on the configuration no longer changes it, unless it is read-only.
type MemoryBlock struct {
	// Label is the block's name, in the prompt and for the agent's tools; required.
	Label string `yaml:"label"`
	// Value is the initial value of the block.
	Value string `yaml:"value"`
	// Description tells the agent the purpose of the block.
	Description string `yaml:"description"`
	// Limit is the maximum length of the value.
	Limit *int `yaml:"limit" min:"1" unit:"characters" default:"20000"`
	// ReadOnly prevents the agent from changing the block, which then follows the configuration.
	ReadOnly *bool `yaml:"read_only" default:"false"`
}

// SubAgent is an agent that another agent may dispatch: only its name, or its name and settings.
type SubAgent struct {
	// Name is the name of the agent's definition, of a type that iterates; required. The agent has the mcp_servers and
	// sub_agents of its definition, whatever the chain and the stage set.
	Name string `yaml:"name,short"`
	// LLMProvider is the provider of this agent.
	LLMProvider string `yaml:"llm_provider"`
	// LLMBackend selects the way to reach the provider.
	LLMBackend string `yaml:"llm_backend" enum:"backend"`
	// MaxIterations limits the model calls of this agent.
	MaxIterations *int `yaml:"max_iterations" min:"1"`
	// MCPServers replace those of the agent's definition.
	MCPServers []string `yaml:"mcp_servers"`

	// Skills are further skills that the agent may load here, in addition to those of its definition. If the definition
	// has no list, the agent may load only these.
	Skills []string `yaml:"skills" default:"those of the agent's definition"`
	// RequiredSkills are added to those of the agent's definition.
	RequiredSkills []string `yaml:"required_skills" default:"none"`
}

// Orchestrator limits the sub-agents of an agent.
type Orchestrator struct {
	// MaxConcurrentAgents is how many sub-agents of an agent may work at the same time.
	MaxConcurrentAgents *int `yaml:"max_concurrent_agents" min:"1" max:"50"`
	// AgentTimeout limits the work of each sub-agent; time paused does not count.
	AgentTimeout value.Duration `yaml:"agent_timeout"`
	// MaxBudget limits the time from the first dispatch until the last sub-agent must end; time paused does not count.
	MaxBudget value.Duration `yaml:"max_budget"`
	// MaxDepth is how many levels of sub-agents may be dispatched; 1 means that sub-agents cannot dispatch others.
	MaxDepth *int `yaml:"max_depth" min:"1" max:"5"`
}
