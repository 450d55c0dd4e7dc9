package devserver_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/internal/devserver"
)

const queue = "devserver-test"

var quiet = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))

// count adds one in an activity, n times. If hold is set, it waits for a signal first.
func count(ctx workflow.Context, n int, hold bool) (int, error) {
	if hold {
		workflow.GetSignalChannel(ctx, "go").Receive(ctx, nil)
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	sum := 0
	for range n {
		if err := workflow.ExecuteActivity(ctx, increment, sum).Get(ctx, &sum); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

var chainKey = temporal.NewSearchAttributeKeyKeyword("TestChain")

// tagged sets a search attribute and sleeps briefly.
func tagged(ctx workflow.Context) error {
	if err := workflow.UpsertTypedSearchAttributes(ctx, chainKey.ValueSet("a")); err != nil {
		return err
	}
	return workflow.Sleep(ctx, time.Millisecond)
}

func increment(_ context.Context, n int) (int, error) { return n + 1, nil }

// work runs a worker until the returned function is called.
func work(t *testing.T, c client.Client) (stop func()) {
	t.Helper()
	// Eager activities come with the workflow task's reply, so they would not measure the server.
	w := worker.New(c, queue, worker.Options{DisableEagerActivities: true})
	w.RegisterWorkflow(count)
	w.RegisterWorkflow(tagged)
	w.RegisterActivity(increment)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	return w.Stop
}

// run runs a workflow of n activities and returns how long it took.
func run(t *testing.T, c client.Client, id string, n int) time.Duration {
	t.Helper()
	began := time.Now()
	begin(t, c, id, n, false)
	if got := result(t, c, id); got != n {
		t.Fatalf("workflow %s: result %d, want %d", id, got, n)
	}
	return time.Since(began)
}

// fastestActivity returns the shortest time between a workflow task that schedules an activity and the next one, which has the
// result.
func fastestActivity(t *testing.T, c client.Client, id string) time.Duration {
	t.Helper()
	fastest := time.Hour
	var last time.Time
	for events := c.GetWorkflowHistory(t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		event, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		if event.GetEventType() != enums.EVENT_TYPE_WORKFLOW_TASK_STARTED {
			continue
		}
		if now := event.GetEventTime().AsTime(); last.IsZero() {
			last = now
		} else {
			fastest, last = min(fastest, now.Sub(last)), now
		}
	}
	return fastest
}

// runTagged registers the search attribute, uses it immediately, and returns the workflow's duration.
func runTagged(t *testing.T, c client.Client, id string) time.Duration {
	t.Helper()
	_, err := c.OperatorService().AddSearchAttributes(t.Context(), &operatorservice.AddSearchAttributesRequest{
		Namespace:        devserver.Namespace,
		SearchAttributes: map[string]enums.IndexedValueType{chainKey.GetName(): chainKey.GetValueType()},
	})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	r, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: queue}, tagged)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Get(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return time.Since(began)
}

// hold starts a workflow that waits for release, and returns when it is waiting. The answer to a query arrives after the first
// workflow task, which would otherwise be lost with its worker and wait for its timeout (10 s).
func hold(t *testing.T, c client.Client, id string) {
	t.Helper()
	begin(t, c, id, 1, true)
	if _, err := c.QueryWorkflow(t.Context(), id, "", client.QueryTypeStackTrace); err != nil {
		t.Fatal(err)
	}
}

func begin(t *testing.T, c client.Client, id string, n int, hold bool) {
	t.Helper()
	opts := client.StartWorkflowOptions{ID: id, TaskQueue: queue}
	if _, err := c.ExecuteWorkflow(t.Context(), opts, count, n, hold); err != nil {
		t.Fatal(err)
	}
}

func release(t *testing.T, c client.Client, id string) {
	t.Helper()
	if err := c.SignalWorkflow(t.Context(), id, "", "go", nil); err != nil {
		t.Fatal(err)
	}
}

func result(t *testing.T, c client.Client, id string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var n int
	if err := c.GetWorkflow(ctx, id, "").Get(ctx, &n); err != nil {
		t.Fatalf("workflow %s: %v", id, err)
	}
	return n
}
