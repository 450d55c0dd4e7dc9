package workflows

import (
	"strings"
	"testing"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
)

// What would make a workflow's task fail for ever is a failure of the agent.
func TestArgumentsThatAreTooLarge(t *testing.T) {
	t.Parallel()
	f := &fake{}
	env := newEnv(t, f)
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{&Guard{}}})
	in := agentInput(agent.Iterating, 3)
	in.Prior = []activities.Source{{Stage: strings.Repeat("x", MaxArguments)}}
	env.ExecuteWorkflow(IteratingAgent, in)
	got := agentEnd(t, env)
	if got.ErrorType != ErrorTooLarge || !strings.Contains(got.Error, "Generate") || len(f.generated) != 0 {
		t.Errorf("got %+v after %d calls", got, len(f.generated))
	}
}
