package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/doctor"
	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/metrics"
	"github.com/inquest-dev/inquest/internal/payload"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// world is an API on a store, with a Temporal that records starts and has no worker.
type world struct {
	*testing.T
	store    *store.Store
	path     string
	temporal *temporal
	api      *Server
	url      string
	as       string // token for listing alerts; empty means no authentication
}

// tokens are the tokens in every world: one for each role in the project payments, and others.
var tokens = map[string]config.Grant{
	"viewer":   {Role: config.RoleViewer, Projects: []string{"payments"}},
	"operator": {Role: config.RoleOperator, Projects: []string{"payments"}},
	"approver": {Role: config.RoleApprover, Projects: []string{"payments"}},
	"admin":    {Role: config.RoleAdmin, Projects: []string{"payments"}},
	"stranger": {Role: config.RoleAdmin, Projects: []string{"search"}},
	"root":     {Role: config.RoleAdmin, Projects: []string{"*"}},
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return open(t,
		whoMay()+"agents: {Memo: {}}\nagent_chains: {shop: {projects: [payments], stages: [{name: dig, agents: [{name: Memo}]}]}}\n")
}

// whoMay returns the configuration of the tokens.
func whoMay() string {
	file := "system: {http: {tokens: {"
	for name, grant := range tokens {
		projects, _ := json.Marshal(grant.Projects)
		file += fmt.Sprintf("%s: {sha256: %x, role: %s, projects: %s}, ", name, sha256.Sum256([]byte(secret(name))), grant.Role, projects)
	}
	return file + "}, webhooks: {shop: {format: alertmanager, chain: shop}}}}\n"
}

func secret(name string) string { return "token-of-" + name }

// open returns an API with a configuration.
func open(t *testing.T, file string) *world {
	t.Helper()
	return openOn(t, file, filepath.Join(t.TempDir(), "inquest.db"))
}

