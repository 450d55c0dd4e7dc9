package inquest_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/inquest-dev/inquest"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/devserver"
	"github.com/inquest-dev/inquest/workflows"
)

var record = flag.Bool("record", false, "write the histories of TestCode to workflows/testdata/histories/next")

// office holds a program's functions and their recorded inputs.
type office struct {
	begun   chan struct{} // the first attempt at the hook has begun
	steps   atomic.Int32  // attempts
	weighed atomic.Int32
	asked   chan inquest.MockInput
	checked chan inquest.HookInput
}

type thing struct {
	Kilos int `json:"kilos"`
}

func (o *office) weigh(_ context.Context, t thing) (any, error) {
	o.weighed.Add(1)
	if t.Kilos > 100 {
		return nil, errors.New("too heavy")
	}
	return map[string]any{"kilos": t.Kilos}, nil
}

// plan is a hook whose first attempt is interrupted.
func (o *office) plan(ctx context.Context, in inquest.HookInput) (inquest.HookOutput, error) {
	if o.steps.Add(1) == 1 {
		close(o.begun)
		<-ctx.Done()
		return inquest.HookOutput{}, ctx.Err()
	}
	step := func(kilos int) map[string]any {
		return map[string]any{"tool": "weigh", "parameters": map[string]any{"kilos": kilos}}
	}
	return inquest.HookOutput{Output: map[string]any{"steps": []any{step(3), step(500)}, "for": in.Request}}, nil
}

func (o *office) options(address, store string) inquest.Options {
	stage := func(name, agent string, flow inquest.Flow) *inquest.Stage {
		return &inquest.Stage{Name: name, Agents: []*inquest.StageAgent{{Name: agent}}, Flow: flow}
	}
	judge := stage("judge", "Judge", inquest.Flow{
		PostProcess: "check", RequiredOutputFields: []string{"good"},
		RoutingRules: []inquest.RoutingRule{{Condition: "checked", Value: json.RawMessage(`true`), Target: "end"}},
	})
	judge.Mock, judge.PromptKey = "verdict", "strict"
	return inquest.Options{
		Temporal: &client.Options{HostPort: address, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))},
		Store:    store, Drain: 100 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
		Tools: []inquest.Tool{inquest.NewTool("weigh", "Weighs a thing", o.weigh, inquest.WithRisk(inquest.RiskReadOnly))},
		Hooks: map[string]inquest.Hook{
			"plan": o.plan,
			"refuse": func(context.Context, inquest.HookInput) (inquest.HookOutput, error) {
				return inquest.HookOutput{}, errors.New("not today")
			},
			"enrich": func(context.Context, inquest.HookInput) (inquest.HookOutput, error) {
				return inquest.HookOutput{Output: map[string]any{"unit": "kg"}}, nil
			},
			"check": func(_ context.Context, in inquest.HookInput) (inquest.HookOutput, error) {
				o.checked <- in
				return inquest.HookOutput{Output: map[string]any{"checked": in.Output.JSON["good"] == false}}, nil
			},
		},
		Mocks: map[string]inquest.Mock{"verdict": func(_ context.Context, in inquest.MockInput) (any, error) {
			o.asked <- in
			return map[string]any{"good": false, "why": "too heavy"}, nil
		}},
		Prompts: map[string]string{"strict": "You are {{.Agent}}, and strict."},
		Agents: map[string]*inquest.Agent{
			"Gate": {Type: "service"}, "Runner": {Type: "tool_plan", ToolIDs: []string{"weigh"}}, "Judge": {Type: "llm"},
		},
		Chains: map[string]*inquest.Chain{"code": {LLMProvider: "scripted", Stages: []*inquest.Stage{
			stage("open", "Gate", inquest.Flow{PreProcess: "refuse", ErrorNext: "plan"}),
			stage("plan", "Gate", inquest.Flow{PostProcess: "plan"}),
			stage("run", "Runner", inquest.Flow{PreProcess: "enrich"}),
			judge,
			stage("never", "Gate", inquest.Flow{}),
		}}},
	}
}

