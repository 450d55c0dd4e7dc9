// Command worker is a fleet worker: it runs investigations for a separate Temporal. It finds Temporal in the same way as the Temporal
// CLI: TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_PROFILE, TLS and API keys.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/contrib/envconfig"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/face/api"
	"github.com/inquest-dev/inquest/internal/metrics"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/workflows"
)

func main() { os.Exit(command.Main(context.Background(), root())) }

type flags struct {
	app.HostOptions
	profile, logLevel, health, http, ui string
	slack                               bool
}

func root() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run investigations for a Temporal service",
		Long: `Run investigations for a Temporal service.

Like the Temporal CLI, the worker connects to Temporal with TEMPORAL_ADDRESS (default
localhost:7233), TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS_*, or a profile of
Temporal's configuration file. SIGTERM or Ctrl-C drains the worker: it takes no new work,
running calls can finish, and unfinished work continues on another worker.`,
		Example: `  worker --store /var/lib/inquest/inquest.db --config inquest
  worker --store postgres://inquest@db/inquest --health :8080`,
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd, f) },
	}
	cmd.Flags().StringVar(&f.Config, "config", os.Getenv("INQUEST_CONFIG"),
		"directory or file with the configuration (default: the built-in entries only) [INQUEST_CONFIG]")
	cmd.Flags().StringVar(&f.Store, "store", os.Getenv("INQUEST_STORE"),
		"path of a SQLite file for all workers of this host, or postgres:// address for a fleet (default: "+
			"system.store of the configuration) [INQUEST_STORE]")
	cmd.Flags().BoolVar(&f.AdoptStore, "adopt-store", false,
		"use a SQLite store although another host (or this one, under another name) or another Temporal namespace used it last, "+
			"and make it the fleet's store in place of the current one")
	cmd.Flags().BoolVar(&f.Hold, "hold", false, app.HoldUsage)
	cmd.Flags().StringVar(&f.TaskQueue, "task-queue", workflows.TaskQueue,
		"task queue to serve; if MCP servers name the queue as their task_queue, the worker runs only their tools and needs no "+
			"model keys")
	cmd.Flags().StringVar(&f.profile, "profile", "", "profile of the Temporal configuration file (default: TEMPORAL_PROFILE)")
	cmd.Flags().StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	cmd.Flags().DurationVar(&f.Drain, "drain", 0,
		fmt.Sprintf("how long running calls can continue after SIGTERM (default: queue.graceful_shutdown_timeout, else %s)", app.DefaultDrain))
	cmd.Flags().IntVar(&f.MaxCalls, "max-calls", 0,
		fmt.Sprintf("how many model and tool calls run at once; the same number of quick calls run in addition (default: "+
			"queue.worker_count, else %d)",
			app.DefaultMaxCalls))
	cmd.Flags().IntVar(&f.CachedWorkflows, "cached-workflows", 0,
		fmt.Sprintf("how many idle workflows are cached in memory; others are rebuilt from their history when needed (default: "+
			"the number of calls that run at once, at least %d)", app.MinCachedWorkflows))
	cmd.Flags().DurationVar(&f.Reconcile, "reconcile", app.DefaultReconcile,
		"how often a Temporal Schedule, created if missing, corrects the records of investigations that were terminated in "+
			"Temporal")
	cmd.Flags().StringVar(&f.DeploymentVersion, "deployment-version", "",
		"build ID for Temporal's worker versioning: investigations stay on the version they started on; a new version gets no "+
			"work until you promote it (temporal worker deployment set-current-version)")
	cmd.Flags().StringVar(&f.health, "health", "",
		"listen address of the health probes /livez and /readyz, for Kubernetes and similar systems")
	cmd.Flags().StringVar(&f.http, "http", "",
		"address of the page and the HTTP API (docs/reference/api.md); on an address other than loopback, system.http must define who may use it")
	cmd.Flags().StringVar(&f.ui, "temporal-ui", os.Getenv("INQUEST_UI"),
		"URL of Temporal's UI, for links on the page (default: no links) [INQUEST_UI]")
	cmd.Flags().BoolVar(&f.slack, "slack", false, "connect to Slack with the settings in system.slack (docs/how-to/use-slack.md)")
	cmd.AddCommand(app.SampleCommand(), app.KeeperCommand(), guardCommand())
	return cmd
}

