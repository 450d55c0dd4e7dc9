package config

// Config holds everything that the files of a configuration may contain.
type Config struct {
	// Defaults are the settings that chains and agents inherit.
	Defaults Defaults `yaml:"defaults"`
	Entries  `yaml:",inline"`
	// System holds settings of the worker processes, which are read only when a process starts.
	System System `yaml:"system"`
	// Queue holds time limits and the concurrency of workers.
	Queue Queue `yaml:"queue"`

	// FallbackLists are lists of fallback providers, by name.
	FallbackLists map[string][]Fallback `yaml:"fallback_lists"`

	_ struct{} `foreign:"label_maps" instead:"Inquest has no labels; end the chain with an agent of type llm whose JSON reply has them"`
	_ struct{} `foreign:"mcpServers servers" instead:"it belongs to an MCP client's file: convert it with starter init DIR --from FILE"`
	_ struct{} `removed:"iteration_strategy" instead:"use type and llm_backend"`
}

// Entries are the named parts of a configuration. A program may define them in Go, in addition to YAML files or instead
// of them: the definitions and checks are the same. Text is used literally, except that values that may be secret (a
// server's env, bearer_token and custom_headers) may use variables.
type Entries struct {
	// Agents are the definitions of agents, by name.
	Agents map[string]*Agent `yaml:"agents"`
	// AgentChains are the chains, by name.
	AgentChains map[string]*Chain `yaml:"agent_chains"`
	// MCPServers are the servers whose tools agents use, by name.
	MCPServers map[string]*Server `yaml:"mcp_servers"`
	// LLMProviders are models and how to reach them, by name.
	LLMProviders map[string]*Provider `yaml:"llm_providers"`
	// Prompts are texts that stages may use instead of their agents' own prompts, by name. They may contain only these
	// variables, with the values they have when the agent begins: {{.Agent}}, {{.Description}}, {{.Chain}}, {{.Stage}},
	// {{.AlertType}}, {{.Iteration}}, {{.Request}}, {{.Runbook}}, {{.RequestedBy}}, {{.Tenant}}, {{.Session}},
	// {{.Metadata.KEY}} (from the request), and {{.Outputs.KEY}} (the output of an earlier stage, by its output key).
	Prompts map[string]string `yaml:"prompts,template"`
}
