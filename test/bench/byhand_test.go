package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
)

// The loop by hand makes the calls that it is measured with.
func TestByHand(t *testing.T) {
	t.Parallel()
	for _, s := range []scale{short, long, single} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			services, err := startServices()
			if err != nil {
				t.Fatal(err)
			}
			defer services.close()
			h, err := newHand(t.Context(), services.model, services.tools)
			if err != nil {
				t.Fatal(err)
			}
			defer h.mcp.Close()
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestWorkflowEnvironment()
			env.SetTestTimeout(time.Minute)
			env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute}) // the machine may be busy
			env.RegisterActivity(h)
			env.ExecuteWorkflow(byHand, handIn{Model: s.model, Task: filler(s.data)})
			var report string
			if err := env.GetWorkflowResult(&report); err != nil || report != answer {
				t.Errorf("it says %q: %v", report, err)
			}
			if n := services.answered.Load(); n != int64(s.modelCalls) {
				t.Errorf("%d model calls, want %d", n, s.modelCalls)
			}
		})
	}
}

// A model that answers with nothing is an error that says so.
func TestByHandWithoutChoices(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }))
	defer server.Close()
	h := hand{model: server.URL, http: server.Client()}
	if _, err := h.CallModel(t.Context(), handRequest{}); err == nil || err.Error() != "the model answered with 200 OK and no choices" {
		t.Error(err)
	}
}

func TestScales(t *testing.T) {
	t.Parallel()
	if n := short.steps(); n != 20 {
		t.Errorf("a short run has %d steps", n)
	}
	if n := long.toolCalls(); n != 100 {
		t.Errorf("a long run has %d iterations", n)
	}
}
