package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.temporal.io/api/common/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/devserver"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/store/storetest"
	"github.com/inquest-dev/inquest/workflows"
)

// aTemporal starts a real server in this process.
func aTemporal(t *testing.T) client.Options {
	t.Helper()
	server, err := devserver.Start(t.Context(), devserver.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	return client.Options{HostPort: server.Address(), DataConverter: converter.GetDefaultDataConverter(),
		Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))}
}

func dialed(t *testing.T, opts client.Options) client.Client {
	t.Helper()
	c, err := client.DialContext(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// Open lists all running investigations in one call.
func TestOpenInvestigations(t *testing.T) {
	t.Parallel()
	c := dialed(t, aTemporal(t))
	want := map[string]string{}
	for id, kind := range map[string]string{
		"a": workflows.TypeInvestigation, "b": workflows.TypeInvestigation, "ended": workflows.TypeInvestigation, "fleet": workflows.TypeFleet,
	} {
		options := client.StartWorkflowOptions{ID: id, TaskQueue: workflows.TaskQueue}
		run, err := c.ExecuteWorkflow(t.Context(), options, kind, map[string]string{"chain": "c"})
		if err != nil {
			t.Fatal(err)
		}
		if kind == workflows.TypeInvestigation && id != "ended" {
			want[id] = run.GetRunID()
		}
	}
	if err := c.TerminateWorkflow(t.Context(), "ended", "", "test"); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) { // the list is updated with a delay
		got, err := runs{client: c}.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		diff := cmp.Diff(want, got)
		if diff == "" {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}

// family is a Temporal client with one workflow and its children.
type family struct {
	client.Client
	newest    string            // run of the workflow
	children  map[string]string // by ID: the run that started it
	cancelled []string
}

func (f *family) ListWorkflow(
	context.Context, *workflowservice.ListWorkflowExecutionsRequest,
) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	out := &workflowservice.ListWorkflowExecutionsResponse{}
	for id, run := range f.children {
		out.Executions = append(out.Executions, &workflowpb.WorkflowExecutionInfo{
			Execution: &commonpb.WorkflowExecution{WorkflowId: id}, ParentExecution: &commonpb.WorkflowExecution{RunId: run},
		})
	}
	return out, nil
}

func (f *family) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Execution: &commonpb.WorkflowExecution{RunId: f.newest}},
	}, nil
}

func (f *family) CancelWorkflow(_ context.Context, id, _ string) error {
	f.cancelled = append(f.cancelled, id)
	return nil
}

