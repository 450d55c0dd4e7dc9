package inquest

import (
	"cmp"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/strict"
	"github.com/inquest-dev/inquest/internal/tool/builtin"
	"github.com/inquest-dev/inquest/workflows"
)

// Options configure a worker. The zero value is a worker with the built-in configuration, for the Temporal service that
// the Temporal CLI would use.
type Options struct {
	// Temporal says how to reach Temporal. Nil means the settings of the Temporal CLI: TEMPORAL_ADDRESS (default
	// localhost:7233), TEMPORAL_NAMESPACE, profiles, TLS, API keys.
	Temporal *client.Options
	// TaskQueue is the queue that the worker serves. An empty string means "inquest". If the queue is the task_queue of
	// MCP servers, the worker only runs their tools.
	TaskQueue string
	// Store holds transcripts and reports. It is the path of a SQLite file, which all workers of one host share; a
	// postgres:// address, which the workers of a fleet share; or MemoryStore. An empty string means system.store of
	// Config, or else the file that dev uses.
	Store string
	// Config is a YAML file or a directory of them. An empty string means none. Changes are picked up at run time.
	Config string

	// Tools are functions of this program that agents may call if their ToolIDs name them.
	Tools []Tool
	// Hooks are functions of this program that stages name as pre_process and post_process. Mocks are functions that
	// agents' entries name as mock.
	Hooks map[string]Hook
	Mocks map[string]Mock
	// Models are this program's model clients, by provider name; "*" means all providers. A provider of type program
	// can only be reached by such a client. A provider that is named here needs no key.
	Models map[string]Model
	// Prompts are texts that entries name as prompt_key.
	Prompts map[string]string
	// Listener receives the events that this worker has committed, in order for each agent. Nil means no listener. A
	// slow listener delays nothing: once it is a thousand events behind, further events are dropped, and the log says
	// how many. A retried step is reported again (WorkerEvent.Seq). Steps of another worker go only to that worker's
	// listener.
	Listener func(WorkerEvent)
	// PromptFuncs are functions that write the prompt for a prompt_key.
	PromptFuncs map[string]Prompt
	// Selectors are functions that choose the models of agents whose DefaultModel is "selector:NAME".
	Selectors map[string]Selector
	// Agents, Chains, Servers and Providers are definitions, by name. A name that Config also defines is an error. A
	// built-in entry of the same name is replaced.
	Agents    map[string]*Agent
	Chains    map[string]*Chain
	Servers   map[string]*Server
	Providers map[string]*Provider

	// Drain is how long calls in progress may continue after Run's ctx has ended. Zero means
	// queue.graceful_shutdown_timeout of Config, or else 30 s.
	Drain time.Duration
	// DeploymentVersion is the build id for Temporal's worker versioning: investigations stay with the version on which
	// they started. An empty string turns versioning off.
	DeploymentVersion string
	// Logger receives the worker's log. Nil means slog.Default.
	Logger *slog.Logger
}

// MemoryStore is a store that ends with its worker, for tests and experiments. An investigation that continues on
// another worker loses its transcripts.
const MemoryStore = ":memory:"

// host converts the options to those of the composition root.
func (o Options) host(tools []builtin.Tool) (app.HostOptions, error) {
	out := app.HostOptions{
		Config: o.Config,
		Settings: app.Settings{
			TaskQueue: cmp.Or(o.TaskQueue, workflows.TaskQueue), Drain: o.Drain, DeploymentVersion: o.DeploymentVersion,
			Logger: o.logger(), Models: forWorker(o.Models, func(name string, m Model) llm.Client { return modelClient{name, m, o.logger()} }),
			Embedding: &app.Embedding{
				Tools: tools, Hooks: forWorker(o.Hooks, adaptHook), Mocks: forWorker(o.Mocks, adaptMock),
				Prompts: forWorker(o.PromptFuncs, adaptPrompt), Selectors: forWorker(o.Selectors, adaptSelector),
				Listener: o.listener(), Entries: o.entries(),
			},
		},
	}
	if err := place(&out, o.Store); err != nil {
		return out, err
	}
	return out, dial(&out, o.Temporal)
}

// entries returns a copy of the definitions, which later changes to the options do not affect.
func (o Options) entries() config.Entries {
	return cloned(config.Entries{
		Agents: o.Agents, AgentChains: o.Chains, MCPServers: o.Servers, LLMProviders: o.Providers, Prompts: o.Prompts,
	})
}

// cloned returns a deep copy of entries.
func cloned(e config.Entries) config.Entries { return strict.Clone(e, strict.Path{}, nil) }

func (o Options) logger() *slog.Logger { return cmp.Or(o.Logger, slog.Default()) }

// place sets the location of the data. A file's folder becomes the data folder. A store in memory gets its folder
// later.
func place(out *app.HostOptions, target string) (err error) {
	switch {
	case target == MemoryStore:
		return nil
	case target == "" || store.IsDSN(target):
		out.Data, err = command.DefaultData()
		out.DefaultStore = command.StorePath(out.Data)
	default:
		target, err = filepath.Abs(target)
		out.Data = filepath.Dir(target)
	}
	out.Store = target
	return err
}

// dial sets how to reach Temporal.
func dial(out *app.HostOptions, asked *client.Options) (err error) {
	if asked != nil {
		out.Temporal = *asked
	} else if out.Temporal, err = envconfig.LoadDefaultClientOptions(); err != nil {
		return fmt.Errorf("Temporal client configuration: %w", err)
	}
	out.Temporal.HostPort = cmp.Or(out.Temporal.HostPort, client.DefaultHostPort)
	return nil
}
