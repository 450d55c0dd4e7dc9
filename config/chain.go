package config

import (
	"maps"
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// Chain is a sequence of stages that investigates certain types of alerts.
type Chain struct {
	// AlertTypes are the types of alerts that this chain investigates. No other chain may have them.
	AlertTypes []string `yaml:"alert_types"`
	// Description describes the chain's purpose, in lists.
	Description string `yaml:"description"`
	// Projects are the only projects that may run and see the chain.
	Projects []string `yaml:"projects" default:"all"`
	// Stages run one after the other; at least one is required.
	Stages []*Stage `yaml:"stages"`
	// LLMProvider is the provider of all agents of the chain.
	LLMProvider string `yaml:"llm_provider"`
	// LLMBackend selects the way to reach the provider.
	LLMBackend string `yaml:"llm_backend" enum:"backend"`
	// FallbackProviders are tried in order when the provider fails; [] means none.
	FallbackProviders []Fallback `yaml:"fallback_providers"`
	// FallbackList names an entry of fallback_lists to use instead of fallback_providers.
	FallbackList string `yaml:"fallback_list" default:"none"`
	// MaxIterations limits the model calls of every agent of the chain.
	MaxIterations *int `yaml:"max_iterations" min:"1"`
	// MCPServers replace those of the agents' definitions.
	MCPServers []string `yaml:"mcp_servers"`
	// ToolConfig overrides that of the agents' definitions, key by key.
	ToolConfig ToolConfig `yaml:"tool_config"`
	// Timeout limits the investigation; time paused does not count.
	Timeout plan.Duration `yaml:"timeout" default:"queue.session_timeout"`
	// Runbook is the procedure that all agents are asked to follow.
	Runbook string `yaml:"runbook"`
	// Bounds limit the chain in one investigation.
	Bounds Bounds `yaml:"bounds"`
	// Budgets override those of defaults, one by one.
	Budgets Budgets `yaml:"budgets"`
	// Requests override those of defaults, key by key.
	Requests Requests `yaml:"requests"`
	// Dedup decides which requests are duplicates.
	Dedup Dedup `yaml:"dedup"`
	// Interrupts say how the chain waits for people.
	Interrupts Interrupts `yaml:"interrupts"`
	// ExecutiveSummary summarises the result of an investigation in a few lines.
	ExecutiveSummary Closing `yaml:"executive_summary"`
	// ExecutiveSummaryProvider is the provider of the executive summary. Setting it turns the summary on, unless
	// executive_summary.enabled says otherwise.
	ExecutiveSummaryProvider string `yaml:"executive_summary_provider" default:"none"`
	// ExecutiveSummaryBackend selects the way to reach that provider.
	ExecutiveSummaryBackend string `yaml:"executive_summary_backend" enum:"backend" default:"none"`
	// ExecutiveSummaryFallbackList is the same as executive_summary.fallback_list.
	ExecutiveSummaryFallbackList string `yaml:"executive_summary_fallback_list" default:"none"`
	// Scoring judges a completed investigation.
	Scoring Closing `yaml:"scoring"`

	// Chat configures chats about an investigation. It is read and checked, and has no effect yet.
	Chat Chat `yaml:"chat"`

	// SubAgents are the agents that every iterating agent of the chain may dispatch; they replace those of the
	// definitions.
	SubAgents []SubAgent `yaml:"sub_agents"`

	_ struct{} `later:"label_map compose compose_provider compose_backend compose_fallback_list"`
}

func (c *Chain) validate(p path, v *validator) {
	v.name(p)
	Grant{Projects: c.Projects}.validate(p, v)
	v.provider(p.Key("llm_provider"), c.LLMProvider)
	v.servers(p.Key("mcp_servers"), c.MCPServers)
	v.subAgents(p, c.SubAgents, "")
	v.provider(p.Key("executive_summary_provider"), c.ExecutiveSummaryProvider)
	for k, block := range c.closings() {
		k.check(p.Key(k.key), v, *block)
	}
	if len(c.Stages) == 0 {
		v.Errorf(p.Key("stages"), "at least one stage is required")
	}
	for i, s := range c.Stages {
		first := slices.IndexFunc(c.Stages, func(other *Stage) bool { return other.Name == s.Name })
		if first < i && s.Name != "" {
			v.Errorf(p.Key("stages").Index(i).Key("name"), "the name %q is taken by stages[%d]", s.Name, first)
		}
	}
	c.chart().validate(p, v)
}

// ChainIn reports whether the chain exists and the project may run it.
func (c *Config) ChainIn(chain, project string) bool {
	own, ok := c.AgentChains[chain]
	if project == "" {
		project = agent.DefaultProject
	}
	return ok && (own.Projects == nil || slices.Contains(own.Projects, project) || slices.Contains(own.Projects, AllProjects))
}

// ChainInfo describes a chain in lists.
type ChainInfo struct {
	Name        string   `json:"name"`
	AlertTypes  []string `json:"alert_types,omitempty"`
	Description string   `json:"description,omitempty"`
	Stages      []string `json:"stages"`
	BuiltIn     bool     `json:"built_in,omitempty"`
}

// Chains describes all chains, sorted by name, with the alert types that resolve to them.
func (c *Config) Chains() []ChainInfo {
	infos := make([]ChainInfo, 0, len(c.AgentChains))
	for _, name := range slices.Sorted(maps.Keys(c.AgentChains)) {
		chain := c.AgentChains[name]
		info := ChainInfo{
			Name: name, Description: chain.Description, Stages: []string{},
			BuiltIn: c.report.BuiltIn(entryPath("agent_chains", name)),
		}
		for _, alertType := range chain.AlertTypes {
			if c.chainOf[alertType] == name {
				info.AlertTypes = append(info.AlertTypes, alertType)
			}
		}
		for _, stage := range chain.Stages {
			info.Stages = append(info.Stages, stage.Name)
		}
		infos = append(infos, info)
	}
	return infos
}
