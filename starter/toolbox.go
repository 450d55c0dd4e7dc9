package main

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/audit"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/ratelimit"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/tool"
)

// configFlag adds the flag that names a configuration.
func (c *cli) configFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.config, "config", c.config, "directory or file with the configuration [INQUEST_CONFIG]")
}

// dataFolder is where the files of the sample incident are: beside the store.
func (c *cli) dataFolder() (string, error) {
	path, err := c.storePath()
	if err != nil || store.IsDSN(path) {
		return command.DefaultData()
	}
	return filepath.Dir(path), nil
}

// source is a configuration as it is read here: nobody needs keys.
func (c *cli) source() (config.Source, error) {
	data, err := c.dataFolder()
	return config.Source{Dir: c.config, Env: command.Env(data), SkipCredentials: true}, err
}

// loadConfig loads a configuration.
func (c *cli) loadConfig() (*config.Config, error) {
	src, err := c.source()
	if err != nil {
		return nil, err
	}
	cfg, err := config.Load(src)
	if findings, refused := errors.AsType[config.Findings](err); refused {
		return nil, usagef("the configuration is refused:\n%w", findings)
	}
	return cfg, err
}

// toolbox makes the tools of a configuration usable here. The caller closes it.
func toolbox(ctx context.Context, c *cli, cfg *config.Config) (*app.Toolbox, error) {
	data, err := c.dataFolder()
	if err != nil {
		return nil, err
	}
	if err := app.PrepareSample(data); err != nil {
		c.say("starter: %v", err) // only the sample's own tools lack it
	}
	var elsewhere []tool.Spec // tools in Go of the workers' program, if their store is here
	st, err := c.client().Store(ctx)
	if err == nil && st != nil {
		elsewhere, err = st.ProgramTools(ctx)
	}
	if err != nil {
		c.say("warning: the tools of the workers' program are not known: %v", err)
	}
	return app.NewToolbox(app.ToolboxOptions{
		Config: cfg, Shared: shared{c}, Keeper: app.Keeper(), Elsewhere: elsewhere, Logger: slog.New(slog.DiscardHandler),
	}), nil
}

// shared is what tools share with the workers, in their store, which is opened when it is needed.
type shared struct{ *cli }

// Reserve takes a place. Without a store nobody counts, and that is said.
func (s shared) Reserve(ctx context.Context, res ratelimit.Reservation) (wait time.Duration, err error) {
	st, err := s.client().Store(ctx)
	if err != nil {
		return 0, err
	}
	if st == nil {
		s.say("warning: there is no store here (--store), so the rate limit of %s is not kept", res.Tool)
		return 0, nil
	}
	return st.Reserve(ctx, res)
}

// LastOffer is what a server offered last; nothing where there is no store.
func (s shared) LastOffer(ctx context.Context, server string) (offer tool.Catalogue, err error) {
	st, err := s.client().Store(ctx)
	if err != nil || st == nil {
		return offer, err
	}
	return st.LastOffer(ctx, server)
}

// Audit tells the audit trail, if the store is here.
func (s shared) Audit(ctx context.Context, acts ...audit.Act) error {
	st, err := s.client().Store(ctx)
	if err != nil || st == nil {
		return err
	}
	return st.Audit(ctx, acts...)
}

// toolError marks what is wrong with the command line.
func toolError(err error) error {
	if _, unknown := errors.AsType[*config.PlanError](err); unknown {
		return usagef("%w", err)
	}
	return err
}

// completions is what a shell proposes for an argument or a flag.
type completions = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

// complete proposes what a configuration has.
func complete(c *cli, names func(*config.Config) []string) completions {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		cfg, err := c.loadConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(cfg), cobra.ShellCompDirectiveNoFileComp
	}
}

func agentNames(cfg *config.Config) []string { return slices.Sorted(maps.Keys(cfg.Agents)) }

// completeTools proposes what a configuration says of tools: no server is asked.
func completeTools(c *cli) completions {
	return atFirst(func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		names, how := complete(c, knownTools)(cmd, args, begun)
		return names, how | cobra.ShellCompDirectiveNoSpace
	})
}

// knownTools are the tools that a configuration names, and the beginnings of
// those that it does not.
func knownTools(cfg *config.Config) []string {
	plan := cfg.ToolPlan()
	var out []string
	if plan.Shell != nil {
		out = append(out, "shell")
	}
	for _, server := range plan.Servers {
		out = append(out, server.Name+".")
		for name := range server.Risk {
			out = append(out, server.Name+"."+name)
		}
	}
	slices.Sort(out)
	return out
}
