package workflows

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
)

// TestQuickCalls: a quick call runs within the workflow task. If it gives no result, a regular activity makes it,
// and waits for the first attempt if that may still be running.
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

// TestQuickModels: a quick model is called within the workflow task. If a local attempt has called it, or would do so
// in vain, the try ends. Otherwise a regular activity makes the call.
func TestQuickModels(t *testing.T) {
	t.Parallel()
	final := func(errorType string) error { return temporal.NewNonRetryableApplicationError("", errorType, nil) }
	const later = "[1.1 regular, 2.1 local, 2.1 regular]"
	for name, tt := range map[string]struct {
		slow bool  // the model
		err  error // of the local attempt
		// death: of the first worker that asks for the second iteration in a regular attempt
		kill bool
		want string
	}{
		"quick":                   {want: "[1.1 regular, 2.1 local]"},
		"not quick":               {slow: true, want: "[1.1 regular, 2.1 regular]"},
		"not for a workflow task": {err: final(activities.ErrorNotQuick), want: later},
		"under way":               {err: final(activities.ErrorReplaced), want: "[1.1 regular, 2.1 local, 2.1 regular begun]"},
		"without its store":       {err: errors.New("no"), want: later},
		"not on this worker":      {err: temporal.NewApplicationError("", activities.ErrorWorkerCannot), want: later},
		"away":                    {err: final(activities.ErrorModelUnavailable), want: "[1.1 regular, 2.1 local, 2.2 regular]"},
		"a worker's death":        {err: errors.New("no"), kill: true, want: "[1.1 regular, 2.1 local, 2.1 regular, 2.2 regular]"},
		"refused":                 {err: final("ModelRequestRefused"), want: "[1.1 regular, 2.1 local]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{}
			f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
				if in.Iteration == 1 {
					out := ask("lab.read")
					out.Quick = !tt.slow
					return out, nil
				}
				if f.inTask[len(f.inTask)-1] && tt.err != nil {
					return activities.GenerateOut{}, tt.err
				}
				if tt.kill && in.Try == 1 {
					return activities.GenerateOut{}, temporal.NewHeartbeatTimeoutError()
				}
				return say("done"), nil
			}
			env := newEnv(t, f)
			env.ExecuteWorkflow(IteratingAgent, agentInput(agent.Iterating, 5))
			if diff := cmp.Diff(tt.want, f.asked()); diff != "" {
				t.Errorf("attempts (-want +got):\n%s", diff)
			}
		})
	}
}

// asked lists the attempts to call a model.
func (f *fake) asked() string {
	var all []string
	for n, in := range f.generated {
		way := "regular"
		if f.inTask[n] {
			way = "local"
		}
		if in.Begun {
			way += " begun"
		}
		all = append(all, fmt.Sprintf("%d.%d %s", in.Iteration, in.Try, way))
	}
	return "[" + strings.Join(slices.Compact(all), ", ") + "]" // the environment tries again what Temporal does not
}

// TestRepliesOfALostTask: a lost workflow task may already have received replies. Their tool calls are run, and the
// current inputs are kept for the next call.
func TestRepliesOfALostTask(t *testing.T) {
	t.Parallel()
	f := &fake{model: script(ask("lab.read"), other(ask("lab.read", "lab.set")), other(say("an early end")), say("the end"))}
	env := newEnv(t, f)
	env.ExecuteWorkflow(IteratingAgent, agentInput(agent.Iterating, 1)) // it has to conclude after the first batch
	var result AgentResult
	if err := env.GetWorkflowResult(&result); err != nil || result.Preview != "the end" || !result.Forced || len(f.called) != 3 {
		t.Errorf("%+v, %v after %d calls", result, err, len(f.called))
	}
	for n, in := range f.generated[1:] {
		replied := slices.ContainsFunc(in.Inputs, func(i activities.Input) bool { return i.Kind == activities.InputLimit })
		if !in.Conclude || !replied || in.Iteration != n+2 {
			t.Errorf("model call %d: %+v", n+2, in)
		}
	}
	if want := 4; result.Usage.ModelCalls != want {
		t.Errorf("%d model calls are counted, want %d", result.Usage.ModelCalls, want)
	}
}

