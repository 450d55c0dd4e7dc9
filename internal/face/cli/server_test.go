package cli

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/doctor"
	"github.com/inquest-dev/inquest/internal/face/api"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/cli/local"
	"github.com/inquest-dev/inquest/internal/payload"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

const secret = "a token of thirty-two characters"

// TestScriptsByServer runs scripts through the HTTP API: commands know its address and a token, but neither Temporal's address nor the
// store's. Lines that name those have the condition [!server].
func TestScriptsByServer(t *testing.T) {
	t.Parallel()
	params := scripts(true, func(env *testscript.Env, fake *fakeTemporal) {
		env.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
		env.Setenv("INQUEST_SERVER", serveAPI(env.T().(testing.TB), fake, env.WorkDir))
		env.Setenv("INQUEST_TOKEN", secret)
	})
	params.Files, _ = filepath.Glob("testdata/server/*.txtar")
	for _, name := range []string{"store", "report", "evidence", "artifacts", "numbers", "audit", "memories", "rate", "reads"} {
		params.Files = append(params.Files, "testdata/"+name+".txtar")
	}
	testscript.Run(t, params)
}

// serveAPI serves the API of a system with a fake Temporal and a store in a folder.
func serveAPI(t testing.TB, fake *fakeTemporal, dir string) (address string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.yaml")
	tokens := fmt.Sprintf("system: {http: {tokens: {Ada: {sha256: %x, role: admin, projects: ['*']}}}}\ndefaults: {shell: {enabled: true}}\n",
		sha256.Sum256([]byte(secret)))
	if err := os.WriteFile(file, []byte(tokens), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := configuration.Load(configuration.Source{Dir: file, Env: os.LookupEnv, SkipCredentials: true})
	if err != nil {
		t.Fatal(err)
	}
	system := client.New(client.Options{TaskQueue: workflows.TaskQueue, Store: store.At(filepath.Join(dir, "inquest.db")),
		Temporal: func() (sdk.Options, payload.Keys, error) {
			return sdk.Options{HostPort: fake.address}, payload.Keys{}, nil
		}})
	t.Cleanup(func() { _ = system.Close() })
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	s, err := api.New(ctx, api.Options{
		System: system, Config: func() *configuration.Config { return cfg }, Logger: slog.New(slog.DiscardHandler),
		Tools: func(ctx context.Context, cfg *configuration.Config) (api.Tools, error) {
			st, err := system.Store(ctx)
			return doctor.NewToolbox(doctor.ToolboxOptions{Config: cfg, Shared: st, Logger: slog.New(slog.DiscardHandler)}), err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	return server.URL
}

// With --server, operations that need Temporal or the store itself fail with that reason.
func TestNothingLocalByServer(t *testing.T) {
	t.Parallel()
	c := base.CLI{Getenv: func(string) string { return "" }, Full: local.Full(), Flags: base.Flags{Server: "http://127.0.0.1:1"}}
	c.Client = c.Connect
	_, err := c.Local().Find(t.Context(), "lab")
	if _, wrong := errors.AsType[*command.UsageError](err); !wrong {
		t.Errorf("Temporal: %v", err)
	}
	if _, err := c.Local().AuditHead(t.Context()); !errors.Is(err, system.ErrNoStore) {
		t.Errorf("the store: %v", err)
	}
}

// beginRun CHAIN WORKFLOW starts an investigation of the default project outside of the commands.
func beginRun(ts *testscript.TestScript, _ bool, args []string) {
	_, err := ts.Value("fake").(*fakeTemporal).StartWorkflowExecution(context.Background(), &workflowservice.StartWorkflowExecutionRequest{
		WorkflowId: args[1], WorkflowType: &commonpb.WorkflowType{Name: workflows.TypeInvestigation},
		Input: payloads(agent.Request{Chain: args[0]}),
		Memo:  &commonpb.Memo{Fields: map[string]*commonpb.Payload{"inquest_project": payloads(agent.DefaultProject).Payloads[0]}},
	})
	ts.Check(err)
}
