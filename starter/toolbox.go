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

// dataFolder returns the folder of the sample incident's files, next to the store.
func (c *cli) dataFolder() (string, error) {
	path, err := c.storePath()
	if err != nil || store.IsDSN(path) {
		return command.DefaultData()
	}
	return filepath.Dir(path), nil
}

// source returns the configuration source. It requires no credentials.
func (c *cli) source() (config.Source, error) {
	data, err := c.dataFolder()
	return config.Source{Dir: c.config, Env: command.Env(data), SkipCredentials: true}, err
}

// loadConfig loads the configuration.
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

// toolbox returns the tools of a configuration. The caller must close it.
func toolbox(ctx context.Context, c *cli, cfg *config.Config) (*app.Toolbox, error) {
	data, err := c.dataFolder()
	if err != nil {
		return nil, err
	}
	if err := app.PrepareSample(data); err != nil {
		c.say("starter: %v", err) // only the sample's own tools are affected
	}
	var elsewhere []tool.Spec // Go tools in the workers' program, if their store is available
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

// shared is the state that tools share with the workers through their store, which is opened on demand.
type shared struct{ *cli }

// Reserve reserves a slot of a rate limit. Without a store it prints a warning instead.
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

// LastOffer returns a server's last tool list, or nothing without a store.
func (s shared) LastOffer(ctx context.Context, server string) (offer tool.Catalogue, err error) {
	st, err := s.client().Store(ctx)
	if err != nil || st == nil {
		return offer, err
	}
	return st.LastOffer(ctx, server)
}

// Audit writes to the audit log if the store is available.
func (s shared) Audit(ctx context.Context, acts ...audit.Act) error {
	st, err := s.client().Store(ctx)
	if err != nil || st == nil {
		return err
	}
	return st.Audit(ctx, acts...)
}

// toolError marks errors in the command line as usage errors.
func toolError(err error) error {
	if _, unknown := errors.AsType[*config.PlanError](err); unknown {
		return usagef("%w", err)
	}
	return err
}

// completions completes an argument or a flag.
type completions = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

// complete completes names in a configuration.
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

// completeTools completes the tools in a configuration without contacting any server.
func completeTools(c *cli) completions {
	return atFirst(func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		names, how := complete(c, knownTools)(cmd, args, begun)
		return names, how | cobra.ShellCompDirectiveNoSpace
	})
}

// knownTools returns the tools that a configuration names, and prefixes for the others.
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
