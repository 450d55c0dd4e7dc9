package main

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
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/virtual"
)

// agentCommand handles agents in the configuration and agents made at run time, which are in the workers' store.
func agentCommand(c *cli) *cobra.Command {
	cmd := group("agent", "List agents, make some at run time, take one somewhere else",
		agentListCommand(c), agentShowCommand(c), agentCreateCommand(c), agentEditCommand(c), agentCopyCommand(c), agentDeleteCommand(c),
		agentRunCommand(c), agentExportCommand(c), agentImportCommand(c))
	cmd.Aliases = []string{"agents"}
	cmd.Long = `List agents, and make some without a deploy: they are in the workers' store, each in a
project, and every version is kept. A chain names one like any other; the
configuration says of it agent_source: virtual. What runs keeps the version that it
began with.`
	return cmd
}

// agentFlags are shared by the commands for agents made at run time.
type agentFlags struct {
	project, by string
	after       int
}

func (f *agentFlags) add(c *cli, cmd *cobra.Command, changes bool) *cobra.Command {
	set := cmd.Flags()
	c.configFlag(cmd)
	set.StringVar(&f.project, "project", "", "whose agent it is (default: "+agent.DefaultProject+")")
	set.BoolVar(&c.json, "json", false, "print JSON")
	if changes {
		set.StringVar(&f.by, "by", userName(), "who does it")
	}
	if cmd.ValidArgsFunction == nil && strings.Contains(cmd.Use, " NAME") {
		cmd.ValidArgsFunction = completeAgents(c, f)
	}
	return cmd
}

// version adds the flag that prevents overwriting someone else's change.
func (f *agentFlags) version(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.after, "version", 0, "only if this is its last version still")
}

// edit returns the edit that the flags describe, with the configuration's rules.
func (f *agentFlags) edit(c *cli, name string) (e client.AgentEdit, cfg *config.Config, err error) {
	e = client.AgentEdit{Project: f.project, Name: name, By: identity().Named(f.by), Channel: agent.ChannelCLI, After: f.after}
	if c.remote() { // the API has its own rules
		return e, nil, nil
	}
	cfg, err = c.loadConfig()
	e.Rules = cfg
	if err == nil && name != "" && cfg.Owns(name) {
		err = usagef("the agent %s is the configuration's: it is changed there", name)
	}
	return e, cfg, err
}

// read returns an edit with a definition from a file.
func (f *agentFlags) read(ctx context.Context, c *cli, name, file string) (e client.AgentEdit, definition []byte, err error) {
	e, cfg, err := f.edit(c, name)
	if err == nil {
		definition, err = c.definition(file)
	}
	if err == nil && !c.remote() {
		err = known(ctx, c, cfg, &e, definition)
	}
	return e, definition, err
}

// known adds the available tools if a definition names any.
func known(ctx context.Context, c *cli, cfg *config.Config, e *client.AgentEdit, definition []byte) error {
	d, err := virtual.Parse(definition)
	if err != nil || len(d.Tools()) == 0 {
		return nil // saving reports the error
	}
	box, err := toolbox(ctx, c, cfg)
	if err != nil {
		return err
	}
	defer box.Close()
	e.Tools, err = box.Names(ctx)
	return err
}

// knownOf adds the available tools for a copy of another agent.
func knownOf(ctx context.Context, c *cli, cfg *config.Config, e *client.AgentEdit) error {
	source, err := c.local().VirtualAgent(ctx, e.Project, e.Name)
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
		return usagef("the definition is wrong:\n%w", problems)
	case errors.Is(err, virtual.ErrTaken), errors.Is(err, virtual.ErrChanged):
		return usagef("%w", err)
	case errors.Is(err, record.ErrNotFound):
		return usagef("there is no agent %s that was made at run time: `starter agent list` has them", name)
	case errors.Is(err, client.ErrNoStore):
		return usagef("agents that are made at run time are in the workers' store, and there is none here: --store says where it is")
	}
	return err
}

// printAgent prints the result of an edit.
func (c *cli) printAgent(e client.AgentEdit, a virtual.Agent, err error) error {
	switch {
	case err != nil:
		return agentError(e.Name, err)
	case c.json:
		return c.printJSON(a)
	}
	_, err = fmt.Fprintf(c.out, "%s, version %d\n", a.Name, a.Version)
	return err
}

// definition reads a definition from a file.
func (c *cli) definition(file string) ([]byte, error) {
	arg := file
	if file != "-" {
		arg = "@" + file
	}
	text, err := c.text("FILE", arg)
	if err != nil {
		return nil, err
	}
	definition, err := config.ReadDefinition(file, []byte(text))
	if err != nil {
		return nil, usagef("%w", err)
	}
	return definition, nil
}

