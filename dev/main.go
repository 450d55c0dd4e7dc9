// Command dev runs all of Inquest in one process, for one person or one host: an embedded Temporal with its UI, a worker, and the store.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/devserver"
)

func main() { os.Exit(command.Main(context.Background(), root())) }

type flags struct {
	devserver.Options
	host     app.HostOptions
	logLevel string
	http     string
	slack    bool
	noWorker bool
}

func root() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run all of Inquest in one process: Temporal, its UI, a worker and the store",
		Long: `Run all of Inquest in one process: Temporal, its UI, a worker and the store.

It runs until Ctrl-C. A restart with the same --data resumes everything, even after
a kill -9. By default, it listens only on loopback addresses.`,
		Example: `  dev
  dev --data /var/lib/inquest --config inquest
  dev demo --open`,
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd, f) },
	}
	set := cmd.PersistentFlags()
	set.StringVar(&f.Listen, "listen", defaults().Listen, "address of Temporal (port 0: any free one)")
	set.StringVar(&f.UI, "ui", defaults().UI, `address of the Temporal UI (port 0: any free one; "" = none)`)
	set.StringVar(&f.http, "http", defaults().http,
		`address of the page and the HTTP API (docs/reference/api.md; port 0: any free one; "" = none)`)
	set.BoolVar(&f.slack, "slack", false, "connect to Slack with the settings in system.slack (docs/how-to/use-slack.md)")
	set.StringSliceVar(&f.UINames, "ui-host", nil,
		"additional host name that browsers use for the UI; localhost and this host's IP addresses always work, other names are "+
			"refused (protection against DNS rebinding)")
	set.StringVar(&f.host.Data, "data", "", "folder for all data (default: inquest in the user's cache folder)")
	set.StringVar(&f.host.Config, "config", os.Getenv("INQUEST_CONFIG"),
		"directory or file with the configuration (default: the built-in entries only) [INQUEST_CONFIG]")
	set.StringVar(&f.logLevel, "log-level", "warn", "debug, info, warn or error")
	set.BoolVar(&f.host.AdoptStore, "adopt-store", false,
		"use the store although another host (or this one, under another name) or another Temporal namespace used it last, and "+
			"make it the fleet's store in place of the current one")
	set.BoolVar(&f.host.Hold, "hold", false, app.HoldUsage)
	set.DurationVar(&f.host.Reconcile, "reconcile", 0,
		fmt.Sprintf("how often to correct the records of investigations that were terminated in Temporal (default: %s)", app.DefaultReconcile))
	cmd.Flags().BoolVar(&f.noWorker, "no-worker", false, "run only Temporal and its UI; you start the worker processes")
	cmd.AddCommand(demoCommand(&f), app.SampleCommand(), app.PackCommand(), app.KeeperCommand())
	return cmd
}

// serve runs the system until a signal ends it.
func serve(cmd *cobra.Command, f flags) error {
	sys, err := start(cmd, f)
	if err != nil {
		return explain(err)
	}
	for _, address := range []string{f.Listen, f.UI} {
		if address != "" && !command.Loopback(address) {
			fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s is not a loopback address, and there is no authentication\n", address)
		}
	}
	fmt.Fprintf(cmd.OutOrStdout(), `Inquest is running.
  Temporal   %s   (task queue inquest)
  UI         %s
  page       %s
  API        %s
  store      %s
In another terminal:
  %s
To stop, press Ctrl-C. A restart with the same --data resumes everything.
`, sys.server.Address(), sys.uiAddress(), sys.httpAddress("/"), sys.httpAddress("/docs"), sys.storePath, sys.hints(f, sys.first(f)))
	err = sys.wait(cmd.Context())
	fmt.Fprintln(cmd.ErrOrStderr(), "stopping")
	return errors.Join(err, sys.stop())
}

// explain turns errors that the user can fix into usage errors that say how.
func explain(err error) error {
	if used, ok := errors.AsType[*devserver.AddressInUseError](err); ok {
		return &command.UsageError{Err: fmt.Errorf("%s is in use: set another address with --%s (port 0: any free one)", used.Addr, used.What)}
	}
	if findings, ok := errors.AsType[config.Findings](err); ok {
		return &command.UsageError{Err: findings}
	}
	return err
}