// work runs a worker until the function that it returns is called.
func (o *office) work(t *testing.T, address, store string) (stop func()) {
	t.Helper()
	w, err := inquest.NewWorker(t.Context(), o.options(address, store))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// TestCode runs a chain without a model (hooks, a tool plan, a mock) on a real Temporal. The worker stops in the middle
// of a hook, and another one runs the hook again.
func TestCode(t *testing.T) {
	t.Parallel()
	server, err := devserver.Start(t.Context(), devserver.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	conn, err := client.DialContext(t.Context(),
		client.Options{HostPort: server.Address(), Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	o, store := &office{begun: make(chan struct{}), asked: make(chan inquest.MockInput, 9), checked: make(chan inquest.HookInput, 9)},
		filepath.Join(t.TempDir(), "store.db")
	stop := o.work(t, server.Address(), store)
	request := agent.Request{Chain: "code", Data: json.RawMessage(`"two things"`), UseMock: true}
	run, err := conn.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "code", TaskQueue: workflows.TaskQueue},
		workflows.TypeInvestigation, request)
	if err != nil {
		t.Fatal(err)
	}
	<-o.begun
	stop()
	o.work(t, server.Address(), store)
	var result workflows.InvestigationResult
	if err := run.Get(t.Context(), &result); err != nil {
		t.Fatal(err)
	}
	if want := `{"checked":true,"good":false,"why":"too heavy"}`; result.Report != want || result.Usage.ModelCalls != 0 ||
		result.Usage.ToolCalls != 2 {
		t.Errorf("report %s, usage %+v", result.Report, result.Usage)
	}
	if o.steps.Load() != 2 || o.weighed.Load() != 2 {
		t.Errorf("the hook was begun %d times, the tool called %d times", o.steps.Load(), o.weighed.Load())
	}
	o.compare(t, statusOf(t, conn))
	if *record {
		o.record(t, conn, result.ID)
	}
}

func statusOf(t *testing.T, conn client.Client) (status workflows.Status) {
	t.Helper()
	value, err := conn.QueryWorkflow(t.Context(), "code", "", workflows.QueryStatus)
	if err == nil {
		err = value.Get(&status)
	}
	if err != nil {
		t.Fatal(err)
	}
	return status
}

// compare checks the inputs of the functions and the status that people see.
func (o *office) compare(t *testing.T, status workflows.Status) {
	t.Helper()
	var ran []string
	for _, run := range status.History {
		ran = append(ran, run.Stage+" "+string(run.Status))
	}
	want := []string{"open failed", "plan completed", "run completed", "judge completed"}
	if diff := cmp.Diff(want, ran); diff != "" || len(status.Errors) != 1 ||
		status.Errors[0].Error != "pre_process refuse: refuse: not today" {
		t.Errorf("errors %+v (-want +got):\n%s", status.Errors, diff)
	}
	asked, checked := <-o.asked, <-o.checked
	plan, results := asked.Outputs["plan"].JSON, asked.Outputs["run"].JSON
	if plan["for"] != "two things" || results["all_succeeded"] != false || len(results["results"].([]any)) != 2 ||
		asked.Request != "two things" {
		t.Errorf("the mock was told of %v and %v", plan, results)
	}
	if checked.Output.JSON["why"] != "too heavy" || checked.Stage != "judge" || !strings.HasSuffix(checked.Key, "/judge/post_process:check") {
		t.Errorf("the hook was told %+v", checked)
	}
	for _, part := range []string{`"step_id":"step_0"`, `"result":{"status":"success","data":{"kilos":3}}`, `too heavy`} {
		if got := status.Outputs["run"].Value; !strings.Contains(string(got), part) {
			t.Errorf("the plan came to %s: there is no %s", got, part)
		}
	}
}

// machine matches the parts of a history that identify the machine on which it was recorded.
var machine = regexp.MustCompile(`("identity": ?"|"name": ?")[^"]*(@|:[0-9a-f]{8}-)[^"]*"`)

// record adds the histories to the corpus that workflows/replay_test.go replays.
func (o *office) record(t *testing.T, conn client.Client, id string) {
	t.Helper()
	dir := filepath.Join("workflows", "testdata", "histories", "next")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for shape, workflow := range map[string]string{
		"code": "code", "code_open": id + "/open", "code_plan": id + "/plan", "code_plan-Gate": id + "/plan/Gate",
		"code_run": id + "/run", "code_run-Runner": id + "/run/Runner", "code_judge": id + "/judge", "code_judge-Judge": id + "/judge/Judge",
	} {
		recorded := &historypb.History{}
		events := conn.GetWorkflowHistory(t.Context(), workflow, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			if err != nil {
				t.Fatal(err)
			}
			recorded.Events = append(recorded.Events, event)
		}
		body, err := protojson.Marshal(recorded)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, shape+".json")
		if err := os.WriteFile(path, machine.ReplaceAll(body, []byte(`${1}recorded"`)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
