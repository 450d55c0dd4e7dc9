package configure

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/system"
)

// toolTypes are the possible types of tools.
var toolTypes = []system.ToolType{system.ToolMCP, system.ToolCode}

// toolsFlags are the flags of the tools command.
type toolsFlags struct {
	agent, search, kind string
}

// NewTools returns the command tools.
func NewTools(c *base.CLI) *cobra.Command {
	var f toolsFlags
	cmd := &cobra.Command{
		Use:     "tools",
		Short:   "List the tools of a configuration",
		Example: "  starter tools --config inquest --agent LogAgent",
		Long: `List the tools of a configuration: those of its MCP servers, which are queried from here,
and the built-in ones. With --agent, list only the tools that this agent's definition
gives it, without the servers that chains and stages add. RISK FROM is the source of the
risk. APPROVAL is "always" if every call needs a person's approval; calls to other tools
can also need approval: to repeat a call, or after the agent has read untrusted text. The command
warns about servers that it cannot reach, tools that cannot be used, and tools whose
description has changed since an execution in the workers' store last listed them.`,
		Args: base.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return tools(cmd.Context(), c, f) },
	}
	c.ConfigFlag(cmd)
	set := cmd.Flags()
	set.StringVar(&f.agent, "agent", "", "only tools that this agent can use")
	set.StringVar(&f.search, "search", "", "only tools whose name or description contains this text")
	set.StringVar(&f.kind, "type", "", fmt.Sprintf("only tools of this type: %v", toolTypes))
	set.BoolVar(&c.JSON, "json", false, "print the tools as JSON, with their schemas")
	_ = cmd.RegisterFlagCompletionFunc("agent", base.Complete(c, base.AgentNames))
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(base.Texts(toolTypes), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// toolsHere lists the tools that can be reached from here, and the problems with the others.
func toolsHere(ctx context.Context, c *base.CLI, agentName string, kind system.ToolType) ([]system.ToolInfo, []error, error) {
	cfg, err := c.LoadConfig()
	if err != nil {
		return nil, nil, err
	}
	for _, lacking := range cfg.Unkept() {
		c.Say("warning: the shell on this host: %v", lacking)
	}
	box, err := c.Toolbox(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	defer box.Close()
	return box.List(ctx, agentName, kind)
}

// toolsOf lists the tools of the API's configuration if there is an API, and otherwise those that can be reached from here.
func toolsOf(ctx context.Context, c *base.CLI, agentName string, kind system.ToolType) ([]system.ToolInfo, []error, error) {
	if r, ok := c.API(); ok {
		return r.Tools(ctx, agentName, kind)
	}
	return toolsHere(ctx, c, agentName, kind)
}

func tools(ctx context.Context, c *base.CLI, f toolsFlags) error {
	kind := system.ToolType(f.kind)
	if kind != "" && !slices.Contains(toolTypes, kind) {
		return base.Usagef("--type %q: use one of %v", f.kind, toolTypes)
	}
	tools, unreached, err := toolsOf(ctx, c, f.agent, kind)
	if err != nil {
		return toolError(err)
	}
	if len(tools) == 0 && len(unreached) > 0 {
		return fmt.Errorf("no tools could be listed: %w", errors.Join(unreached...))
	}
	for _, err := range unreached {
		c.Say("warning: %v", err)
	}
	tools = system.Matching(tools, f.search)
	if c.JSON {
		return c.PrintJSON(append([]system.ToolInfo{}, tools...)) // not null in JSON
	}
	return base.PrintTable(c, "NAME\tTYPE\tRISK\tRISK FROM\tIDEMPOTENCY\tAPPROVAL\tDESCRIPTION", tools, func(t system.ToolInfo) []any {
		approval := map[bool]string{true: "always", false: "-"}[t.NeedsApproval]
		return []any{reveal.Name(t.Name), t.Type, t.Risk, t.RiskFrom, t.Idempotency, approval, base.Shorten(t.Description)}
	})
}