// TestLostRepliesCountAsIterations: an agent whose last batch belongs to a lost task concludes as usual.
func TestLostRepliesCountAsIterations(t *testing.T) {
	t.Parallel()
	f := &fake{model: script(ask("lab.read"), other(ask("lab.read")), say("the end"))}
	env := newEnv(t, f)
	env.ExecuteWorkflow(IteratingAgent, agentInput(agent.Iterating, 2))
	var result AgentResult
	if err := env.GetWorkflowResult(&result); err != nil || result.Preview != "the end" || !result.Forced || len(f.called) != 2 {
		t.Errorf("%+v, %v after %d calls", result, err, len(f.called))
	}
	if last := f.generated[len(f.generated)-1]; !last.Conclude || last.Iteration != 3 {
		t.Errorf("the last model call: %+v", last)
	}
}

func other(out activities.GenerateOut) activities.GenerateOut {
	out.Kept, out.Other = true, true
	return out
}

// TestQuickRunsEndSettled: a run with a quick model ends once an activity has called the model and found no stored
// reply. Stored replies of a lost task belong to this run.
func TestQuickRunsEndSettled(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		kept int // replies that a lost task has left
		want string
	}{
		"nothing was lost":  {0, "[1.1 regular, 2.1 regular]"},
		"two replies stand": {2, "[1.1 regular, 2.1 regular, 3.1 regular, 4.1 regular]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{}
			env := newEnv(t, f)
			f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
				if in.Iteration == 1 {
					env.SetContinueAsNewSuggested(true)
				}
				out := ask("lab.read")
				out.Quick, out.Kept = true, in.Iteration > 1 && in.Iteration <= 1+tt.kept
				return out, nil
			}
			env.ExecuteWorkflow(IteratingAgent, agentInput(agent.Iterating, 9))
			if err := env.GetWorkflowError(); !workflow.IsContinueAsNewError(err) {
				t.Errorf("it ended with %v", err)
			}
			if diff := cmp.Diff(tt.want, f.asked()); diff != "" {
				t.Errorf("attempts (-want +got):\n%s", diff)
			}
		})
	}
}

// TestQuickModelsLeaveTheTask: an agent receives signals only between workflow tasks. It therefore calls its model
// outside of them from time to time. A regular tool call has the same effect.
func TestQuickModelsLeaveTheTask(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		call activities.Call
		want string
	}{
		"within tasks alone": {activities.Call{Name: "lab.read", Quick: true}, "[1.1 regular, 2.1 local, 3.1 regular, 4.1 local, 5.1 regular]"},
		"a regular call":     {activities.Call{Name: "lab.read"}, "[1.1 regular, 2.1 local, 3.1 local, 4.1 local, 5.1 local]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &fake{}
				f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
					out := say("done")
					if in.Iteration < 5 {
						out.Calls = []activities.Call{tt.call}
					}
					out.Quick = true
					return out, nil
				}
				f.tool = func(activities.CallToolIn) (activities.CallToolOut, error) {
					time.Sleep(maxTaskTime * 2 / 3)
					return activities.CallToolOut{}, nil
				}
				env := newEnv(t, f)
				for n := range time.Duration(40) { // the environment's clock goes on with what is due by it
					env.RegisterDelayedCallback(func() {}, n*maxTaskTime/10)
				}
				env.ExecuteWorkflow(IteratingAgent, agentInput(agent.Iterating, 9))
				if diff := cmp.Diff(tt.want, f.asked()); diff != "" {
					t.Errorf("attempts (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestQuickCallsOutliveTheirTask: a worker's death in a quick call is noticed with its workflow task, before the call
// can have been given up.
func TestQuickCallsOutliveTheirTask(t *testing.T) {
	t.Parallel()
	if activities.Abandoned <= WorkflowTaskTimeout {
		t.Errorf("a call is given up after %s, its task after %s", activities.Abandoned, WorkflowTaskTimeout)
	}
}
