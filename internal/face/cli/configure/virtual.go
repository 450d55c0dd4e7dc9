package configure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/virtual"
)

// NewAgent handles agents in the configuration and agents made at run time, which are in the workers' store. run runs one of them.
func NewAgent(c *base.CLI, run *cobra.Command) *cobra.Command {
	run.ValidArgsFunction = completeAgents(c, &agentFlags{})
	cmd := base.Group("agent", "List agents, and create, change, export and import them",
		agentListCommand(c), agentShowCommand(c), agentCreateCommand(c), agentEditCommand(c), agentCopyCommand(c), agentDeleteCommand(c),
		run, agentExportCommand(c), agentImportCommand(c))
	cmd.Aliases = []string{"agents"}
	cmd.Long = `List agents, and create agents at run time, without a deployment. Agents created at run
time belong to a project and are kept in the workers' store, with all versions. The
configuration declares such an agent with agent_source: virtual, and a chain names it like any
other. A running investigation keeps the version that it started with.`
	return cmd
}

// agentFlags are shared by the commands for agents made at run time.
type agentFlags struct {
	project, by string
	after       int
}

func (f *agentFlags) add(c *base.CLI, cmd *cobra.Command, changes bool) *cobra.Command {
	set := cmd.Flags()
	c.ConfigFlag(cmd)
	set.StringVar(&f.project, "project", "", "project of the agent (default: "+agent.DefaultProject+")")
	set.BoolVar(&c.JSON, "json", false, "print as JSON")
	if changes {
		set.StringVar(&f.by, "by", base.UserName(), "name recorded with the change")
	}
	if cmd.ValidArgsFunction == nil && strings.Contains(cmd.Use, " NAME") {
		cmd.ValidArgsFunction = completeAgents(c, f)
	}
	return cmd
}

// version adds the flag that prevents overwriting someone else's change.
func (f *agentFlags) version(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.after, "version", 0, "fail unless this is still the latest version")
}

// edit returns the edit that the flags describe, with the configuration's rules.
func (f *agentFlags) edit(c *base.CLI, name string) (e system.AgentEdit, cfg *configuration.Config, err error) {
	e = system.AgentEdit{Project: f.project, Name: name, By: base.Identity().Named(f.by), Channel: agent.ChannelCLI, After: f.after}
	if c.Remote() { // the API has its own rules
		return e, nil, nil
	}
	cfg, err = c.LoadConfig()
	e.Rules = cfg
	if err == nil && name != "" && cfg.Owns(name) {
		err = base.Usagef("agent %s is defined in the configuration: change it there", name)
	}
	return e, cfg, err
}

// read returns an edit with a definition from a file.
func (f *agentFlags) read(ctx context.Context, c *base.CLI, name, file string) (e system.AgentEdit, definition []byte, err error) {
	e, cfg, err := f.edit(c, name)
	if err == nil {
		definition, err = readDefinition(c, file)
	}
	if err == nil && !c.Remote() {
		err = known(ctx, c, cfg, &e, definition)
	}
	return e, definition, err
}

// known adds the available tools if a definition names any.
func known(ctx context.Context, c *base.CLI, cfg *configuration.Config, e *system.AgentEdit, definition []byte) error {
	d, err := virtual.Parse(definition)
	if err != nil || len(d.Tools()) == 0 {
		return nil // saving reports the error
	}
	box, err := c.Toolbox(ctx, cfg)
	if err != nil {
		return err
	}
	defer box.Close()
	e.Tools, err = box.Names(ctx)
	return err
}

// knownOf adds the available tools for a copy of another agent.
func knownOf(ctx context.Context, c *base.CLI, cfg *configuration.Config, e *system.AgentEdit) error {
	source, err := c.Local().VirtualAgent(ctx, e.Project, e.Name)
	if err != nil {
		return agentError(e.Name, err)
	}
	definition, err := json.Marshal(source.Definition)
	if err != nil {
		return err
	}
	return known(ctx, c, cfg, e, definition)
}

// agentError explains an error of an edit.
func agentError(name string, err error) error {
	problems, wrong := errors.AsType[virtual.Problems](err)
	switch {
	case wrong:
		return base.Usagef("the definition is not valid:\n%w", problems)
	case errors.Is(err, virtual.ErrTaken), errors.Is(err, virtual.ErrChanged):
		return base.Usagef("%w", err)
	case errors.Is(err, record.ErrNotFound):
		return base.Usagef("no agent %s was created at run time: run `starter agent list` to see all agents", name)
	case errors.Is(err, system.ErrNoStore):
		return base.Usagef("agents created at run time are in the workers' store, and no store was found here: set --store")
	}
	return err
}

// printAgent prints the result of an edit.
func printAgent(c *base.CLI, e system.AgentEdit, a virtual.Agent, err error) error {
	switch {
	case err != nil:
		return agentError(e.Name, err)
	case c.JSON:
		return c.PrintJSON(a)
	}
	_, err = fmt.Fprintf(c.Out, "%s, version %d\n", a.Name, a.Version)
	return err
}

// readDefinition reads a definition from a file.
func readDefinition(c *base.CLI, file string) ([]byte, error) {
	arg := file
	if file != "-" {
		arg = "@" + file
	}
	text, err := c.Text("FILE", arg)
	if err != nil {
		return nil, err
	}
	definition, err := configuration.ReadDefinition(file, []byte(text))
	if err != nil {
		return nil, base.Usagef("%w", err)
	}
	return definition, nil
}

