package configure

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/virtual"
)

func agentListCommand(c *base.CLI) *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use: "list", Short: "List agents, including those created at run time", Args: base.Exactly(),
		Example: "  starter agent list --project payments",
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := agentsOf(cmd.Context(), c, f.project)
			if err != nil {
				return err
			}
			return printAgents(c, all)
		},
	}
	return f.add(c, cmd, false)
}

// listedAgent is an agent in a list.
type listedAgent struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Source      string `json:"source"` // config or virtual
	Version     int    `json:"version,omitempty"`
	Description string `json:"description,omitempty"`
}

// agentsOf returns the agents of a project.
func agentsOf(ctx context.Context, c *base.CLI, project string) ([]listedAgent, error) {
	found, err := agentInfos(ctx, c, project)
	if err != nil {
		return nil, err
	}
	all := []listedAgent{} // not null in JSON
	for _, a := range found {
		all = append(all, listedAgent{a.Name, a.Type, a.Source, a.Version, a.Description})
	}
	return all, nil
}

func agentInfos(ctx context.Context, c *base.CLI, project string) ([]system.AgentInfo, error) {
	if r, ok := c.API(); ok {
		return r.Agents(ctx, project)
	}
	cfg, err := c.LoadConfig()
	if err != nil {
		return nil, err
	}
	return c.Local().AgentInfos(ctx, cfg, project)
}

func printAgents(c *base.CLI, all []listedAgent) error {
	if c.JSON {
		return c.PrintJSON(all)
	}
	return base.PrintTable(c, "AGENT\tTYPE\tSOURCE\tDESCRIPTION", all, func(a listedAgent) []any {
		source := a.Source
		if a.Version > 0 {
			source = fmt.Sprintf("%s, version %d", a.Source, a.Version)
		}
		return []any{a.Name, a.Type, source, cmp.Or(a.Description, "-")}
	})
}

func agentShowCommand(c *base.CLI) *cobra.Command {
	var f agentFlags
	var versions bool
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Print an agent created at run time, as input for edit", Args: base.Exactly("NAME"),
		Example: "  starter agent show Triage > triage.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := c.Client().VirtualVersions(cmd.Context(), f.project, args[0])
			if err == nil && (len(all) == 0 || all[0].Deleted && !versions) {
				err = record.ErrNotFound
			}
			switch {
			case err != nil:
				return agentError(args[0], err)
			case versions && c.JSON:
				return c.PrintJSON(all)
			case c.JSON:
				return c.PrintJSON(all[0])
			case versions:
				return base.PrintTable(c, "VERSION\tBY\tAT\tDELETED", all, func(a virtual.Agent) []any {
					return []any{a.Version, a.By, a.At.Format("2006-01-02 15:04:05"), a.Deleted}
				})
			}
			text, err := configuration.WriteDefinition(all[0].Definition)
			if err == nil {
				_, err = c.Out.Write(text)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&versions, "versions", false, "list its versions")
	return f.add(c, cmd, false)
}

func completeAgents(c *base.CLI, f *agentFlags) base.Completions {
	return func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault // a file
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), base.CompleteTimeout)
		defer cancel()
		all, _ := agentsOf(ctx, c, f.project) // no completions if there is no answer in time
		for _, a := range all {
			if a.Source == virtual.Source || cmd.Name() == "run" {
				names = append(names, a.Name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