func agentCreateCommand(c *cli) *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use: "create FILE|-", Short: "Make an agent at run time", Args: exactly("FILE"),
		Example: "  starter agent create triage.yaml --project payments",
		Long: `Make an agent at run time. FILE is YAML or JSON:

  name: Triage
  type: react_agent
  description: sorts alerts by what they break
  system_prompt: You sort alerts.
  config:
    default_model: openai:gpt-4o
    tool_config:
      enabled_tools: [k8s.get]
      tool_permissions: {k8s.get: {max_results: 50}}

What it may do is never more than defaults.tool_config of the configuration allows.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			e, definition, err := f.read(cmd.Context(), c, "", args[0])
			if err != nil {
				return err
			}
			a, err := c.client().CreateAgent(cmd.Context(), e, definition)
			return c.printAgent(e, a, err)
		},
	}
	return f.add(c, cmd, true)
}

func agentEditCommand(c *cli) *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use: "edit NAME FILE|-", Short: "Change an agent that was made at run time", Args: exactly("NAME", "FILE"),
		Example: "  starter agent edit Triage triage.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			e, definition, err := f.read(cmd.Context(), c, args[0], args[1])
			if err != nil {
				return err
			}
			a, err := c.client().ChangeAgent(cmd.Context(), e, definition)
			return c.printAgent(e, a, err)
		},
	}
	f.version(cmd)
	return f.add(c, cmd, true)
}

func agentCopyCommand(c *cli) *cobra.Command {
	var f agentFlags
	var copied client.AgentCopy
	cmd := &cobra.Command{
		Use: "copy NAME NEW", Short: "Make an agent like one that was made at run time", Args: exactly("NAME", "NEW"),
		Example: "  starter agent copy Triage Triage2 --model anthropic:claude-sonnet-4-5",
		RunE: func(cmd *cobra.Command, args []string) error {
			e, cfg, err := f.edit(c, args[0])
			if err != nil {
				return err
			}
			if !c.remote() {
				err = knownOf(cmd.Context(), c, cfg, &e)
			}
			if err != nil {
				return err
			}
			copied.NewName = args[1]
			a, err := c.client().CopyAgent(cmd.Context(), e, copied)
			return c.printAgent(e, a, err)
		},
	}
	cmd.Flags().StringVar(&copied.Description, "description", "", "what it is for (default: Copy of NAME)")
	cmd.Flags().StringVar(&copied.SystemPrompt, "system-prompt", "", "in the place of the other one's")
	cmd.Flags().StringVar(&copied.Model, "model", "", "in the place of the other one's")
	return f.add(c, cmd, true)
}

func agentDeleteCommand(c *cli) *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use: "delete NAME", Short: "Delete an agent that was made at run time; its versions are kept", Args: exactly("NAME"),
		Example: "  starter agent delete Triage",
		RunE: func(cmd *cobra.Command, args []string) error {
			e, cfg, err := f.edit(c, args[0])
			if err != nil {
				return err
			}
			var chains []string
			if r, ok := c.api(); ok {
				chains, err = r.DeleteAgent(cmd.Context(), e)
			} else if err = c.local().DeleteAgent(cmd.Context(), e); err == nil {
				chains = cfg.ChainsWith(args[0], f.project)
			}
			if err != nil {
				return agentError(args[0], err)
			}
			if c.json {
				return c.printJSON(map[string]any{"name": args[0], "chains": append([]string{}, chains...)})
			}
			if len(chains) > 0 {
				c.say("it worked in %s: until there is one of its name again, they are refused", strings.Join(chains, ", "))
			}
			_, err = fmt.Fprintf(c.out, "%s is deleted\n", args[0])
			return err
		},
	}
	f.version(cmd)
	return f.add(c, cmd, true)
}

func agentRunCommand(c *cli) *cobra.Command {
	var s client.Start
	var l look
	var asked requestFlags
	cmd := &cobra.Command{
		Use: "run NAME", Short: "Have an agent work by itself, and show it live", Args: exactly("NAME"),
		Example: `  starter agent run Triage --data "checkout is slow"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := asked.read(&s.Request); err != nil {
				return err
			}
			s.Request.Chain = config.OfAgent + args[0]
			return start(cmd.Context(), c, s, asked.detach, l)
		},
		ValidArgsFunction: completeAgents(c, &agentFlags{}),
	}
	cmd.Flags().StringVar(&s.Data, "data", "", "what it is to work on: a text, @file, or - for standard input")
	asked.flags(c, cmd, &s)
	l.flags(c, cmd)
	return cmd
}

// virtualFindings warns of chains whose agents do not exist, if the workers' store is available to check.
func virtualFindings(ctx context.Context, c *cli, cfg *config.Config) (out config.Findings) {
	if c.remote() {
		return nil // the API's worker has another configuration
	}
	for _, chain := range slices.Sorted(maps.Keys(cfg.AgentChains)) {
		names := cfg.VirtualOf(chain)
		if len(names) == 0 {
			continue
		}
		for _, project := range projectsOf(cfg.AgentChains[chain]) {
			made, err := c.local().VirtualAgents(ctx, project, false)
			if err != nil {
				return nil // there is no store; starting the chain reports it
			}
			for _, name := range names {
				if !slices.ContainsFunc(made, func(a virtual.Agent) bool { return a.Name == name }) {
					out = append(out, config.Finding{
						Severity: config.SeverityWarning, Path: "agent_chains." + chain,
						Message: fmt.Sprintf("agent %q is made at run time, and the project %q has none of that name", name, project),
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
