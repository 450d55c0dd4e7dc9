package local

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"

	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/face/api"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/payload"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/system"
)

// Full returns what only the full build of the command line has.
func Full() *base.Full {
	return &base.Full{
		Connect: func(c *base.CLI) base.Direct { return connect(c) },
		Toolbox: toolbox, StoreDangers: storeDangers, LeftOut: leftOut, CheckVersions: checkVersions, WarnOfPassword: app.WarnOfPassword,
		Commands: func(c *base.CLI) base.FullCommands {
			return base.FullCommands{
				Doctor: newDoctor(c), StoreCheck: newStoreCheck(c), Codec: newCodec(c), MCP: newMCP(c), UI: newUI(c),
				Export: newExport(c), Import: newImport(c), Eval: newEval(c),
				Hidden: []*cobra.Command{app.SampleCommand(), app.KeeperCommand()},
			}
		},
	}
}

// direct is the system through Temporal and the store.
type direct struct {
	*client.Client
	c *base.CLI
}

// connect returns the system that the flags name. In API mode it reaches neither Temporal nor the store.
func connect(c *base.CLI) *direct {
	opts := options(c)
	if c.Remote() {
		opts = client.Options{Temporal: func() (sdk.Options, payload.Keys, error) {
			return sdk.Options{}, payload.Keys{},
				base.Usagef("this needs direct access to Temporal and does not work with --server (INQUEST_SERVER)")
		}}
	}
	return &direct{client.New(opts), c}
}

// systemOf returns the command's system if it is direct, and otherwise one that reaches neither Temporal nor the store.
func systemOf(c *base.CLI) *direct {
	if d, ok := c.Client().(*direct); ok {
		return d
	}
	return connect(c)
}

// options returns the options of the system that the flags name.
func options(c *base.CLI) client.Options {
	path, _ := c.StorePath() // SayNoStore explains a missing store
	return client.Options{
		Temporal: func() (sdk.Options, payload.Keys, error) { return temporal(c) }, TaskQueue: c.TaskQueue, Store: store.At(path), Tell: c.Tell,
	}
}

// temporal returns the options for connecting to Temporal.
func temporal(c *base.CLI) (sdk.Options, payload.Keys, error) {
	opts, err := envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{ConfigFileProfile: c.Profile})
	if err != nil {
		return opts, payload.Keys{}, base.Usagef("Temporal client configuration: %w", err)
	}
	opts.HostPort, opts.Namespace = cmp.Or(c.Address, opts.HostPort), cmp.Or(c.Namespace, opts.Namespace)
	keys, err := payload.LoadKeys(c.Getenv)
	if err != nil {
		return opts, keys, base.Usagef("%w", err)
	}
	return opts, keys, nil
}

// OpenStore implements base.Direct.
func (d *direct) OpenStore(ctx context.Context) (base.Store, error) {
	st, err := d.Store(ctx)
	if st == nil {
		return nil, err
	}
	return st, err
}

// StoreName implements base.Direct.
func (d *direct) StoreName() string {
	path, _ := d.c.StorePath()
	return store.At(path).String()
}

// Place implements base.Direct.
func (d *direct) Place() ([]string, error) {
	opts, _, err := temporal(d.c)
	return []string{opts.HostPort, opts.Namespace}, err
}

// About implements base.Direct.
func (d *direct) About(ctx context.Context, r record.Investigation) string {
	st, err := d.Store(ctx)
	if err != nil || st == nil {
		return ""
	}
	return client.About(ctx, st, r)
}

// AgentInfos implements base.Direct.
func (d *direct) AgentInfos(ctx context.Context, cfg *configuration.Config, project string) ([]system.AgentInfo, error) {
	made, err := d.VirtualAgents(ctx, project, false)
	if err != nil && !errors.Is(err, system.ErrNoStore) {
		return nil, err
	}
	return api.AgentInfos(cfg, made), nil
}

// Project implements base.Direct.
func (d *direct) Project(ctx context.Context, thread string) (string, error) {
	owned, err := d.ThreadOwner(ctx, thread)
	return owned.Project, err
}
