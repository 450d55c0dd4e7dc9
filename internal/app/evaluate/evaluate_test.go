package evaluate_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/app/evaluate"
	"github.com/inquest-dev/inquest/internal/eval"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
)

var examples = filepath.Join("..", "..", "..", "examples", "evals")

func options(t *testing.T, config string) evaluate.Options {
	return evaluate.Options{Config: config, Provider: eval.Recorded, Data: t.TempDir(), Logger: slog.New(slog.DiscardHandler)}
}

// TestShippedCases: with an unchanged configuration, every shipped case passes, gets all results from its tape, and differs nowhere from
// its recording.
func TestShippedCases(t *testing.T) {
	t.Parallel()
	cases, err := eval.LoadAll(examples)
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) < 12 {
		t.Errorf("%d cases", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			want := eval.Run{
				Case: c.Name, Provider: eval.Recorded, Passed: true, Coverage: agent.Coverage{Hits: len(c.Tape.Results)},
			}
			got := evaluate.Run(t.Context(), c, options(t, filepath.Join(examples, "inquest.yaml")))
			got.TookMS, got.Report = 0, ""
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("run (-want +got):\n%s", diff)
			}
			if c.Description == "" || len(c.Expect.Cause) == 0 || len(c.Expect.Cites) == 0 || len(c.Expect.Never) == 0 {
				t.Errorf("it expects too little: %+v", c.Expect)
			}
		})
	}
}

// writes is a case whose agent asks for a call that changes something, and its configuration.
func writes(t *testing.T, toolConfig string) (eval.Case, string) {
	t.Helper()
	const execution = "act/Operator"
	restart := eval.Call{Tool: "k8s.restart", Arguments: []byte(`{"name":"web"}`)}
	c := eval.Case{
		Name:    "restart",
		Request: agent.Request{Chain: "ops", Data: []byte(`"web is stuck"`)},
		Tape: eval.Tape{
			Servers: []tool.Catalogue{{Server: "k8s", Tools: []tool.Spec{{
				Name: "k8s.restart", Risk: agent.RiskWrite, RiskFrom: tool.SourceAnnotation, Schema: []byte(`{"type":"object"}`),
			}}}},
			Replies: []eval.Reply{
				{At: eval.At{Agent: execution, Iteration: 1}, Text: "I restart it.", Calls: []eval.Call{restart}},
				{At: eval.At{Agent: execution, Iteration: 2}, Text: "Restarted."},
			},
			Results: []eval.Result{{At: eval.At{Agent: execution, Iteration: 1}, Call: restart, Status: "success", Text: "restarted"}},
		},
		Expect: eval.Expect{Report: []string{"restarted"}, Calls: []string{"k8s.restart"}},
	}
	path := filepath.Join(t.TempDir(), "inquest.yaml")
	config := `
defaults: {llm_provider: main, tool_config: ` + toolConfig + `}
llm_providers: {main: {type: openai, model: m, api_key_env: INQUEST_TEST_NO_SUCH_KEY}}
mcp_servers:
  k8s:
    transport: {type: http, url: "https://k8s.example/mcp", bearer_token: "{{.INQUEST_TEST_NO_SUCH_TOKEN}}"}
agents: {Operator: {mcp_servers: [k8s], custom_instructions: "Act."}}
agent_chains: {ops: {stages: [{name: act, agents: [{name: Operator}]}]}}
`
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return c, path
}

// TestPermissions: nobody has to approve a call that is answered from the tape, and a call that the configuration no longer permits
// differs from the recording, at its row. Neither needs a credential.
func TestPermissions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tools    string
		passed   bool
		coverage agent.Coverage
		diverged string
	}{
		"approval": {"{access_level: write, tool_permissions: {k8s.restart: {requires_approval: true}}}", true, agent.Coverage{Hits: 1}, ""},
		"forbidden": {"{access_level: read}", false, agent.Coverage{},
			`row 4, act/Operator, iteration 1: the result of k8s.restart {"name":"web"} is error PermissionDenied instead of success`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, config := writes(t, test.tools)
			got := evaluate.Run(t.Context(), c, options(t, config))
			diverged := ""
			if got.Diverged != nil {
				diverged = got.Diverged.String()
			}
			if got.Passed != test.passed || got.Coverage != test.coverage || got.Error != "" || diverged != test.diverged {
				t.Errorf("%+v; diverged at %q", got, diverged)
			}
		})
	}
}

