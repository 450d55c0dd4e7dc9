package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/reveal"
)

// toolTypes are the possible types of tools.
var toolTypes = []app.ToolType{app.ToolMCP, app.ToolCode}

// toolsFlags are the flags of the tools command.
type toolsFlags struct {
	agent, search, kind string
}

func toolsCommand(c *cli) *cobra.Command {
	var f toolsFlags
	cmd := &cobra.Command{
		Use:     "tools",
		Short:   "List the tools of a configuration",
		Example: "  starter tools --config inquest --agent LogAgent",
		Long: `List the tools of a configuration: those of its MCP servers, which are reached from
here, and those that are built in. With --agent, only what that agent is offered,
by its definition: servers that chains and stages add are not known here. RISK FROM
says whose word the risk is, ASKS whether a person decides on each call. A server that
cannot be reached is a warning, and so are a tool that cannot be used, and what a
server says otherwise than when an execution of the workers' store last asked it.`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return tools(cmd.Context(), c, f) },
	}
	c.configFlag(cmd)
	set := cmd.Flags()
	set.StringVar(&f.agent, "agent", "", "only what this agent is offered")
	set.StringVar(&f.search, "search", "", "only those with this text in their name or description")
	set.StringVar(&f.kind, "type", "", fmt.Sprintf("only those of this type: %v", toolTypes))
	set.BoolVar(&c.json, "json", false, "print the tools as JSON, with their schemas")
	_ = cmd.RegisterFlagCompletionFunc("agent", complete(c, agentNames))
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(texts(toolTypes), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// toolsHere lists the tools that can be reached from here, and the problems with the others.
func (c *cli) toolsHere(ctx context.Context, agentName string, kind app.ToolType) ([]app.ToolInfo, []error, error) {
	cfg, err := c.loadConfig()
	if err != nil {
		return nil, nil, err
	}
	for _, lacking := range cfg.Unkept() {
		c.say("warning: the shell, here: %v", lacking)
	}
	box, err := toolbox(ctx, c, cfg)
	if err != nil {
		return nil, nil, err
	}
	defer box.Close()
	return box.List(ctx, agentName, kind)
}

func tools(ctx context.Context, c *cli, f toolsFlags) error {
	kind := app.ToolType(f.kind)
	if kind != "" && !slices.Contains(toolTypes, kind) {
		return usagef("--type %q: use one of %v", f.kind, toolTypes)
	}
	list := c.toolsHere
	if r, ok := c.api(); ok {
		list = r.Tools
	}
	tools, unreached, err := list(ctx, f.agent, kind)
	if err != nil {
		return toolError(err)
	}
	if len(tools) == 0 && len(unreached) > 0 {
		return fmt.Errorf("no tools could be listed: %w", errors.Join(unreached...))
	}
	for _, err := range unreached {
		c.say("warning: %v", err)
	}
	tools = app.Matching(tools, f.search)
	if c.json {
		return c.printJSON(append([]app.ToolInfo{}, tools...)) // not null in JSON
	}
	return printTable(c, "NAME\tTYPE\tRISK\tRISK FROM\tIDEMPOTENCY\tASKS\tDESCRIPTION", tools, func(t app.ToolInfo) []any {
		asks := map[bool]string{true: "a person", false: "nobody"}[t.NeedsApproval]
		return []any{reveal.Name(t.Name), t.Type, t.Risk, t.RiskFrom, t.Idempotency, asks, shorten(t.Description)}
	})
}
