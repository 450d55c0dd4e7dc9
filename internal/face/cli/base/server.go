package base

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/face/remote"
	"github.com/inquest-dev/inquest/internal/system"
)

// Service is what commands use: through Temporal and the store (Direct) or the HTTP API (remote.Client).
type Service interface {
	system.Starter
	system.Reader
	system.Decider
	system.Steerer
	system.Talker
	system.Maker
	system.Learner
	system.Reviewer
	system.Scheduler
	system.Keeper
	Close() error
}

// Remote reports whether the system is used through its HTTP API.
func (c *CLI) Remote() bool { return c.Server != "" }

// Connect returns the system that the flags name.
func (c *CLI) Connect() Service {
	if c.Remote() || c.Full == nil {
		r := remote.New(c.Server, c.Getenv("INQUEST_TOKEN"), c.Insecure)
		r.Tell = c.Tell
		return r
	}
	return c.Full.Connect(c)
}

// API returns the HTTP API if the system is used through it.
func (c *CLI) API() (r *remote.Client, ok bool) {
	r, ok = c.Client().(*remote.Client)
	return r, ok
}

// Local returns the system through Temporal and the store, for commands that ByServer refuses in API mode and in a build without it.
// In API mode it reaches neither and returns an error.
func (c *CLI) Local() Direct {
	if local, ok := c.Client().(Direct); ok {
		return local
	}
	return c.Full.Connect(c)
}

// direct lists the commands that the API does not support, with the reason and the alternative.
var direct = map[string]string{
	"rerun":         "it reads the earlier data from the store; use `starter run` with the data instead",
	"export":        "it reads the rows directly from the store",
	"import":        "it writes to the store directly",
	"ui":            "it needs the address of Temporal's UI; open the address of the API in a browser instead",
	"doctor":        "it checks Temporal and the store directly",
	"mcp":           "editors use the path /mcp of the API (docs/reference/mcp.md)",
	"audit verify":  "it reads the rows directly from the store",
	"audit head":    "it reads the rows directly from the store",
	"rules":         "rules are in the store, and the API cannot change them",
	"agent export":  "it reads the local configuration and the store",
	"agent import":  "it writes to the local configuration and the store",
	"memory export": "it reads the store directly; `starter memory show` works with the API",
	"memory import": "it writes to the store directly; `starter memory set` works with the API",
}

// atServer lists the flags whose values the API determines itself.
var atServer = map[string]string{
	"by":          "the API identifies you by the token",
	"workflow-id": "the API chooses the workflow ID",
	"config":      "the API uses the configuration of its worker",
	"config-dir":  "the API uses the configuration of its worker",
	"always":      "rules are in the store, and the API cannot change them",
	"task-queue":  "the API uses the task queue of its worker",
}

// here lists the commands that work on local files, with or without the API.
var here = []string{
	"init", "packs", "verify", "eval", "validate", "config", "chain", "agent-types", "codec", "version", "man", "completion", "help",
}

// pathOf returns the command's words after the program's name.
func pathOf(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// ByServer refuses commands and flags that the API does not support.
func (c *CLI) ByServer(cmd *cobra.Command) error {
	path := pathOf(cmd)
	group, _, _ := strings.Cut(path, " ")
	if !c.Remote() {
		if c.Full == nil && !slices.Contains(here, group) && cmd.HasParent() {
			return NeedsFull(path + " without --server (INQUEST_SERVER)")
		}
		return nil
	}
	for _, name := range []string{"address", "namespace", "profile", "store"} {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed {
			return Usagef("--%s does not work with --server (INQUEST_SERVER): the API replaces Temporal and the store", name)
		}
	}
	if slices.Contains(here, group) {
		return nil
	}
	for _, name := range []string{path, group} {
		if why, ok := direct[name]; ok {
			return Usagef("%s does not work with --server (INQUEST_SERVER): %s", path, why)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(atServer)) {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed {
			return Usagef("--%s does not work with --server (INQUEST_SERVER): %s", name, atServer[name])
		}
	}
	return nil
}
