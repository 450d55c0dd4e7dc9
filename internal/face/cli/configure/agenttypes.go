package configure

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
)

// NewAgentTypes returns the command agent-types.
func NewAgentTypes(c *base.CLI) *cobra.Command {
	var agent string
	cmd := &cobra.Command{
		Use:   "agent-types",
		Short: "Show the capabilities of each agent type",
		Example: `  starter agent-types
  starter agent-types --agent KubernetesAgent`,
		Long: `Show the capabilities of each agent type. The tools listed are the built-in ones. An
agent also has the tools of its MCP servers; it has the shell only if the configuration
enables it. With --agent, show the capabilities that this agent's definition gives it,
including the tools of its servers, which are queried.`,
		Args: base.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return agentTypes(cmd.Context(), c, agent) },
	}
	c.ConfigFlag(cmd)
	cmd.Flags().StringVar(&agent, "agent", "", "only this agent's capabilities")
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print as JSON")
	_ = cmd.RegisterFlagCompletionFunc("agent", base.Complete(c, base.AgentNames))
	return cmd
}

func agentTypes(ctx context.Context, c *base.CLI, name string) error {
	cfg, err := c.LoadConfig()
	switch {
	case err != nil:
		return err
	case name != "":
		return agentAbilities(ctx, c, cfg, name)
	}
	types := agentTypesOf(cfg)
	if c.JSON {
		return c.PrintJSON(types)
	}
	return printAgentTypes(c, types)
}

// abilities describes the abilities of an agent, or of every agent of a type.
type abilities struct {
	AllowedTools         []string      `json:"allowed_tools"`
	SupportsHeartbeats   bool          `json:"supports_heartbeats"`
	SystemPromptTemplate string        `json:"system_prompt_template"`
	MaxIterations        int           `json:"max_iterations"`
	Pattern              agent.Pattern `json:"pattern"`
}

func abilitiesOf(row agent.Type, iterations int, tools []string) abilities {
	return abilities{
		AllowedTools: append([]string{}, tools...), SupportsHeartbeats: row.Heartbeats, // not null in JSON
		SystemPromptTemplate: row.Prompt, MaxIterations: iterations, Pattern: row.Pattern,
	}
}

// agentType is a row of the type table. A type without its own limit has the limit from the configuration's defaults.
type agentType struct {
	Type    string   `json:"type"`
	Aliases []string `json:"aliases,omitempty"`
	abilities
}

func agentTypesOf(cfg *configuration.Config) (types []agentType) {
	standard := 0
	if n := cfg.Defaults.MaxIterations; n != nil {
		standard = *n
	}
	for _, row := range agent.Types() {
		types = append(types, agentType{row.Name, row.Aliases, abilitiesOf(row, cmp.Or(row.MaxIterations, standard), row.Tools)})
	}
	return types
}

func printAgentTypes(c *base.CLI, types []agentType) error {
	return base.PrintTable(c, "TYPE\tALIAS\tPATTERN\tHEARTBEATS\tPROMPT\tITERATIONS\tBUILT-IN TOOLS", types, func(t agentType) []any {
		alias := strings.Join(t.Aliases, ", ")
		if len(t.Aliases) > 0 && t.Aliases[0] == "" {
			alias = `""` + alias
		}
		return []any{
			t.Type, base.Dash(alias), t.Pattern, base.YesNo[t.SupportsHeartbeats], base.Dash(t.SystemPromptTemplate), t.MaxIterations,
			base.Dash(strings.Join(t.AllowedTools, ", ")),
		}
	})
}

// agentAbilities prints the abilities of one agent.
func agentAbilities(ctx context.Context, c *base.CLI, cfg *configuration.Config, name string) error {
	plan, err := cfg.AgentPlan(name)
	if err != nil {
		return toolError(err)
	}
	row, _ := agent.LookupType(plan.Type)
	var tools []string
	if row.Pattern.Tools() { // other patterns make requests without tools
		if tools, err = offeredTools(ctx, c, cfg, name); err != nil {
			return err
		}
	}
	able := abilitiesOf(row, plan.MaxIterations, tools)
	if c.JSON {
		return c.PrintJSON(able)
	}
	return printAbilities(c, row, able)
}

// offeredTools returns the tools that the policy offers an agent, the same as in an investigation.
func offeredTools(ctx context.Context, c *base.CLI, cfg *configuration.Config, name string) (names []string, err error) {
	box, err := c.Toolbox(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer box.Close()
	offered, unreached, err := box.List(ctx, name, "")
	if err != nil {
		return nil, toolError(err)
	}
	for _, err := range unreached {
		c.Say("warning: %v", err)
	}
	for _, t := range offered {
		names = append(names, terminal.CleanLine(t.Name))
	}
	return names, nil
}

func printAbilities(c *base.CLI, row agent.Type, able abilities) error {
	return base.PrintColumns(c, [][]string{
		{"type", row.Name}, {"pattern", string(able.Pattern)}, {"supports heartbeats", base.YesNo[able.SupportsHeartbeats]},
		{"system prompt template", cmp.Or(able.SystemPromptTemplate, "none")}, {"max iterations", strconv.Itoa(able.MaxIterations)},
		{"allowed tools", cmp.Or(strings.Join(able.AllowedTools, ", "), "none")},
	})
}
