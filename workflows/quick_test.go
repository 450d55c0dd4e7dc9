package workflows

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
)

// A quick call is made within the workflow task; whatever comes of it but a result, a
// regular activity makes it, and waits for the first attempt if that may still be at it.
func TestQuickCalls(t *testing.T) {
	t.Parallel()
	fails := func(errorType string) error { return temporal.NewApplicationError("", errorType) }
	for name, tt := range map[string]struct {
		call activities.Call
		err  error // of the local attempt
		want string
	}{
		"quick":                     {activities.Call{Name: "lab.read", Quick: true}, nil, "[local]"},
		"not quick":                 {activities.Call{Name: "lab.read"}, nil, "[regular]"},
		"one that a person decides": {activities.Call{Name: "lab.read", Quick: true, Approve: &activities.Approve{ID: "c"}}, nil, "[]"},
		"not for a workflow task":   {activities.Call{Name: "lab.read", Quick: true}, fails(activities.ErrorNotQuick), "[local regular]"},
		"another attempt's":         {activities.Call{Name: "lab.read", Quick: true}, fails(activities.ErrorReplaced), "[local regular, begun]"},
		"without its server": {activities.Call{Name: "lab.read", Quick: true},
			fails(activities.ErrorServerUnavailable), "[local regular]"},
		"without its store": {activities.Call{Name: "lab.read", Quick: true}, errors.New("no"), "[local regular]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asks := say("")
			asks.Calls = []activities.Call{tt.call}
			f := &fake{model: script(asks, say("done"))}
			f.tool = func(activities.CallToolIn) (activities.CallToolOut, error) {
				if f.quickly[len(f.quickly)-1] {
					return activities.CallToolOut{}, tt.err
				}
				return activities.CallToolOut{}, nil
			}
			env := newEnv(t, f)
			env.ExecuteWorkflow(IteratingAgent, agentInput(agent.Iterating, 5))
			if err := env.GetWorkflowError(); err != nil {
				t.Fatal(err)
			}
			var got []string
			for n, in := range f.called {
				way := "regular"
				if f.quickly[n] {
					way = "local"
				}
				if in.Begun {
					way += ", begun"
				}
				got = append(got, way)
			}
			if diff := cmp.Diff(tt.want, fmt.Sprint(got)); diff != "" {
				t.Errorf("attempts (-want +got):\n%s", diff)
			}
		})
	}
}

// A worker that dies in a quick call is noticed with its workflow task: by then nobody may have
// given the call up.
func TestQuickCallsOutliveTheirTask(t *testing.T) {
	t.Parallel()
	if activities.Abandoned <= WorkflowTaskTimeout {
		t.Errorf("a call is given up after %s, its task after %s", activities.Abandoned, WorkflowTaskTimeout)
	}
}
