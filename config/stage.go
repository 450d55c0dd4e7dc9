package config

import "github.com/inquest-dev/inquest/value"

// Stage is one step of a chain: agents that work in parallel.
type Stage struct {
	// Name is unique within the chain; required.
	Name string `yaml:"name"`
	// Type action marks a stage that changes running systems: all of its agents have the type action.
	Type string `yaml:"type" enum:"stage type" default:"investigation"`
	// Agents work in parallel; at least one, at most 50.
	Agents []*StageAgent `yaml:"agents"`
	// Replicas runs the only agent of the stage several times, as NAME-1, NAME-2, …
	Replicas *int `yaml:"replicas" min:"1" max:"50" default:"1"`
	// SuccessPolicy is how many of the agents must succeed.
	SuccessPolicy value.SuccessPolicy `yaml:"success_policy" enum:"success policy"`
	// MaxIterations limits the model calls of every agent of the stage.
	MaxIterations *int `yaml:"max_iterations" min:"1"`
	// MCPServers replace those of the chain and of the agents' definitions.
	MCPServers []string `yaml:"mcp_servers"`
	// FallbackProviders are tried in order when the provider fails; [] means none.
	FallbackProviders []Fallback `yaml:"fallback_providers"`
	// FallbackList names an entry of fallback_lists to use instead of fallback_providers.
	FallbackList string `yaml:"fallback_list" default:"none"`
	// ToolConfig replaces the values of the chain and of the agents' definitions, key by key.
	ToolConfig ToolConfig `yaml:"tool_config"`
	// Synthesis combines the results of several agents.
	Synthesis Synthesis `yaml:"synthesis"`
	// AgentReview lets an agent, or people, review the stage's result before the chain continues. A result that is not
	// approved goes back, with the comments, to agent_review_resume_stage, or else to the stage itself. That begins
	// another pass; bounds.max_passes limits their number.
	AgentReview *AgentReview `yaml:"agent_review" default:"none"`
	// Timeout limits the stage; time paused does not count.
	Timeout value.Duration `yaml:"timeout" default:"none"`
	// Temperature is passed to the model of every agent of the stage.
	Temperature *float32 `yaml:"temperature" min:"0" max:"2"`
	// MaxTokens limits every reply to the agents of the stage.
	MaxTokens *int `yaml:"max_tokens" min:"1" unit:"tokens"`
	// Thinking replaces the value in the agents' definitions.
	Thinking string `yaml:"thinking"`
	// ReasoningEffort replaces the value in the agents' definitions.
	ReasoningEffort string `yaml:"reasoning_effort" enum:"reasoning effort"`
	// Mock replaces every agent of the stage that names no mock itself.
	Mock string `yaml:"mock" default:"none"`
	// PromptKey names the entry of prompts for every agent of the stage that has no prompt_key itself.
	PromptKey string `yaml:"prompt_key" default:"the agent's system_prompt, else the prompt of its type"`
	// Evidence makes the stage's agents with tools quote the evidence for their conclusions. Later agents get the
	// quotes with numbers, so that they can cite them. Inquest checks the report against the quotes that it cites.
	Evidence *bool `yaml:"evidence" default:"false"`

	// SubAgents replace those of the chain and of the agents' definitions; [] means none.
	SubAgents []SubAgent `yaml:"sub_agents"`

	Flow `yaml:",inline"`
}

// Synthesis is the agent that combines the results of a stage's agents.
type Synthesis struct {
	// Agent is the name of an agent definition of type synthesis.
	Agent string `yaml:"agent" default:"SynthesisAgent"`
	// LLMBackend selects the way to reach the provider.
	LLMBackend string `yaml:"llm_backend" enum:"backend"`
	// LLMProvider is the provider of this agent.
	LLMProvider string `yaml:"llm_provider"`
	// Mock replaces the agent if a request sets use_mock.
	Mock string `yaml:"mock" default:"none"`
}

// AgentReview says how a stage's result is reviewed.
type AgentReview struct {
	// Agent is the definition of the reviewing agent, of a type that uses a model. Without it, people review.
	Agent string `yaml:"agent" default:"none: people review"`
	// Question is what the reviewer is asked about the result.
	Question string `yaml:"question" default:"Is it correct, complete, and supported by the evidence?"`
	// LLMBackend selects the way to reach the agent's provider.
	LLMBackend string `yaml:"llm_backend" enum:"backend"`
	// LLMProvider is the provider of this agent.
	LLMProvider string `yaml:"llm_provider"`
	// Mock replaces the agent if a request sets use_mock.
	Mock string `yaml:"mock" default:"none"`
}

// StageAgent is an agent's entry in a stage.
type StageAgent struct {
	// Name is the name of the agent's definition; required.
	Name string `yaml:"name"`
	// Type repeats the type of the definition and has no other effect.
	Type string `yaml:"type" enum:"agent type"`
	// LLMProvider is the provider of this agent.
	LLMProvider string `yaml:"llm_provider"`
	// LLMBackend selects the way to reach the provider.
	LLMBackend string `yaml:"llm_backend" enum:"backend"`
	// MaxIterations limits the model calls of this agent.
	MaxIterations *int `yaml:"max_iterations" min:"1"`
	// MCPServers replace those of the stage, of the chain and of the agent's definition.
	MCPServers []string `yaml:"mcp_servers"`
	// FallbackProviders are tried in order when the provider fails; [] means none.
	FallbackProviders []Fallback `yaml:"fallback_providers"`
	// FallbackList names an entry of fallback_lists to use instead of fallback_providers.
	FallbackList string `yaml:"fallback_list" default:"none"`
	// ToolConfig replaces the values of the stage, of the chain and of the agent's definition, key by key.
	ToolConfig ToolConfig `yaml:"tool_config"`
	// Timeout limits this agent; time paused does not count.
	Timeout value.Duration `yaml:"timeout" default:"timeouts.agent"`
	// Temperature is passed to the model.
	Temperature *float32 `yaml:"temperature" min:"0" max:"2"`
	// MaxTokens limits a reply.
	MaxTokens *int `yaml:"max_tokens" min:"1" unit:"tokens"`
	// Thinking replaces the value of the stage and of the agent's definition.
	Thinking string `yaml:"thinking"`
	// ReasoningEffort replaces the value of the stage and of the agent's definition.
	ReasoningEffort string `yaml:"reasoning_effort" enum:"reasoning effort"`
	// Mock is a function that the workers' program has registered in Go. It replaces the agent if a request sets
	// use_mock. If the program has no such function, the agent itself works.
	Mock string `yaml:"mock" default:"the stage's"`
	// PromptKey names an entry of prompts, which replaces the type's own prompt.
	PromptKey string `yaml:"prompt_key" default:"the stage's"`

	// SubAgents replace those of the stage, of the chain and of the agent's definition; [] means none.
	SubAgents []SubAgent `yaml:"sub_agents"`
	// Orchestrator replaces the values in the agent's definition, key by key.
	Orchestrator Orchestrator `yaml:"orchestrator"`

	Flow `yaml:",inline"`

	// Skills are further skills that the agent may load here, in addition to those of its definition. If the definition
	// has no list, the agent may load only these.
	Skills []string `yaml:"skills" default:"those of the agent's definition"`
	// RequiredSkills are added to those of the agent's definition.
	RequiredSkills []string `yaml:"required_skills" default:"none"`
}
