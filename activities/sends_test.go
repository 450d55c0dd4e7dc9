package activities_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// unsent makes the server's calls end before a request goes out, until the test changes that.
type unsent struct {
	*bench
	gone bool
}

func (u *unsent) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	if u.gone {
		return tool.Failure(tool.ErrorUnavailable, "start MCP server lab: no such file"), nil
	}
	return u.bench.Call(ctx, call)
}

// A call that must not run twice is tried again if its server could not be reached, and does not count as interrupted.
func TestUnsentWriteIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.asks(agent.ToolCall{ID: "c", Name: "lab__write", Arguments: `{}`})
	u := &unsent{b, true}
	b.act.Servers = u
	for range 2 {
		_, err := b.callTool(1, 0)
		if failed, ok := errors.AsType[*temporal.ApplicationError](err); !ok || failed.Type() != activities.ErrorServerUnavailable {
			t.Fatalf("it ended with %v", err)
		}
	}
	u.gone = false
	out, err := b.callTool(1, 0)
	if err != nil || out.Status != string(tool.StatusSuccess) || len(b.calls) != 1 {
		t.Errorf("%+v, %v, after %d calls", out, err, len(b.calls))
	}
}

// A request that may have gone out is never tried again, and its result says so in a separate sentence.
func TestSentWriteIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	for name, result := range map[string]tool.Result{
		"status":          tool.Failure(tool.ErrorUnavailable, "MCP server lab: it answered 404 Not Found: gateway"),
		"ended":           tool.Failure(tool.ErrorUnavailable, "The session with MCP server lab ended during the call (signal: killed)"),
		"error of theirs": tool.Failure(tool.ErrorTool, "upstream timed out"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.asks(agent.ToolCall{ID: "c", Name: "lab__write", Arguments: `{}`})
			result.Sent, result.Sends = true, 1
			b.run = func(tool.Call) (tool.Result, error) { return result, nil }
			for range 2 {
				if out, err := b.callTool(1, 0); err != nil || out.ErrorType != tool.ErrorOutcomeUnknown || len(b.calls) != 1 {
					t.Errorf("%+v, %v, after %d calls", out, err, len(b.calls))
				}
			}
			if text := b.last().Text; !strings.HasPrefix(text, result.Content+". Whether lab.write took effect is unknown") {
				t.Errorf("the agent is told %q", text)
			}
		})
	}
}

// Each try of a call that may be repeated tells the next one how often it may have been sent by now.
func TestTriesCountSends(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.asks(agent.ToolCall{ID: "c", Name: "lab__read", Arguments: `{"n":1}`})
	b.run = func(call tool.Call) (tool.Result, error) {
		unknown := tool.Failure(tool.ErrorUnavailable, "MCP server lab: it answered 404 Not Found")
		unknown.Sent, unknown.Sends = true, call.Sent+3
		return unknown, nil
	}
	_, err := b.env.ExecuteActivity(b.act.CallTool, activities.CallToolIn{Ref: b.ref, Iteration: 1, Sent: 2})
	var away activities.ServerAway
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); !ok || failed.Details(&away) != nil || away.Sent != 5 {
		t.Errorf("it ended with %v, %+v", err, away)
	}
}

// The audit trail has the number of times that an approved call went out.
func TestActsCountSends(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.asks(agent.ToolCall{ID: "c", Name: "lab__write", Arguments: `{}`})
	b.run = func(tool.Call) (tool.Result, error) {
		unknown := tool.Failure(tool.ErrorUnavailable, "MCP server lab: it answered 404 Not Found")
		unknown.Sent, unknown.Sends = true, 1
		return unknown, nil
	}
	digest := tool.Decision{Spec: labTools[1], Arguments: []byte(`{}`)}.Digest()
	b.decided(0, &activities.Decision{Approved: true, By: "ada", Digest: digest})
	acts := b.acts(audit.Began, audit.Executed)
	if len(acts) != 2 || !strings.Contains(string(acts[1].Detail), `"error_type":"OutcomeUnknown","sends":"1"`) {
		t.Errorf("the audit trail has %v", acts)
	}
}

