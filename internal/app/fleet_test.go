package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/devserver"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/store/storetest"
	"github.com/inquest-dev/inquest/workflows"
)

// older is the blob store of an old worker, to which every plan has a future version.
type older struct {
	activities.Blobs
	asked atomic.Int32
}

func (o *older) Blob(ctx context.Context, hash string) ([]byte, error) {
	body, err := o.Blobs.Blob(ctx, hash)
	current, next := []byte(`{"version":1,`), fmt.Appendf(nil, `{"version":%d,`, plan.Version+1)
	if bytes.HasPrefix(body, current) {
		o.asked.Add(1)
	}
	return bytes.Replace(body, current, next, 1), err
}

// oracle answers for all agents of a worker.
type oracle struct{ calls atomic.Int32 }

func (m *oracle) Client(plan.Provider, plan.Timeouts) (llm.Client, error) { return m, nil }

func (m *oracle) Generate(context.Context, llm.Request, func(llm.Delta)) (llm.Response, error) {
	m.calls.Add(1)
	return llm.Response{Content: "the disk is full", Finish: llm.FinishStop}, nil
}

// During a deployment, workers of two versions share a queue. The old one leaves work that it cannot do to the new one.
func TestWorkersOfTwoVersions(t *testing.T) {
	t.Parallel()
	logger := slog.New(slog.DiscardHandler)
	server, err := devserver.Start(t.Context(), devserver.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	conn, err := client.DialContext(t.Context(), client.Options{HostPort: server.Address(), Logger: sdklog.NewStructuredLogger(logger)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	content := storetest.Open(t)
	source := (&HostOptions{Data: t.TempDir(), Settings: Settings{Embedding: &Embedding{Entries: config.Entries{
		Agents: map[string]*config.Agent{"Digger": {}},
		AgentChains: map[string]*config.Chain{"c": {LLMProvider: "scripted", Stages: []*config.Stage{
			{Name: "dig", Agents: []*config.StageAgent{{Name: "Digger"}}},
		}}},
	}}}}).source()
	conf, err := configuration.Load(source)
	if err != nil {
		t.Fatal(err)
	}
	work := func(change func(*activities.Activities)) {
		opts := WorkerOptions{Client: conn, Namespace: client.DefaultNamespace, Config: conf, Store: content, Settings: Settings{Logger: logger}}
		act := newActivities(t.Context(), opts, nil)
		change(act)
		w := worker.New(conn, workflows.TaskQueue, worker.Options{})
		register(w, act, false)
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Stop)
	}
	before, answers := &older{Blobs: content}, &oracle{}
	work(func(act *activities.Activities) { act.Blobs, act.Models = before, answers })
	request := agent.Request{Chain: "c", Data: json.RawMessage(`"the shop is down"`)}
	run, err := conn.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "c", TaskQueue: workflows.TaskQueue},
		workflows.TypeInvestigation, request)
	if err != nil {
		t.Fatal(err)
	}
	for before.asked.Load() == 0 { // only the old worker has read the plan
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
	if calls := answers.calls.Load(); calls != 0 {
		t.Errorf("the old worker has made %d model calls", calls)
	}
	work(func(act *activities.Activities) { act.Models = answers })
	var result workflows.InvestigationResult
	if err := run.Get(t.Context(), &result); err != nil {
		t.Fatal(err)
	}
	if result.Report != "the disk is full" || answers.calls.Load() != 1 {
		t.Errorf("report %q after %d model calls", result.Report, answers.calls.Load())
	}
	if refusals(t, conn, "c")+refusals(t, conn, result.ID+"/dig/Digger") == 0 {
		t.Error("no attempt was left to another worker")
	}
}

// refusals counts a workflow's activities that were retried because a worker could not do them.
func refusals(t *testing.T, conn client.Client, id string) (n int) {
	t.Helper()
	events := conn.GetWorkflowHistory(t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		for _, failure := range []*failurepb.Failure{
			event.GetActivityTaskStartedEventAttributes().GetLastFailure(), event.GetActivityTaskFailedEventAttributes().GetFailure(),
		} {
			if failure.GetApplicationFailureInfo().GetType() == activities.ErrorWorkerCannot &&
				strings.Contains(failure.GetMessage(), "newer version") {
				n++
			}
		}
	}
	return n
}