func run(cmd *cobra.Command, f flags) error {
	app.WarnOfPassword(cmd)
	opts, err := options(cmd, f)
	if err != nil {
		return err
	}
	probe, err := listen(f.health, opts.Logger)
	if err != nil {
		return err
	}
	defer probe.server.Close()
	counted := metrics.New()
	if f.http != "" {
		opts.Temporal.MetricsHandler = counted.Temporal()
	}
	app.NameBuild()
	host, err := app.StartHost(cmd.Context(), opts)
	_, refused := errors.AsType[config.Findings](err)
	switch {
	case refused, errors.Is(err, app.ErrNoStore):
		return &command.UsageError{Err: err}
	case errors.Is(err, app.ErrOtherStore):
		err = fmt.Errorf("%w. Name the fleet's store with --store, INQUEST_STORE or system.store. To replace it for good, stop "+
			"the other workers and start this one once with --adopt-store; running investigations need the old store", err)
		return &command.UsageError{Err: err}
	case err != nil:
		return err
	}
	probe.ready.Store(true)
	started := opts.Logger.With(
		"temporal", opts.Temporal.HostPort, "task_queue", opts.TaskQueue, "store", host.Address(), "store_id", host.Store.ID())
	if servers := host.ServersAlone(); len(servers) > 0 {
		started = started.With("only_tools_of", servers)
	}
	serving, stop := context.WithCancel(cmd.Context())
	defer stop()
	if f.http != "" || f.slack {
		address, err := api.OfHost(serving, host, api.HostOptions{
			Address: f.http, UI: f.ui, Slack: f.slack, SlackAPI: os.Getenv("INQUEST_SLACK_API"), Metrics: counted, Logger: opts.Logger,
		})
		if err != nil {
			return errors.Join(err, host.Stop())
		}
		started = started.With("http", address)
	}
	started.Info("worker started")
	err = host.Wait(cmd.Context())
	probe.ready.Store(false)
	opts.Logger.Info("worker draining", "for_at_most", host.Drain())
	return errors.Join(err, host.Stop())
}

func options(cmd *cobra.Command, f flags) (opts app.HostOptions, err error) {
	opts = f.HostOptions
	if opts.Logger, err = command.Logger(cmd.ErrOrStderr(), f.logLevel); err != nil {
		return opts, err
	}
	opts.Temporal, err = envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{ConfigFileProfile: f.profile})
	if err != nil {
		return opts, &command.UsageError{Err: fmt.Errorf("Temporal client configuration: %w", err)}
	}
	if opts.Data, err = command.DefaultData(); err != nil {
		return opts, err
	}
	if opts.Store != "" && !store.IsDSN(opts.Store) {
		if opts.Store, err = filepath.Abs(opts.Store); err != nil {
			return opts, &command.UsageError{Err: fmt.Errorf("--store: %w", err)}
		}
		opts.Data = filepath.Dir(opts.Store)
	}
	opts.Keeper = app.Keeper()
	return opts, checkNumbers(cmd, opts)
}

// checkNumbers refuses values that can only be mistakes. The configuration decides for flags that are not set.
func checkNumbers(cmd *cobra.Command, opts app.HostOptions) error {
	for _, number := range []struct {
		flag     string
		positive bool
	}{
		{"cached-workflows", opts.CachedWorkflows > 0}, {"max-calls", opts.MaxCalls > 0}, {"drain", opts.Drain > 0},
		{"reconcile", opts.Reconcile > 0},
	} {
		if flag := cmd.Flags().Lookup(number.flag); flag.Changed && !number.positive {
			return &command.UsageError{Err: fmt.Errorf("--%s %s: expected more than 0", number.flag, flag.Value)}
		}
	}
	return nil
}