// After a worker's death, the audit trail says that an approved call may have gone out, whichever activity reports its end.
func TestActsOfInterruptedCallsDoNotHideSends(t *testing.T) {
	t.Parallel()
	digest := tool.Decision{Spec: labTools[1], Arguments: []byte(`{}`)}.Digest()
	for name, end := range map[string]func(b *bench, d *activities.Decision){
		"another attempt": func(b *bench, d *activities.Decision) { b.decided(0, d) },
		"the workflow": func(b *bench, d *activities.Decision) {
			input := activities.Input{Kind: activities.InputResult, Iteration: 1, ErrorType: "Died", Text: "The worker died.", Decision: d}
			if _, err := b.generate(activities.GenerateIn{Iteration: 2, Inputs: []activities.Input{input}}); err != nil {
				b.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.asks(agent.ToolCall{ID: "c", Name: "lab__write", Arguments: `{}`})
			approved := &activities.Decision{Approved: true, By: "ada", Digest: digest}
			b.run = func(tool.Call) (tool.Result, error) { return tool.Result{}, errors.New("the worker dies") }
			if _, err := b.env.ExecuteActivity(b.act.CallTool, activities.CallToolIn{Ref: b.ref, Iteration: 1, Decision: approved}); err == nil {
				t.Fatal("the worker did not die")
			}
			end(b, approved)
			acts := b.acts(audit.Executed)
			if len(acts) != 1 || !strings.Contains(string(acts[0].Detail), `"error_type":"OutcomeUnknown","sends":"unknown"`) {
				t.Errorf("the audit trail has %v", acts)
			}
		})
	}
}

// frozen is a worker that stalls after its fence has let a call through and before the request is written. The transport
// asks the fence again if it notices that time has passed.
type frozen struct {
	*bench
	meanwhile func()
}

func (f *frozen) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	if err := call.Allowed(ctx); err != nil {
		return tool.Result{}, err
	}
	f.meanwhile()
	return f.bench.Call(ctx, call)
}

// While a worker stalls between the fence and the write, another one takes over and tells the agent that the outcome is
// unknown. The first one makes no call when it resumes.
func TestWorkerFrozenBetweenFenceAndWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.plan(func(a *plan.Agent) { a.Timeouts.Tool = plan.Duration(time.Minute) })
		b.asks(agent.ToolCall{ID: "c", Name: "lab__write", Arguments: `{}`})
		b.act.Servers = &frozen{b, func() {
			other := activities.Activities{
				Transcripts: b.store, Mail: b.store, Records: b.store, Blobs: b.store, Models: b, Servers: b, Builtins: noBuiltins{},
				Policy: b.act.Policy, Logger: b.act.Logger,
			}
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestActivityEnvironment()
			env.RegisterActivity(&other)
			value, err := env.ExecuteActivity(other.CallTool, activities.CallToolIn{Ref: b.ref, Iteration: 1})
			var out activities.CallToolOut
			if err == nil {
				err = value.Get(&out)
			}
			if err != nil || out.ErrorType != tool.ErrorOutcomeUnknown {
				t.Errorf("the other worker: %+v, %v", out, err)
			}
			time.Sleep(1100 * time.Millisecond) // as long as an intent counts as fresh
		}}
		_, err := b.callTool(1, 0)
		if failed, ok := errors.AsType[*temporal.ApplicationError](err); !ok || failed.Type() != activities.ErrorReplaced || len(b.calls) != 0 {
			t.Errorf("it ended with %v after %d calls", err, len(b.calls))
		}
		if received := b.last(); received.ErrorType != tool.ErrorOutcomeUnknown {
			t.Errorf("the agent is told %+v", received.Body)
		}
	})
}

// A late answer to a call that was given up is a masked notice for people. It changes nothing that the agent was told.
func TestLateAnswersAreNoticed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.asks(agent.ToolCall{ID: "c", Name: "lab__write", Arguments: `{}`})
	b.run = func(tool.Call) (tool.Result, error) {
		given := tool.Failure(tool.ErrorTimeout, "lab.write did not answer in time.")
		given.Sent = true
		return given, nil
	}
	if _, err := b.callTool(1, 0); err != nil {
		t.Fatal(err)
	}
	received := b.last()
	b.calls[0].Late(tool.Success("row written"))
	entries, err := b.store.After(t.Context(), "inv", received.Seq, 0)
	if err != nil || len(entries) != 1 || entries[0].Kind != transcript.KindNotice || entries[0].CallIndex() != 0 ||
		!strings.HasPrefix(entries[0].Text, "The call to lab.write was abandoned; its response came ") ||
		!strings.HasSuffix(entries[0].Text, "The agent has not seen the response: row written") {
		t.Fatalf("got %+v, %v", entries, err)
	}
	before, err := b.store.Entries(t.Context(), b.scope())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := b.callTool(1, 0); err != nil || out.ErrorType != tool.ErrorOutcomeUnknown {
		t.Errorf("told again: %+v, %v", out, err)
	}
	if after, err := b.store.Entries(t.Context(), b.scope()); err != nil || len(after) != len(before) {
		t.Errorf("%d entries became %d, %v", len(before), len(after), err)
	}
}
