package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/devserver"
	"github.com/inquest-dev/inquest/internal/face/api"
	"github.com/inquest-dev/inquest/internal/metrics"
)

// system is the complete running system.
type system struct {
	server    *devserver.Server
	host      *app.Host
	data      string // the data folder
	storePath string // needed by starter
	http      string // address of the API; empty means none
	unserve   context.CancelFunc
}

// drain is short by default: unfinished work continues after the restart.
const drain = 3 * time.Second

// samplePace is the pause that lets people follow the scripted model's output.
const samplePace = 12 * time.Millisecond

func start(cmd *cobra.Command, f flags) (*system, error) {
	logger, err := command.Logger(cmd.ErrOrStderr(), f.logLevel)
	if err != nil {
		return nil, err
	}
	host := f.host
	if host.Data, err = command.DataFolder(host.Data); err != nil {
		return nil, err
	}
	app.NameBuild() // the server has workers too
	sys := &system{data: host.Data, storePath: command.StorePath(host.Data)}
	f.Dir, f.Logger = filepath.Join(host.Data, "temporal"), logger
	if sys.server, err = devserver.Start(cmd.Context(), f.Options); err != nil {
		return nil, err
	}
	if f.noWorker {
		return sys, nil
	}
	counted := metrics.New()
	host.Temporal = client.Options{HostPort: sys.server.Address(), Namespace: devserver.Namespace, MetricsHandler: counted.Temporal()}
	host.DefaultStore, host.DefaultDrain, host.Keeper, host.Logger = sys.storePath, drain, app.Keeper(), logger
	host.Models = scripts()
	if sys.host, err = app.StartHost(cmd.Context(), host); err != nil {
		return nil, errors.Join(err, sys.stop())
	}
	if err := sys.serveAPI(cmd, f, counted, logger); err != nil {
		return nil, errors.Join(err, sys.stop())
	}
	if named, err := host.StoreOptions(sys.host.Config.Current()); err == nil {
		sys.storePath = named.String() // the configuration may name another store
	}
	return sys, nil
}

// serveAPI serves the API. If Temporal is not at its default address, serveAPI uses any free port.
func (s *system) serveAPI(cmd *cobra.Command, f flags, counted *metrics.Metrics, logger *slog.Logger) (err error) {
	if !cmd.Flags().Changed("http") && f.Listen != defaults().Listen {
		f.http = "127.0.0.1:0"
	}
	if f.http == "" && !f.slack {
		return nil
	}
	ctx, stop := context.WithCancel(cmd.Context())
	s.unserve = stop
	s.http, err = api.OfHost(ctx, s.host, api.HostOptions{
		Address: f.http, UI: s.uiURL(), Slack: f.slack, SlackAPI: os.Getenv("INQUEST_SLACK_API"), Metrics: counted, Logger: logger,
	})
	return err
}

// uiURL returns the URL of the Temporal UI, or an empty string without one.
func (s *system) uiURL() string {
	if s.server.UIAddress() == "" {
		return ""
	}
	return "http://" + s.server.UIAddress()
}

// uiAddress returns the URL of the Temporal UI for printing.
func (s *system) uiAddress() string { return cmp.Or(s.uiURL(), "none") }

// httpAddress returns the URL of a path on the API's server: the page or the API's documentation.
func (s *system) httpAddress(path string) string {
	if s.http == "" {
		return "none"
	}
	return "http://" + s.http + path
}

// wait returns when ctx ends, or with an error from which the worker cannot recover.
func (s *system) wait(ctx context.Context) error {
	if s.host != nil {
		return s.host.Wait(ctx)
	}
	<-ctx.Done()
	return nil
}

// stop ends the worker first, because its long polls would delay the server.
func (s *system) stop() error {
	var err error
	if s.unserve != nil {
		s.unserve()
	}
	if s.host != nil {
		err = s.host.Stop()
	}
	s.server.Stop()
	return err
}
