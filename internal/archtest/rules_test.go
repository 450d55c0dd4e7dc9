package archtest

// Packages of this module are named by their folder; others by their import
// path; std is the standard library. "/..." adds all packages below, "*" stands
// for any name, and "..." for every package of this module.

// importRule says what some packages may not import. Tests are not bound by it.
type importRule struct {
	in     []string // the packages that are bound
	except []string // … but not these
	never  []string
	only   []string // if set, all else is as if in never
	deep   bool     // not through other packages either
	why    string
}

var (
	all         = []string{"..."}
	adapters    = []string{"internal/llm/*", "internal/tool/*", "internal/store"}
	testHelpers = []string{"internal/*test", "internal/*/*test", "test/..."}
	server      = []string{"go.temporal.io/server/...", "github.com/temporalio/ui-server/..."}
)

var importRules = []importRule{
	{in: []string{"value", "internal/agent/..."}, only: []string{"std", "value"},
		why: "the vocabulary knows the values of definitions and nothing else"},
	{in: []string{"internal/plan/..."}, only: []string{"std", "internal/agent", "value"},
		why: "a plan knows the vocabulary and nothing else"},
	{in: []string{"config"}, only: []string{"std", "value"},
		why: "programs and the YAML engine share definitions without the code that reads them"},
	{in: []string{"internal/strict"}, only: []string{"std", "gopkg.in/yaml.v3", "internal/kit/*", "config"},
		why: "the YAML engine knows no agent, only the type of a finding"},
	{in: []string{"workflows/..."}, never: []string{"internal/llm/...", "internal/tool/...", "internal/store/...", "internal/prompt/...",
		"config/...", "internal/configuration/...", "internal/app/..."},
		why: "workflows decide and do no I/O"},
	{in: []string{"activities/..."},
		never: append([]string{"config/...", "internal/configuration/...", "workflows/...", "internal/app/..."}, adapters...),
		why:   "activities know concepts, not adapters"},
	{in: adapters, except: testHelpers, never: adapters,
		why: "adapters do not know each other"},
	{in: adapters, except: testHelpers,
		never: []string{"config/...", "internal/configuration/...", "workflows/...", "activities/...", "internal/app/..."},
		why:   "adapters know their parent only"},
	{in: []string{"internal/..."}, except: []string{"internal/app/...", "internal/doctor", "internal/face/api/...", "internal/face/cli/..."},
		never: []string{"internal/app/..."},
		why:   "only the programs know how they are put together"},
	{in: []string{"internal/client"}, never: []string{"config/...", "internal/configuration/...", "internal/app/...", "internal/command",
		"internal/face/terminal", "internal/llm/...", "internal/tool/...", "internal/prompt/...", "github.com/spf13/..."},
		why: "the client joins Temporal and the store, and prints nothing"},
	{in: []string{"internal/...", "workflows/...", "activities/...", "config/..."},
		except: []string{"internal/app/...", "internal/face/..."}, never: []string{"internal/client/..."},
		why: "the client is for whoever uses the system"},
	{in: []string{"internal/system"}, never: []string{"internal/client/...", "internal/face/...", "internal/store/..."},
		why: "requests and answers are the same by whichever way they travel"},
	{in: []string{"internal/face/..."}, except: []string{"internal/face/api/...", "internal/face/cli/..."}, // they serve or use them
		never: []string{"internal/face/api/...", "internal/face/mcpserver", "internal/face/remote", "internal/face/live", "internal/face/page"},
		why:   "the ways in do not know each other"},
	{in: all, except: []string{"starter", "worker", "dev", "internal/face/cli/..."}, never: []string{"internal/face/cli/..."},
		why: "the command line is for the programs"},
	{in: []string{"internal/face/cli/..."}, except: []string{"internal/face/cli/local"}, deep: true,
		never: []string{"internal/client/...", "internal/store/...", "internal/app/...", "internal/doctor", "internal/face/api/...",
			"internal/face/cli/local"},
		why: "a command line for the API alone links neither databases nor models"},
	{in: []string{"internal/face/mcpserver", "internal/face/slack", "internal/face/notify"},
		never: []string{"internal/store/...", "internal/client/..."},
		why:   "MCP tools and people in Slack run operations, and touch nothing else"},
	{in: []string{"internal/face/remote"}, never: []string{"internal/client/...", "internal/store/...", "internal/app/...",
		"modernc.org/sqlite/...", "github.com/jackc/pgx/...", "github.com/danielgtaylor/huma/..."}, deep: true,
		why: "a client of the API links neither databases nor the server"},
	{in: []string{"internal/face/page"}, only: []string{"std"},
		why: "the page is on the API alone"},
	{in: all, except: []string{"examples/...", "inquesttest"}, never: []string{module},
		why: "the API is for other programs"},
	{in: []string{".", "inquesttest", "worker/...", "starter/...", "examples/..."},
		never: append([]string{"internal/devserver/..."}, server...), deep: true,
		why: "only dev carries the Temporal server"},

	{in: []string{".", "worker/...", "starter/...", "examples/..."}, never: []string{"internal/sample/actor", "internal/llm/scripted"},
		deep: true,
		why:  "only dev has a model that is none"},
	{in: all, except: []string{"internal/devserver/..."}, never: server,
		why: "one package imports the Temporal server"},
	{in: all, never: []string{"go.temporal.io/sdk/..."},
		except: []string{".", "inquesttest", "workflows/...", "activities/...", "worker", "starter", "dev", "internal/app/...",
			"internal/doctor", "internal/devserver/...", "internal/payload", "internal/metrics", "internal/dial", "internal/client",
			"internal/face/api/...", "internal/face/cli/...", "test/..."},
		why: "all else knows nothing of Temporal"},
	{in: all, except: []string{"internal/strict", "internal/knowledge/skill"}, never: []string{"gopkg.in/yaml.v3"},
		why: "YAML is read in two places: the configuration, and the front matter of skills"},
	{in: all, except: []string{"internal/llm/openai"}, never: []string{"github.com/sashabaranov/go-openai/..."},
		why: "one package imports the SDK for OpenAI"},
	{in: all, except: []string{"internal/llm/anthropic"}, never: []string{"github.com/anthropics/anthropic-sdk-go/..."},
		why: "one package imports the SDK for Anthropic"},
	{in: all, except: []string{"internal/llm/gemini"}, never: []string{"google.golang.org/genai/..."},
		why: "one package imports the SDK for Gemini"},
	{in: all, except: []string{"internal/llm/geminilegacy"}, never: []string{"github.com/google/generative-ai-go/..."},
		why: "one package imports the old SDK for Gemini"},
	{in: all, except: []string{"internal/store"}, never: []string{"modernc.org/sqlite/...", "github.com/jackc/pgx/...",
		"github.com/pressly/goose/..."},
		why: "one package imports the databases"},
	{in: all, except: []string{"internal/face/live"}, never: []string{"charm.land/bubbletea/v2/...", "charm.land/bubbles/v2/..."},
		why: "one package imports the library of the live view"},
	{in: all, except: []string{"internal/token"}, never: []string{"github.com/tiktoken-go/..."},
		why: "one package imports the tokenizer"},
	{in: all, except: []string{"internal/face/slack/..."}, never: []string{"github.com/slack-go/slack/..."},
		why: "one package imports the SDK for Slack"},
	{in: all, except: []string{"internal/face/notify"}, never: []string{"github.com/wneessen/go-mail/...",
		"github.com/standard-webhooks/standard-webhooks/libraries/go"},
		why: "one package sends mail and signed webhooks"},
}

// nameless are the packages that know no provider by its name: what differs between providers is in the dialect, which is
// resolved into the plan.
var nameless = []string{"activities/...", "workflows/...", "internal/outgoing", "internal/prompt", "internal/transcript"}

// providerNames are the types of providers and the names of drivers, as plans have them.
var providerNames = []string{"openai", "anthropic", "google", "azure", "generative-ai-go"}

// limits of size, in lines.
type limits struct{ advised, file, function, width int }

var ourLimits = limits{advised: 400, file: 500, function: 80, width: 140}

// backgrounds lists the files that may create a root context although they are neither a main nor a test, with
// the reasons.
var backgrounds = map[string]string{
	"internal/devserver/log.go": "the server's logger knows no contexts",
}
