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
	"github.com/inquest-dev/inquest/internal/tool/builtin"
	"github.com/inquest-dev/inquest/workflows"
)

// Options say what a worker runs, and where. The zero value is a worker of what
// is built in, for the Temporal that its own CLI would find.
type Options struct {
	// Temporal is how Temporal is reached; nil = as its CLI does it:
	// TEMPORAL_ADDRESS (default localhost:7233), TEMPORAL_NAMESPACE, profiles, TLS, API keys.
	Temporal *client.Options
	// TaskQueue is the queue that the worker serves; "" = "inquest". On a queue that
	// servers name as theirs, it runs their tools and nothing else.
	TaskQueue string
	// Store keeps transcripts and reports: the path of a SQLite file, which all
	// workers of one host share, a postgres:// address, which those of a fleet do,
	// or MemoryStore; "" = system.store of Config, else the file that dev uses.
	Store string
	// Config is a directory or file of YAML; "" = none. Its changes are followed.
	Config string

	// Tools are functions of this program that agents may call, if their ToolIDs
	// name them.
	Tools []Tool
	// Hooks are functions of this program that stages name as their pre_process and
	// post_process, Mocks those that agents' entries name as their mock.
	Hooks map[string]Hook
	Mocks map[string]Mock
	// Models are model clients of this program, by the names of the providers that they
	// reach; "*" = all. A provider of the type program has no other, and one that is named
	// here needs no key.
	Models map[string]Model
	// Prompts are texts that entries name as their prompt_key.
	Prompts map[string]string
	// Listener is told what the worker has committed, in the order of each agent; nil = nobody is. It holds
	// up nothing: whoever is a thousand events behind loses those that follow, and the log says
	// how many. A step that is tried again is told again (WorkerEvent.Seq), and one of another
	// worker's to that worker's listener alone.
	Listener func(WorkerEvent)
	// PromptFuncs are functions that write what a prompt_key stands for.
	PromptFuncs map[string]Prompt
	// Selectors are functions that choose the models of agents whose DefaultModel is "selector:NAME".
	Selectors map[string]Selector
	// Agents, Chains, Servers and Providers are definitions, by name. A name that
	// Config has as well is an error; one that is built in is replaced.
	Agents    map[string]*Agent
	Chains    map[string]*Chain
	Servers   map[string]*Server
	Providers map[string]*Provider

	// Drain is how long running calls may go on after Run's ctx has ended;
	// 0 = queue.graceful_shutdown_timeout of Config, else 30 s.
	Drain time.Duration
	// DeploymentVersion is the build id for Temporal's worker versioning:
	// investigations stay with the version that they started on; "" = off.
	DeploymentVersion string
	// Logger is told what the worker does; nil = slog.Default.
	Logger *slog.Logger
}

// MemoryStore is a store that ends with its worker: for tests and for trying
// things out. Investigations that go on after that have lost their transcripts.
const MemoryStore = ":memory:"

// host is what the composition root makes of the options.
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

// entries is a copy of the definitions: nobody changes them from here on.
func (o Options) entries() config.Entries {
	return config.Entries{
		Agents: o.Agents, AgentChains: o.Chains, MCPServers: o.Servers, LLMProviders: o.Providers, Prompts: o.Prompts,
	}.Clone()
}

func (o Options) logger() *slog.Logger { return cmp.Or(o.Logger, slog.Default()) }

// place sets where the data is. A file has its folder, which one in memory is given later.
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

// dial sets how Temporal is reached.
func dial(out *app.HostOptions, asked *client.Options) (err error) {
	if asked != nil {
		out.Temporal = *asked
	} else if out.Temporal, err = envconfig.LoadDefaultClientOptions(); err != nil {
		return fmt.Errorf("Temporal client configuration: %w", err)
	}
	out.Temporal.HostPort = cmp.Or(out.Temporal.HostPort, client.DefaultHostPort)
	return nil
}
