package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	sdk "go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/api"
	"github.com/inquest-dev/inquest/internal/artifact"
	"github.com/inquest-dev/inquest/internal/audit"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/evidence"
	"github.com/inquest-dev/inquest/internal/payload"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/virtual"
	"github.com/inquest-dev/inquest/workflows"
)

// service is the part of the system that commands use: through Temporal and the store (client.Client) or the HTTP API (api.Remote).
type service interface {
	Start(ctx context.Context, s client.Start) (client.Handle, error)
	Find(ctx context.Context, id string) (client.Handle, error)
	Resolve(ctx context.Context, id string) (string, error)
	Meant(ctx context.Context, id string, unknown error) error
	Follow(ctx context.Context, h client.Handle, after int64, fn func(client.Event) error) (client.Result, error)
	Await(ctx context.Context, h client.Handle) (client.Result, error)

	List(ctx context.Context, f store.Filter) (client.Listing, error)
	Status(ctx context.Context, id string) (client.Status, error)
	Outcome(ctx context.Context, id string) (client.Whole, error)
	Whole(ctx context.Context, id string) (client.Whole, error)
	Evidence(ctx context.Context, w client.Whole) (evidence.Evidence, error)
	Artifacts(ctx context.Context, id string) ([]artifact.Artifact, error)
	Artifact(ctx context.Context, ref string) ([]byte, error)
	Text(ctx context.Context, text *string, ref string) error
	Acts(ctx context.Context, f store.ActFilter, fn func(audit.Act) error) error

	Waiting(ctx context.Context, id string) ([]record.Waiting, error)
	Fate(ctx context.Context, id, name string) string
	Decide(ctx context.Context, id string, d workflows.Decide) (client.Decided, error)
	Answer(ctx context.Context, id string, a workflows.Answer) (workflows.Interrupt, error)
	Extend(ctx context.Context, id string, e workflows.ExtendBudget) (workflows.Budget, error)
	Steer(ctx context.Context, id, name string, in any) (client.Steered, error)
	CancelAs(ctx context.Context, id string, who client.Identity) (client.Handle, error)
	Score(ctx context.Context, id, by string) (client.Judging, error)
	Wait(ctx context.Context, j client.Judging) (record.Score, error)

	VirtualVersions(ctx context.Context, project, name string) ([]virtual.Agent, error)
	CreateAgent(ctx context.Context, e client.AgentEdit, definition []byte) (virtual.Agent, error)
	ChangeAgent(ctx context.Context, e client.AgentEdit, definition []byte) (virtual.Agent, error)
	CopyAgent(ctx context.Context, e client.AgentEdit, copied client.AgentCopy) (virtual.Agent, error)

	Threads(ctx context.Context, agent string, limit int) ([]client.Thread, error)
	FindThread(ctx context.Context, thread string) (h client.Handle, agent string, err error)
	Say(ctx context.Context, w client.Words, accepted func(thread string)) (workflows.Reply, error)
	Conclude(ctx context.Context, thread, by string) error
	CloseThread(ctx context.Context, thread string) error

	// Store returns the workers' store, which is not available through the API.
	Store(ctx context.Context) (*store.Store, error)
	Close() error
}

// remote reports whether the system is used through its HTTP API.
func (c *cli) remote() bool { return c.server != "" }

// connect returns the system that the flags name.
func (c *cli) connect() service {
	if c.remote() {
		r := api.NewRemote(c.server, c.getenv("INQUEST_TOKEN"), c.insecure)
		r.Tell = c.system().Tell
		return r
	}
	return client.New(c.system())
}

// api returns the HTTP API if the system is used through it.
func (c *cli) api() (r *api.Remote, ok bool) {
	r, ok = c.client().(*api.Remote)
	return r, ok
}

// local returns a client of Temporal and the store, for commands that byServer refuses. In API mode it reaches neither and returns an
// error.
func (c *cli) local() *client.Client {
	if local, ok := c.client().(*client.Client); ok {
		return local
	}
	return client.New(client.Options{Temporal: func() (sdk.Options, payload.Keys, error) {
		return sdk.Options{}, payload.Keys{}, usagef("this needs Temporal itself, and does not work by --server (INQUEST_SERVER)")
	}})
}

// direct lists the commands that the API does not support, with the reason and the alternative.
var direct = map[string]string{
	"rerun":         "it reads the data of the first one from the store: give them to `starter run`",
	"ui":            "Temporal's UI is where Temporal is; the page of the API is at its address",
	"doctor":        "it looks at Temporal and the store themselves",
	"mcp":           "editors use the address /mcp of the API (docs/reference/mcp.md)",
	"audit verify":  "it reads the rows in the store",
	"audit head":    "it reads the rows in the store",
	"rules":         "rules are in the store, and the API does not change them",
	"agent export":  "it reads the configuration here and the store",
	"agent import":  "it writes the configuration here and the store",
	"memory export": "it reads the store: `starter memory show` goes through the API",
	"memory import": "it writes the store: `starter memory set` goes through the API",
}

// atServer lists the flags whose values the API determines itself.
var atServer = map[string]string{
	"by":          "the API knows by the token who you are",
	"workflow-id": "the API names what it starts",
	"config":      "the API uses the configuration of its worker",
	"config-dir":  "the API uses the configuration of its worker",
	"always":      "rules are in the store, and the API does not change them",
	"task-queue":  "the API knows its task queue",
}

// here lists the commands that work on local files, with or without the API.
var here = []string{"init", "validate", "config", "chain", "agent-types", "codec", "version", "man", "completion", "help"}

// byServer refuses commands and flags that the API does not support.
func (c *cli) byServer(cmd *cobra.Command) error {
	if !c.remote() {
		return nil
	}
	for _, name := range []string{"address", "namespace", "profile", "store"} {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed {
			return usagef("--%s and --server (INQUEST_SERVER) exclude each other: with the API, neither Temporal nor the store is named", name)
		}
	}
	path := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
	group, _, _ := strings.Cut(path, " ")
	if slices.Contains(here, group) {
		return nil
	}
	for _, name := range []string{path, group} {
		if why, ok := direct[name]; ok {
			return usagef("%s does not work by --server (INQUEST_SERVER): %s", path, why)
		}
	}
	for name, why := range atServer {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed {
			return usagef("--%s has no effect by --server (INQUEST_SERVER): %s", name, why)
		}
	}
	return nil
}