// After a reset, children that the new run does not know are cancelled. A late attempt must not cancel children that the run has
// started since, or those of an even newer run.
func TestLateAttemptCancelsNoNewChildren(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		run, newest string
		want        []string
	}{
		"in time, or late in its own run": {"second", "second", []string{"inv/lost"}},
		"late, after another reset":       {"second", "third", nil},
		"of a workflow that has ended":    {"", "third", []string{"inv/lost", "inv/new"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &family{newest: test.newest, children: map[string]string{
				"inv/lost": "first", "inv/known": "first", "inv/new": "second", "another/lost": "first",
			}}
			if err := (runs{client: f}).CancelChildren(t.Context(), "inv", test.run, "inv", []string{"inv/known"}); err != nil {
				t.Fatal(err)
			}
			slices.Sort(f.cancelled)
			if diff := cmp.Diff(test.want, f.cancelled); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A worker that was running before the fleet's mark stops when it finds that the fleet has another store.
func TestStoreThatTurnsOutToBeAnother(t *testing.T) {
	t.Parallel()
	where := aTemporal(t)
	host := func(name string) *Host {
		content := storetest.Open(t)
		return &Host{Client: dialed(t, where), Store: content, where: store.At(name),
			opts: HostOptions{Temporal: where, TemporaryStore: true, Settings: Settings{TaskQueue: "tools"}}}
	}
	early, fleet := host("early.db"), host("fleet.db")
	ctx, cancel := context.WithCancel(t.Context())
	found, kept := make(chan error, 1), make(chan error, 1)
	go func() { found <- early.watchFleet(ctx, []string{"tools"}, 10*time.Millisecond) }()
	go func() { kept <- fleet.watchFleet(ctx, []string{"tools"}, 10*time.Millisecond) }()
	if err := fleet.markFleet(t.Context(), "tools", workflows.TaskQueue); err != nil {
		t.Fatal(err)
	}
	if err := <-found; !errors.Is(err, ErrOtherStore) || !strings.Contains(err.Error(), "fleet.db") {
		t.Errorf("the early worker: %v", err)
	}
	cancel()
	if err := <-kept; err != nil {
		t.Errorf("a worker of the fleet: %v", err)
	}
}

// Workers of two namespaces, or of two Temporal clusters, do not share a store.
func TestStoreOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	here, there := aTemporal(t), aTemporal(t)
	_, err := dialed(t, here).WorkflowService().RegisterNamespace(t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: "other", WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	other := here
	other.Namespace = "other"
	content := storetest.Open(t)
	join := func(where client.Options, adopt bool) error {
		h := Host{Client: dialed(t, where), Store: content, opts: HostOptions{Temporal: where, AdoptStore: adopt}}
		for { // a newly registered namespace is not known everywhere yet
			err := h.joinNamespace(t.Context())
			if err == nil || !strings.Contains(err.Error(), "is not found") {
				return err
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	for n, tt := range []struct {
		where client.Options
		adopt bool
		fails string
	}{
		{here, false, ""}, {here, false, ""}, {other, false, `this one belongs to namespace "default" (id `},
		{there, false, "--adopt-store"}, {there, true, ""}, {here, false, "one namespace of one Temporal"},
	} {
		err := join(tt.where, tt.adopt)
		if (err != nil) != (tt.fails != "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
			t.Errorf("%d: %v", n, err)
		}
	}
	// If another namespace adopts the store, the workers of the first one stop.
	h := Host{Client: dialed(t, there), Store: content, opts: HostOptions{Temporal: there, TemporaryStore: true, AdoptStore: true}}
	found := make(chan error, 1)
	go func() { found <- h.watchFleet(t.Context(), nil, 10*time.Millisecond) }()
	if err := join(here, true); err != nil {
		t.Fatal(err)
	}
	if err := <-found; !errors.Is(err, store.ErrOtherNamespace) {
		t.Errorf("a worker whose store is adopted: %v", err)
	}
}

// A refused worker leaves no note in its store, because it may have been started in the wrong namespace.
func TestRefusedWorkerLeavesNoNote(t *testing.T) {
	t.Parallel()
	where := aTemporal(t)
	host := func(content *store.Store) *Host {
		return &Host{Client: dialed(t, where), Store: content,
			opts: HostOptions{Temporal: where, TemporaryStore: true, Settings: Settings{TaskQueue: "q"}}}
	}
	fresh := aStore(t)
	if err := host(aStore(t)).markFleet(t.Context(), "q", "q"); err != nil {
		t.Fatal(err)
	}
	if _, err := host(fresh).joinFleet(t.Context()); !errors.Is(err, ErrOtherStore) {
		t.Fatalf("the worker is not refused: %v", err)
	}
	if err := fresh.Join(t.Context(), "right", "prod", false); err != nil {
		t.Errorf("the right namespace is refused: %v", err)
	}
}

func aStore(t *testing.T) *store.Store {
	t.Helper()
	content := storetest.Open(t)
	return content
}

// received receives the lines of a log.
type received chan string

func (l received) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// If a reload adds another fleet's task queue, it is logged once, and nothing ends.
func TestReloadNamesQueueOfAnotherFleet(t *testing.T) {
	t.Parallel()
	where, dir, log, reload := aTemporal(t), t.TempDir(), make(received, 1000), make(chan os.Signal)
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelError}))
	opts := HostOptions{Temporal: where, Config: dir, Data: t.TempDir(), Settings: Settings{TaskQueue: "mine", Logger: logger}}
	live, err := configuration.NewLive(configuration.LiveOptions{Source: opts.source(), Reload: reload, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	go live.Watch(t.Context())
	h := &Host{Client: dialed(t, where), Store: aStore(t), Config: live, opts: opts}
	other := &Host{Client: h.Client, Store: aStore(t), opts: HostOptions{Temporal: where}}
	if err := other.markFleet(t.Context(), "theirs", "theirs"); err != nil {
		t.Fatal(err)
	}
	joined, err := h.joinFleet(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := make(chan error, 1)
	go func() { found <- h.watchFleet(t.Context(), joined, 10*time.Millisecond) }()

	text := "mcp_servers: {far: {transport: {type: http, url: 'http://far.example'}, task_queue: theirs}}\n"
	if err := os.WriteFile(filepath.Join(dir, "inquest.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	reload <- syscall.SIGHUP
	select {
	case line := <-log:
		if !strings.Contains(line, "task queue of another fleet") || !strings.Contains(line, "theirs") {
			t.Errorf("logged: %s", line)
		}
	case err := <-found:
		t.Fatalf("the reload ends the worker: %v", err)
	}
	if err := h.Client.TerminateWorkflow(t.Context(), workflows.FleetID("mine"), "", "test"); err != nil {
		t.Fatal(err)
	}
	if err := other.markFleet(t.Context(), "mine", "mine"); err != nil {
		t.Fatal(err)
	}
	if err := <-found; !errors.Is(err, ErrOtherStore) || !strings.Contains(err.Error(), "task queue mine") {
		t.Errorf("the queue that was joined: %v", err)
	}
	if len(log) > 0 {
		t.Errorf("logged again: %s", <-log)
	}
}