func agentCreateCommand(c *base.CLI) *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use: "create FILE|-", Short: "Create an agent at run time", Args: base.Exactly("FILE"),
		Example: "  starter agent create triage.yaml --project payments",
		Long: `Create an agent at run time. FILE is YAML or JSON:

  name: Triage
  type: react_agent
  description: sorts alerts by affected service
  system_prompt: You sort alerts.
  config:
    default_model: openai:gpt-4o
    tool_config:
      enabled_tools: [k8s.get]
      tool_permissions: {k8s.get: {max_results: 50}}

The agent can never do more than defaults.tool_config of the configuration allows.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			e, definition, err := f.read(cmd.Context(), c, "", args[0])
			if err != nil {
				return err
			}
			a, err := c.Client().CreateAgent(cmd.Context(), e, definition)
			return printAgent(c, e, a, err)
		},
	}
	return f.add(c, cmd, true)
}

func agentEditCommand(c *base.CLI) *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use: "edit NAME FILE|-", Short: "Change an agent created at run time", Args: base.Exactly("NAME", "FILE"),
		Example: "  starter agent edit Triage triage.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			e, definition, err := f.read(cmd.Context(), c, args[0], args[1])
			if err != nil {
				return err
			}
			a, err := c.Client().ChangeAgent(cmd.Context(), e, definition)
			return printAgent(c, e, a, err)
		},
	}
	f.version(cmd)
	return f.add(c, cmd, true)
}

func agentCopyCommand(c *base.CLI) *cobra.Command {
	var f agentFlags
	var copied system.AgentCopy
	cmd := &cobra.Command{
		Use: "copy NAME NEW", Short: "Copy an agent created at run time", Args: base.Exactly("NAME", "NEW"),
		Example: "  starter agent copy Triage Triage2 --model anthropic:claude-sonnet-4-5",
		RunE: func(cmd *cobra.Command, args []string) error {
			e, cfg, err := f.edit(c, args[0])
			if err != nil {
				return err
			}
			if !c.Remote() {
				err = knownOf(cmd.Context(), c, cfg, &e)
			}
			if err != nil {
				return err
			}
			copied.NewName = args[1]
			a, err := c.Client().CopyAgent(cmd.Context(), e, copied)
			return printAgent(c, e, a, err)
		},
	}
	cmd.Flags().StringVar(&copied.Description, "description", "", "description of the copy (default: Copy of NAME)")
	cmd.Flags().StringVar(&copied.SystemPrompt, "system-prompt", "", "system prompt of the copy (default: the original's)")
	cmd.Flags().StringVar(&copied.Model, "model", "", "model of the copy (default: the original's)")
	return f.add(c, cmd, true)
}

func agentDeleteCommand(c *base.CLI) *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use: "delete NAME", Short: "Delete an agent created at run time; its versions are kept", Args: base.Exactly("NAME"),
		Example: "  starter agent delete Triage",
		RunE: func(cmd *cobra.Command, args []string) error {
			e, cfg, err := f.edit(c, args[0])
			if err != nil {
				return err
			}
			var chains []string
			if r, ok := c.API(); ok {
				chains, err = r.DeleteAgent(cmd.Context(), e)
			} else if err = c.Local().DeleteAgent(cmd.Context(), e); err == nil {
				chains = cfg.ChainsWith(args[0], f.project)
			}
			if err != nil {
				return agentError(args[0], err)
			}
			if c.JSON {
				return c.PrintJSON(map[string]any{"name": args[0], "chains": append([]string{}, chains...)})
			}
			if len(chains) > 0 {
				c.Say("these chains use %s and cannot start until an agent with this name exists again: %s", args[0], strings.Join(chains, ", "))
			}
			_, err = fmt.Fprintf(c.Out, "deleted %s\n", args[0])
			return err
		},
	}
	f.version(cmd)
	return f.add(c, cmd, true)
}

// virtualFindings warns of chains whose agents do not exist, if the workers' store is available to check.
func virtualFindings(ctx context.Context, c *base.CLI, cfg *configuration.Config) (out config.Findings) {
	if c.Remote() || c.Full == nil {
		return nil // the API's worker has another configuration
	}
	for _, chain := range slices.Sorted(maps.Keys(cfg.AgentChains)) {
		names := cfg.VirtualOf(chain)
		if len(names) == 0 {
			continue
		}
		for _, project := range projectsOf(cfg.AgentChains[chain]) {
			made, err := c.Local().VirtualAgents(ctx, project, false)
			if err != nil {
				return nil // there is no store; starting the chain reports it
			}
			for _, name := range names {
				if !slices.ContainsFunc(made, func(a virtual.Agent) bool { return a.Name == name }) {
					out = append(out, config.Finding{
						Severity: config.SeverityWarning, Path: "agent_chains." + chain,
						Message: fmt.Sprintf("agent %q must be created at run time, but the project %q has no agent with this name", name, project),
					})
				}
			}
		}
	}
	return out
}

// projectsOf returns the projects to check a chain in. The default project stands for all.
func projectsOf(chain *config.Chain) []string {
	if chain.Projects == nil || slices.Contains(chain.Projects, config.AllProjects) {
		return []string{agent.DefaultProject}
	}
	return chain.Projects
}
