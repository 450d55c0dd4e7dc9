package main

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/terminal"
)

func agentTypesCommand(c *cli) *cobra.Command {
	var agent string
	cmd := &cobra.Command{
		Use:   "agent-types",
		Short: "Show what agents of each type are able to do",
		Example: `  starter agent-types
  starter agent-types --agent KubernetesAgent`,
		Long: `Show what agents of each type are able to do: the table that everything goes by. Its
tools are those that are built in; an agent also has those of its MCP servers, and
the shell only where the configuration switches it on. With --agent, what that agent
is able to do by its definition, the tools of its servers included, which are asked.`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return agentTypes(cmd.Context(), c, agent) },
	}
	c.configFlag(cmd)
	cmd.Flags().StringVar(&agent, "agent", "", "only what this agent is able to do")
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON")
	_ = cmd.RegisterFlagCompletionFunc("agent", complete(c, agentNames))
	return cmd
}

func agentTypes(ctx context.Context, c *cli, name string) error {
	cfg, err := c.loadConfig()
	switch {
	case err != nil:
		return err
	case name != "":
		return agentAbilities(ctx, c, cfg, name)
	}
	types := agentTypesOf(cfg)
	if c.json {
		return c.printJSON(types)
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

func agentTypesOf(cfg *config.Config) (types []agentType) {
	standard := 0
	if n := cfg.Defaults.MaxIterations; n != nil {
		standard = *n
	}
	for _, row := range agent.Types() {
		types = append(types, agentType{row.Name, row.Aliases, abilitiesOf(row, cmp.Or(row.MaxIterations, standard), row.Tools)})
	}
	return types
}

func printAgentTypes(c *cli, types []agentType) error {
	return printTable(c, "TYPE\tALIAS\tPATTERN\tHEARTBEATS\tPROMPT\tITERATIONS\tBUILT-IN TOOLS", types, func(t agentType) []any {
		alias := strings.Join(t.Aliases, ", ")
		if len(t.Aliases) > 0 && t.Aliases[0] == "" {
			alias = `""` + alias
		}
		return []any{
			t.Type, dash(alias), t.Pattern, yesNo[t.SupportsHeartbeats], dash(t.SystemPromptTemplate), t.MaxIterations,
			dash(strings.Join(t.AllowedTools, ", ")),
		}
	})
}

var yesNo = map[bool]string{true: "yes", false: "no"}

// agentAbilities prints the abilities of one agent.
func agentAbilities(ctx context.Context, c *cli, cfg *config.Config, name string) error {
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
	if c.json {
		return c.printJSON(able)
	}
	return printAbilities(c, row, able)
}

// offeredTools returns the tools that the policy offers an agent, the same as in an investigation.
func offeredTools(ctx context.Context, c *cli, cfg *config.Config, name string) (names []string, err error) {
	box, err := toolbox(ctx, c, cfg)
	if err != nil {
		return nil, err
	}
	defer box.Close()
	offered, unreached, err := box.List(ctx, name, "")
	if err != nil {
		return nil, toolError(err)
	}
	for _, err := range unreached {
		c.say("warning: %v", err)
	}
	for _, t := range offered {
		names = append(names, terminal.CleanLine(t.Name))
	}
	return names, nil
}

func printAbilities(c *cli, row agent.Type, able abilities) error {
	return printColumns(c, [][]string{
		{"type", row.Name}, {"pattern", string(able.Pattern)}, {"supports heartbeats", yesNo[able.SupportsHeartbeats]},
		{"system prompt template", cmp.Or(able.SystemPromptTemplate, "none")}, {"max iterations", strconv.Itoa(able.MaxIterations)},
		{"allowed tools", cmp.Or(strings.Join(able.AllowedTools, ", "), "none")},
	})
}
