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
	noWorker bool
}

func root() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run all of Inquest in this process: Temporal, its UI, a worker and the store",
		Long: `Run all of Inquest in this process: Temporal, its UI, a worker and the store.

It stays up until Ctrl-C. A restart on the same --data resumes everything, also
after a kill -9. Nothing listens on other than loopback addresses by default.`,
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
	set.StringSliceVar(&f.UINames, "ui-host", nil,
		"a name that browsers reach the UI by, besides localhost and its addresses; others are refused, as web pages could choose them")
	set.StringVar(&f.host.Data, "data", "", "folder for all data (default: inquest in the user's cache folder)")
	set.StringVar(&f.host.Config, "config", os.Getenv("INQUEST_CONFIG"),
		"directory or file with the configuration; built-in entries only if empty [INQUEST_CONFIG]")
	set.StringVar(&f.logLevel, "log-level", "warn", "debug, info, warn or error")
	set.BoolVar(&f.host.AdoptStore, "adopt-store", false,
		"take over a store that was moved here from another host, or whose host has a new name, or that was another Temporal "+
			"namespace's; make this store the fleet's in the place of another one")
	set.DurationVar(&f.host.Reconcile, "reconcile", 0,
		fmt.Sprintf("how often the records of investigations that somebody terminated are put right (default: %s)", app.DefaultReconcile))
	cmd.Flags().BoolVar(&f.noWorker, "no-worker", false, "run Temporal and its UI only; start worker processes yourself")
	cmd.AddCommand(demoCommand(&f), app.SampleCommand(), app.KeeperCommand())
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
			fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s is not a loopback address, and nobody is asked who they are\n", address)
		}
	}
	fmt.Fprintf(cmd.OutOrStdout(), `Inquest is up.
  Temporal   %s   (task queue inquest)
  UI         %s
  page       %s
  API        %s
  store      %s
In another terminal:
  %s
Ctrl-C stops it; the same --data resumes everything.
`, sys.server.Address(), sys.uiAddress(), sys.httpAddress("/"), sys.httpAddress("/docs"), sys.storePath, sys.hints(f, sys.first(f)))
	err = sys.wait(cmd.Context())
	fmt.Fprintln(cmd.ErrOrStderr(), "stopping")
	return errors.Join(err, sys.stop())
}

// explain turns errors that the user can fix into usage errors that say how.
func explain(err error) error {
	if used, ok := errors.AsType[*devserver.AddressInUseError](err); ok {
		return &command.UsageError{Err: fmt.Errorf("%s is in use: give another address with --%s (port 0: any free one)", used.Addr, used.What)}
	}
	if findings, ok := errors.AsType[config.Findings](err); ok {
		return &command.UsageError{Err: findings}
	}
	return err
}