// openOn returns an API with a configuration and a store.
func openOn(t *testing.T, file, path string) *world {
	t.Helper()
	env := func(name string) (string, bool) {
		if !strings.HasPrefix(name, "HOOK_") {
			return "", false
		}
		return os.LookupEnv(name)
	}
	cfg, err := configuration.Load(configuration.Source{Dir: write(t, file), Env: env, SkipCredentials: true})
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), store.At(path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	w := &world{T: t, store: st, path: path, temporal: &temporal{started: map[string]*workflowpb.WorkflowExecutionInfo{}}}
	w.api, err = New(t.Context(), Options{
		System: client.Over(w.temporal, payload.Keys{}, st, workflows.TaskQueue, ""),
		Config: func() *configuration.Config { return cfg }, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Metrics: metrics.New().Handler(),
		Tools: func(context.Context, *configuration.Config) (Tools, error) {
			return doctor.NewToolbox(doctor.ToolboxOptions{Config: cfg, Shared: st, Logger: slog.New(slog.DiscardHandler)}), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(w.api.Handler())
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

func write(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := writeFile(filepath.Join(dir, "a.yaml"), text); err != nil {
		t.Fatal(err)
	}
	return dir
}

// investigation makes an ended investigation of a project, with one entry.
func (w *world) investigation(name, project string) string {
	w.Helper()
	id := workflows.InvestigationID(name, "00000000-0000-0000-0000-0123456789ab")
	end := time.Now()
	r := record.Investigation{
		ID: id, WorkflowID: name, RunID: "r", Chain: "shop", Status: agent.StatusCompleted, PlanHash: "p", StartedAt: end, EndedAt: &end,
		Report: "it is the pool of " + project, Labels: agent.Labels{Project: project},
	}
	if err := w.store.FinishInvestigation(w.Context(), r); err != nil {
		w.Fatal(err)
	}
	w.say(id, 1, "found it")
	return id
}

// say appends an entry.
func (w *world) say(id string, iteration int, text string) {
	w.Helper()
	_, err := w.store.Append(w.Context(), transcript.Step{
		Scope: transcript.Scope{Investigation: id, Execution: "dig/Memo"}, Writer: transcript.Writer{RunID: "r", ActivityID: "1/1"},
		Rows: []transcript.Row{{Key: transcript.Key{Iteration: iteration}, Kind: transcript.KindReply, Body: transcript.Body{Text: text}}},
	})
	if err != nil {
		w.Fatal(err)
	}
}

// conversation makes a conversation of a project.
func (w *world) conversation(name, project string) string {
	w.temporal.start(name, workflows.TypeConversation, map[string]any{"inquest_project": project, workflows.MemoAgent: "Memo"})
	return name
}

func (w *world) remember(name string) {
	err := w.store.Remember(w.Context(), name, func(tx memory.Tx) error {
		_, err := tx.InsertArchival(w.Context(), "the pool has ten connections")
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
}

// answer is a response from the API.
type answer struct {
	status int
	header http.Header
	body   string
}

// call sends a request with the token of a role, or without one if the name is empty.
func (w *world) call(token, method, path string, in any, header ...string) answer {
	w.Helper()
	var text bytes.Buffer
	if in != nil {
		if raw, ok := in.(string); ok {
			text.WriteString(raw)
		} else if err := json.NewEncoder(&text).Encode(in); err != nil {
			w.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(w.Context(), 2*time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, w.url+path, &text)
	if err != nil {
		w.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+secret(token))
	}
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for n := 0; n < len(header); n += 2 {
		r.Header.Set(header[n], header[n+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close()
	out := answer{status: response.StatusCode, header: response.Header}
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") && response.StatusCode == http.StatusOK {
		return out // the stream goes on
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		w.Fatal(err)
	}
	out.body = string(body)
	return out
}

// read sends a request that must succeed and decodes the response.
func read[T any](w *world, token, method, path string, in any, header ...string) (out T) {
	w.Helper()
	got := w.call(token, method, path, in, header...)
	if got.status >= 300 {
		w.Fatalf("%s %s: %d %s", method, path, got.status, got.body)
	}
	if err := json.Unmarshal([]byte(got.body), &out); err != nil {
		w.Fatalf("%s %s: %v in %s", method, path, err, got.body)
	}
	return out
}

// temporal is a Temporal that starts workflows and never runs them.
type temporal struct {
	sdk.Client
	mu      sync.Mutex
	started map[string]*workflowpb.WorkflowExecutionInfo
	inputs  []any
	wakes   int
	away    bool // for calls that wake
	// awaiting counts the calls waiting for the end of a workflow.
	awaiting atomic.Int32
	waits    *record.Waits // what workflows report as pending; nil means that they do not answer
	thinks   bool          // workflows accept messages and never reply

	schedules map[string]*sdk.ScheduleDescription
}

func (f *temporal) start(id, kind string, memo map[string]any) *workflowpb.WorkflowExecutionInfo {
	fields := map[string]*commonpb.Payload{}
	for key, value := range memo {
		fields[key], _ = converter.GetDefaultDataConverter().ToPayload(value)
	}
	run := "00000000-0000-0000-0000-0123456789ab"
	info := &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: run}, FirstRunId: run, Type: &commonpb.WorkflowType{Name: kind},
		Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, StartTime: timestamppb.Now(), Memo: &commonpb.Memo{Fields: fields},
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started[id] = info
	return info
}

type handle struct {
	sdk.WorkflowRun
	id, run string
}

func (h handle) GetID() string    { return h.id }
func (h handle) GetRunID() string { return h.run }

func (f *temporal) ExecuteWorkflow(_ context.Context, o sdk.StartWorkflowOptions, kind any, args ...any) (sdk.WorkflowRun, error) {
	f.mu.Lock()
	_, taken := f.started[o.ID]
	f.inputs = append(f.inputs, args...)
	f.mu.Unlock()
	if taken {
		return nil, serviceerror.NewWorkflowExecutionAlreadyStarted("taken", "", "")
	}
	info := f.start(o.ID, kind.(string), o.Memo)
	return handle{id: o.ID, run: info.GetFirstRunId()}, nil
}

func (f *temporal) DescribeWorkflowExecution(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info := f.started[id]
	if info == nil {
		return nil, serviceerror.NewNotFound("not found")
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: info}, nil
}

func (f *temporal) ListWorkflow(_ context.Context,
	r *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := &workflowservice.ListWorkflowExecutionsResponse{}
	for _, info := range f.started {
		if strings.Contains(r.GetQuery(), "'"+info.GetType().GetName()+"'") {
			out.Executions = append(out.Executions, info)
		}
	}
	return out, nil
}

func (f *temporal) QueryWorkflow(_ context.Context, id, _, _ string, _ ...any) (converter.EncodedValue, error) {
	if f.waits != nil {
		return waitingStatus(id, *f.waits), nil
	}
	return nil, serviceerror.NewDeadlineExceeded("no worker")
}

func (f *temporal) UpdateWorkflow(_ context.Context, o sdk.UpdateWorkflowOptions) (sdk.WorkflowUpdateHandle, error) {
	if f.thinks {
		return thinking{}, nil
	}
	if f.waits != nil {
		f.inputs = append(f.inputs, o.Args...)
		return taken{}, nil
	}
	return nil, serviceerror.NewNotFound("no workflow")
}

// thinking is a message without a reply.
type thinking struct{ sdk.WorkflowUpdateHandle }

func (thinking) Get(ctx context.Context, _ any) error {
	<-ctx.Done()
	return ctx.Err()
}

func (f *temporal) SignalWorkflow(_ context.Context, id, _, _ string, in any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inputs = append(f.inputs, in)
	return nil
}

func (f *temporal) SignalWithStartWorkflow(
	context.Context, string, string, any, sdk.StartWorkflowOptions, any, ...any,
) (sdk.WorkflowRun, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away {
		return nil, serviceerror.NewUnavailable("away")
	}
	f.wakes++
	return nil, nil
}

func (f *temporal) CancelWorkflow(context.Context, string, string) error { return nil }

func (f *temporal) NewWithStartWorkflowOperation(sdk.StartWorkflowOptions, any, ...any) sdk.WithStartWorkflowOperation {
	return nil
}

func (f *temporal) UpdateWithStartWorkflow(context.Context, sdk.UpdateWithStartWorkflowOptions) (sdk.WorkflowUpdateHandle, error) {
	return nil, serviceerror.NewInvalidArgument("no worker")
}

func (f *temporal) DescribeTaskQueue(context.Context, string, enumspb.TaskQueueType) (*workflowservice.DescribeTaskQueueResponse, error) {
	return nil, serviceerror.NewUnavailable("no Temporal")
}

func (f *temporal) CheckHealth(context.Context, *sdk.CheckHealthRequest) (*sdk.CheckHealthResponse, error) {
	return &sdk.CheckHealthResponse{}, nil
}

func TestInvestigations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ids := []string{w.investigation("a", "payments"), w.investigation("b", "payments"), w.investigation("c", "payments")}
	w.investigation("d", "search")
	slices.Reverse(ids)
	var seen []string
	for cursor := ""; ; {
		p := read[system.Page[system.Listed]](w, "viewer", "GET", "/api/v1/investigations?limit=2&cursor="+cursor, nil)
		for _, r := range p.Items {
			if seen = append(seen, r.ID); r.Project != "payments" || r.Report != "" {
				t.Errorf("listed %+v", r)
			}
		}
		if cursor = p.Next; cursor == "" {
			break
		}
	}
	if !slices.Equal(seen, ids) {
		t.Errorf("listed %v, want %v", seen, ids)
	}
	if got := read[system.Whole](w, "viewer", "GET", "/api/v1/investigations/"+ids[0],
		nil); got.Investigation.Report != "it is the pool of payments" || got.Status == nil {
		t.Errorf("got %+v", got)
	}
	if got := read[system.Entries](w, "viewer", "GET", "/api/v1/investigations/a/transcript", nil); len(got.Entries) != 1 ||
		got.Entries[0].Text != "found it" {
		t.Errorf("transcript %+v", got)
	}
	if got := read[system.Page[system.Listed]](w, "viewer", "GET", "/api/v1/investigations?q=b&project=payments", nil); len(got.Items) != 1 ||
		got.Items[0].WorkflowID != "b" {
		t.Errorf("found %+v", got)
	}
}

// A repeated request returns the first result. The author is the authenticated sender.
func TestStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const path = "/api/v1/investigations"
	in := map[string]any{"chain": "shop", "data": map[string]any{"title": "slow"}}
	first := read[system.Started](w, "operator", "POST", path, in, "Idempotency-Key", "k")
	if second := read[system.Started](w, "operator", "POST", path, in, "Idempotency-Key", "k"); !second.Known ||
		second.ID != first.ID || first.Known {
		t.Errorf("first %+v, again %+v", first, second)
	}
	if other := read[system.Started](w, "admin", "POST", path, in, "Idempotency-Key", "k"); other.ID == first.ID {
		t.Error("the key of one is another one's")
	}
	in["data"] = "fast"
	if got := w.call("operator", "POST", path, in, "Idempotency-Key", "k"); got.status != http.StatusUnprocessableEntity {
		t.Errorf("the key for another request: %d %s", got.status, got.body)
	}
	if got := w.call("operator", "POST", path,
		map[string]any{"chain": "shop", "data": "x", "project": "search"}); got.status != http.StatusNotFound {
		t.Errorf("in another project: %d %s", got.status, got.body)
	}
	if got := w.call("operator", "POST", path,
		map[string]any{"chain": "shop", "data": "x", "by": "the boss"}); got.status != http.StatusUnprocessableEntity {
		t.Errorf("in another name: %d %s", got.status, got.body)
	}
	req := w.temporal.inputs[0].(agent.Request)
	if req.By != "operator" || req.Project != "payments" || req.DataText() != `{"title":"slow"}` {
		t.Errorf("started %+v", req)
	}
	// Its starter can see it even before there is a record.
	if got := read[system.Whole](w, "viewer", "GET", path+"/"+first.ID, nil); got.Investigation.Status != agent.StatusRunning {
		t.Errorf("got %+v", got)
	}
	if got := w.call("stranger", "GET", path+"/"+first.ID, nil); got.status != http.StatusNotFound {
		t.Errorf("for another project: %d %s", got.status, got.body)
	}
}

func writeFile(name, text string) error { return os.WriteFile(name, []byte(text), 0o600) }