// TestLive: a real server is called for what is not on the tape, if its tool only reads and needs no approval, whatever the tape says.
func TestLive(t *testing.T) {
	t.Parallel()
	server := tooltest.ServeWeb(t, tooltest.WebOptions{})
	c, config := writes(t, "{access_level: write, tool_permissions: {k8s.echo: {requires_approval: true}}}")
	text, err := os.ReadFile(config)
	if err == nil {
		real := fmt.Sprintf("url: %q}\n    risk: {add: read_only, echo: read_only, fail: write}", server.URL)
		recorded := `url: "https://k8s.example/mcp", bearer_token: "{{.INQUEST_TEST_NO_SUCH_TOKEN}}"}`
		err = os.WriteFile(config, []byte(strings.Replace(string(text), recorded, real, 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	add := func(a, b int) eval.Call {
		return eval.Call{Tool: "k8s.add", Arguments: fmt.Appendf(nil, `{"a":%d,"b":%d}`, a, b)}
	}
	c.Tape.Servers[0].Tools = []tool.Spec{{Name: "k8s.fail", Risk: agent.RiskReadOnly, RiskFrom: tool.SourceConfiguration}}
	c.Tape.Replies[0].Calls = []eval.Call{
		add(1, 2), add(2, 2), {Tool: "k8s.echo", Arguments: []byte(`{"text":"x"}`)}, {Tool: "k8s.fail", Arguments: []byte(`{"text":"x"}`)},
	}
	c.Tape.Results[0].Call, c.Tape.Results[0].Text = add(1, 2), "three"
	c.Expect = eval.Expect{Calls: []string{"k8s.add"}}
	opts := options(t, config)
	opts.Live = true
	got := evaluate.Run(t.Context(), c, opts)
	if want := (agent.Coverage{Hits: 1, Live: 1, Misses: 2}); !got.Passed || got.Coverage != want {
		t.Errorf("%+v", got)
	}
	if calls := server.Seen("tools/call"); len(calls) != 1 {
		t.Errorf("the server got %d calls", len(calls))
	}
}

// TestModels: a real model is called over HTTP. It is told the recorded time, gets the recorded results, and is told what was not made.
func TestModels(t *testing.T) {
	t.Parallel()
	c, config := writes(t, "{access_level: write}")
	c.Tape.StartedAt = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	var last string
	script := llmtest.Sequence(
		llmtest.Calls(
			llmtest.Call{Name: "k8s__restart", Args: `{ "name": "web" }`},
			llmtest.Call{ID: "c2", Name: "k8s__restart", Args: `{"name":"db"}`},
		),
		llmtest.Text("Restarted, I suppose."),
	)
	server := llmtest.Start(t, func(req llmtest.Request) llmtest.Reply {
		mu.Lock()
		defer mu.Unlock()
		last = string(req.Body)
		return script(req)
	})
	opts := options(t, config)
	opts.Provider = "main"
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	main, mine := "api_key_env: INQUEST_TEST_NO_SUCH_KEY", fmt.Sprintf("base_url: %q", server.URL)
	if err := os.WriteFile(config, []byte(strings.Replace(string(text), main, mine, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	got := evaluate.Run(t.Context(), c, opts)
	const diverged = `it called k8s.restart {"name":"db"} in addition`
	covered := got.Coverage == agent.Coverage{Hits: 1, Misses: 1}
	if !got.Passed || !covered || got.Diverged == nil || got.Diverged.What != diverged || got.Tokens == 0 {
		t.Errorf("%+v, diverged at %v", got, got.Diverged)
	}
	for _, part := range []string{"2025-03-01", `"restarted"`, "This call of k8s.restart was not made"} {
		if !strings.Contains(last, part) {
			t.Errorf("the model was not told %s:\n%s", part, last)
		}
	}
}

// TestNothingOutside: an evaluation neither scores, nor learns, nor embeds, nor notifies, and needs none of the credentials for that.
func TestNothingOutside(t *testing.T) {
	t.Parallel()
	c, config := writes(t, "{access_level: write}")
	var requests atomic.Int32
	outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		t.Errorf("request for %s", r.URL)
	}))
	t.Cleanup(outside.Close)
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	more := fmt.Sprintf(`defaults:
  scoring: {enabled: true, llm_provider: judge}
  memory: {enabled: true, embedding: {provider: openai, model: m, base_url: %[1]q, dimensions: 8}}
  llm_provider: main
  tool_config: {access_level: write}
system:
  notifications:
    channels: {hook: {type: webhook, url: %[1]q, secret: "{{.INQUEST_TEST_NO_SUCH_SECRET}}"}}
    routes: [{channels: [hook]}]
llm_providers:
  judge: {type: openai, model: m, base_url: %[1]q}
  main:`, outside.URL)
	const less = "\ndefaults: {llm_provider: main, tool_config: {access_level: write}}\nllm_providers: {main:"
	changed := strings.Replace(string(text), less, more, 1)
	changed = strings.Replace(changed, "NO_SUCH_KEY}}", "NO_SUCH_KEY}", 1)
	if err := os.WriteFile(config, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := evaluate.Run(t.Context(), c, options(t, config)); !got.Passed || got.Diverged != nil || requests.Load() != 0 {
			t.Errorf("%+v, diverged at %v, requests: %d", got, got.Diverged, requests.Load())
		}
	}
}

// TestInterrupted: a run that is interrupted is cancelled, and its model is not called any more.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	c, config := writes(t, "{access_level: write}")
	called, gone := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(called)
		<-r.Context().Done()
		close(gone)
	}))
	t.Cleanup(server.Close)
	text, err := os.ReadFile(config)
	if err == nil {
		changed := strings.Replace(string(text), "api_key_env: INQUEST_TEST_NO_SUCH_KEY", fmt.Sprintf("base_url: %q", server.URL), 1)
		err = os.WriteFile(config, []byte(changed), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	opts := options(t, config)
	opts.Provider = ""
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-called
		cancel(errors.New("interrupted"))
	}()
	if got := evaluate.Run(ctx, c, opts); got.Error != "interrupted" || got.Passed {
		t.Errorf("%+v", got)
	}
	<-gone
}

// TestTrouble: a run that cannot be made says why.
func TestTrouble(t *testing.T) {
	t.Parallel()
	c, config := writes(t, "{access_level: write}")
	unknown := c
	unknown.Request.Chain = "nosuch"
	opts := options(t, config)
	noKey := opts
	noKey.Provider = ""
	slow := opts
	slow.Timeout = 1
	cut, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	got := map[string]string{
		"chain":   evaluate.Run(t.Context(), unknown, opts).Error,
		"config":  evaluate.Run(t.Context(), c, options(t, filepath.Join(config, "none"))).Error,
		"no key":  evaluate.Run(t.Context(), c, noKey).Error,
		"slow":    evaluate.Run(t.Context(), c, slow).Error,
		"stopped": evaluate.Run(cut, c, opts).Error,
	}
	for name, want := range map[string]string{
		"chain": `nosuch`, "config": "none", "no key": "INQUEST_TEST_NO_SUCH_KEY", "slow": "it took longer than 1ns", "stopped": "interrupted",
	} {
		if !strings.Contains(got[name], want) {
			t.Errorf("%s: %q lacks %q", name, got[name], want)
		}
	}
}
