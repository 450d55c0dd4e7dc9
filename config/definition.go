package config

import (
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Agent is an agent's definition.
type Agent struct {
	Type               string        `yaml:"type"`
	Description        string        `yaml:"description"`
	MCPServers         []string      `yaml:"mcp_servers"`
	CustomInstructions string        `yaml:"custom_instructions"`
	LLMBackend         string        `yaml:"llm_backend"`
	MaxIterations      *int          `yaml:"max_iterations"`
	OnLimit            agent.OnLimit `yaml:"on_limit"`
	Temperature        *float32      `yaml:"temperature"`
	MaxTokens          *int          `yaml:"max_tokens"`
	Compression        Compression   `yaml:"compression"`
	Shell              Shell         `yaml:"shell"`
	Timeouts           Timeouts      `yaml:"timeouts"`
	_                  struct{}      `later:"model_role tool_ids native_tools orchestrator skills required_skills tool_config memory_blocks heartbeat_interval"`
}

func (a *Agent) validate(p path, v *validator) {
	v.name(p)
	v.backend(p.key("llm_backend"), a.LLMBackend)
	v.servers(p.key("mcp_servers"), a.MCPServers)
	v.atLeast(p.key("max_iterations"), a.MaxIterations, 1)
	v.atLeast(p.key("max_tokens"), a.MaxTokens, 1)
	v.oneOf(p.key("on_limit"), string(a.OnLimit), string(agent.OnLimitConclude), string(agent.OnLimitError))
	if t := a.Temperature; t != nil && !(*t >= 0 && *t <= 2) { // NaN is neither
		v.errorf(p.key("temperature"), "temperature must be between 0 and 2")
	}
	a.Compression.validate(p.key("compression"), v)
	a.Shell.validate(p.key("shell"), v)
	row, ok := v.agentType(p.key("type"), a.Type)
	if ok && value(a.Shell.Enabled) && !slices.Contains(row.Tools, agent.ToolShell) {
		v.errorf(p.key("shell").key("enabled"), "an agent of type %q has no shell", row.Name)
	}
}

func (a *Agent) settings() settings {
	return settings{
		Backend: a.LLMBackend, Servers: notEmpty(a.MCPServers), MaxIterations: a.MaxIterations, OnLimit: a.OnLimit,
		Temperature: a.Temperature, MaxTokens: a.MaxTokens,
		Compression: a.Compression, Shell: a.Shell.settings(), Timeouts: a.Timeouts,
	}
}

// row is the agent's row of the type table; the zero row if there is none.
func (a *Agent) row() agent.Type {
	row, _ := agent.LookupType(a.Type)
	return row
}

// notEmpty makes an empty list one that is not set, so that it clears nothing.
func notEmpty[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}
