package config

import "reflect"

// Chat lets people chat with an agent about an investigation of the chain. It is read and checked, and has no effect
// yet.
type Chat struct {
	// Enabled allows chats about an investigation.
	Enabled *bool `yaml:"enabled" default:"none"`
	// Agent is the definition of the agent that answers.
	Agent string `yaml:"agent" default:"none"`
	// LLMProvider is the provider of this agent.
	LLMProvider string `yaml:"llm_provider"`
	// LLMBackend selects the way to reach the provider.
	LLMBackend string `yaml:"llm_backend" enum:"backend"`
	// MCPServers are the servers of this agent.
	MCPServers []string `yaml:"mcp_servers"`
	// MaxIterations limits the model calls of an answer.
	MaxIterations *int `yaml:"max_iterations" min:"1"`
	// SubAgents are the agents that this agent may dispatch.
	SubAgents []SubAgent `yaml:"sub_agents"`
}

func (c Chat) validate(p path, v *validator) {
	if c.Agent != "" {
		v.agent(p.Key("agent"), c.Agent)
	}
	v.provider(p.Key("llm_provider"), c.LLMProvider)
	v.servers(p.Key("mcp_servers"), c.MCPServers)
	v.subAgents(p, c.SubAgents, c.Agent)
	if !reflect.ValueOf(c).IsZero() && (c.Enabled == nil || *c.Enabled) {
		v.Add(SeverityWarning, p, "chats about an investigation are not supported yet: the block has no effect. "+
			"Use `starter chat` to talk to an agent about a report")
	}
}
