package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// risky are the calls that wait in an investigation of that chain.
func risky(investigation string) []workflows.Approval {
	call := func(execution, id, tool, arguments string, left time.Duration) workflows.Approval {
		return workflows.Approval{
			CallID: id, Tool: tool, Risk: agent.RiskHigh, Arguments: arguments, Digest: "d1" + strings.TrimPrefix(id, "c1_"), Agent: "LogAgent", Execution: execution,
			WorkflowID: investigation + "/" + execution, Expires: time.Now().Add(left),
		}
	}
	return []workflows.Approval{
		call("collect/LogAgent", "c1_0", "k8s.restart", `{"pod":"db-1","note":"`+strings.Repeat("x", 100)+`"}`, time.Hour),
		call("collect/LogAgent", "c1_1", "k8s.delete", "{}\x1b[2J", 30*time.Minute),
		call("collect/Other", "c1_0", "k8s.scale", "{}", 2*time.Hour),
	}
}

// UpdateWorkflowExecution is the update "decide" of the agents of a run. What was
// decided stays in the status for a moment, as it does in the real one.
func (f *fakeTemporal) UpdateWorkflowExecution(_ context.Context, in *workflowservice.UpdateWorkflowExecutionRequest) (*workflowservice.UpdateWorkflowExecutionResponse, error) {
	if strings.Contains(in.GetRequest().GetInput().GetArgs().String(), slowStore) {
		return &workflowservice.UpdateWorkflowExecutionResponse{
			UpdateRef: &updatepb.UpdateRef{WorkflowExecution: in.GetWorkflowExecution(), UpdateId: in.GetRequest().GetMeta().GetUpdateId()},
			Stage:     enumspb.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ACCEPTED,
		}, nil
	}
	if in.GetRequest().GetInput().GetName() != workflows.UpdateDecide {
		return f.updateInvestigation(in)
	}
	var d workflows.Decide
	if err := json.Unmarshal(in.GetRequest().GetInput().GetArgs().GetPayloads()[0].GetData(), &d); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	workflowID, execution, _ := strings.Cut(in.GetWorkflowExecution().GetWorkflowId(), ":")
	run := f.runs[workflowID]
	_, execution, _ = strings.Cut(execution, "/")
	key := execution + "/" + d.CallID
	reply := &workflowservice.UpdateWorkflowExecutionResponse{
		UpdateRef: &updatepb.UpdateRef{WorkflowExecution: in.GetWorkflowExecution(), UpdateId: in.GetRequest().GetMeta().GetUpdateId()},
		Stage:     in.GetWaitPolicy().GetLifecycleStage(), Outcome: &updatepb.Outcome{},
	}
	if old, ok := run.decided[key]; ok {
		refused := temporal.NewApplicationError(fmt.Sprintf("call %q was decided already: %s", d.CallID, old), "")
		reply.Outcome.Value = &updatepb.Outcome_Failure{Failure: temporal.GetDefaultFailureConverter().ErrorToFailure(refused)}
		return reply, nil
	}
	if want := "d1" + strings.TrimPrefix(d.CallID, "c1_"); d.Digest != want {
		refused := temporal.NewApplicationError(fmt.Sprintf("the call %q that waits is another one than you have seen: its digest is %s", d.CallID, want), "")
		reply.Outcome.Value = &updatepb.Outcome_Failure{Failure: temporal.GetDefaultFailureConverter().ErrorToFailure(refused)}
		return reply, nil
	}
	if run.decided == nil {
		run.decided = map[string]activities.Decision{}
	}
	run.decided[key] = activities.Decision{Approved: *d.Approved, By: d.By, Reason: d.Reason, Digest: d.Digest}
	reply.Outcome.Value = &updatepb.Outcome_Success{Success: payloads(run.decided[key])}
	return reply, nil
}

// slowStore is in what a workflow takes and has no result for.
const slowStore = "slow store"

func (f *fakeTemporal) PollWorkflowExecutionUpdate(context.Context, *workflowservice.PollWorkflowExecutionUpdateRequest) (*workflowservice.PollWorkflowExecutionUpdateResponse, error) {
	return nil, status.Error(codes.DeadlineExceeded, "context deadline exceeded")
}

// writes is a writer that calls itself.
type writes func(text string)

func (w writes) Write(p []byte) (int, error) {
	w(string(p))
	return len(p), nil
}

// Who follows an investigation without its store is told what waits, too.
func TestProgressTellsWhatWaits(t *testing.T) {
	t.Parallel()
	fake, told := newFakeTemporal(t), false
	ctx, interrupt := context.WithTimeout(t.Context(), time.Minute)
	defer interrupt()
	out := writes(func(text string) {
		if strings.Contains(text, "Decide: starter decide w:0123456789ab collect/LogAgent/c1_1 --digest d11 --approve") {
			told = true
			interrupt()
		}
	})
	args := []string{"run", "--chain", "risky", "--data", "x", "--workflow-id", "w", "--address", fake.address, "--store", filepath.Join(t.TempDir(), "none")}
	code := run(ctx, args, cli{in: strings.NewReader(""), out: out, err: io.Discard, getenv: func(string) string { return "" }})
	if code != exitInterrupted || !told {
		t.Errorf("exit code %d, told: %t", code, told)
	}
}

// What a person is told to type names the call that he is shown, and says first what of
// it he does not see.
func TestWaitingLine(t *testing.T) {
	t.Parallel()
	a := workflows.Approval{CallID: "c1_0", Tool: "k8s.restart", Arguments: `{"token":"[MASKED_TOKEN]"}`, Hidden: 14, Execution: "dig/Alpha",
		Digest: strings.Repeat("0123456789abcdef", 4)}
	line := waitingLine("lab", a)
	if !strings.HasPrefix(line, "(14 bytes of the arguments are hidden: masked) dig/Alpha asks") ||
		!strings.Contains(line, "starter decide lab dig/Alpha/c1_0 --digest 0123456789ab --approve (") {
		t.Error(line)
	}
}

func TestShellWord(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"dig/Alpha/c1_0": "dig/Alpha/c1_0", "a b": "'a b'", "": "''", "$(id)": "'$(id)'", "it's": `'it'\''s'`,
	} {
		if got := shellWord(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

// feed is a source that hands on what a test sends.
type feed chan store.Update

func (f feed) Follow(ctx context.Context, _ string, _ int64, fn func(store.Update) error) error {
	for {
		select {
		case u := <-f:
			if err := fn(u); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (feed) After(context.Context, string, int64, int) ([]transcript.Entry, error) { return nil, nil }

func entry(kind transcript.Kind, body transcript.Body) store.Update {
	e := transcript.Entry{Kind: kind, Body: body, Seq: 1}
	e.Execution = "collect/LogAgent"
	return store.Update{Entries: []transcript.Entry{e}}
}

// Nobody is asked until calls stay unbegun, and nobody once it is known why.
func TestLookoutAsksOnlyWhileItHasTo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var waiting []workflows.Approval
		var questions []workflows.Interrupt
		var outages []workflows.Outage
		asked, hops := 0, 0
		l := newLookout(make(feed), client.Handle{})
		l.ask = func(context.Context) (workflows.Status, error) {
			asked++
			return workflows.Status{Waiting: waiting, Questions: questions, Outages: outages, Hops: hops}, nil
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go l.Follow(ctx, "w:0123456789ab", 0, func(store.Update) error { return nil })
		var told []string
		go func() {
			for line := range l.tell {
				told = append(told, line.Text)
			}
		}()
		defer close(l.tell)
		src := l.Source.(feed)
		pass := func(u store.Update, d time.Duration, want int) {
			t.Helper()
			src <- u
			time.Sleep(d) // of the bubble's clock
			synctest.Wait()
			if asked != want {
				t.Errorf("asked %d times, want %d", asked, want)
			}
		}
		one, two := transcript.Call{ID: "c1_0", Name: "k8s.restart"}, transcript.Call{ID: "c1_1", Name: "k8s.delete"}
		pass(entry(transcript.KindReply, transcript.Body{Calls: []transcript.Call{one}}), lookSoon/2, 0)
		pass(entry(transcript.KindCall, transcript.Body{Call: &one}), time.Hour, 0) // it began in time
		pass(entry(transcript.KindReply, transcript.Body{Calls: []transcript.Call{one, two}}), lookSoon, 1)
		pass(store.Update{}, 2*lookSoon, 2) // not known yet
		waiting = risky("w:0123456789ab")[:2]
		pass(store.Update{}, time.Hour, 3)
		pass(entry(transcript.KindCall, transcript.Body{Call: &one}), time.Hour, 3)
		pass(entry(transcript.KindResult, transcript.Body{Call: &two}), time.Hour, 3)
		ended := store.Update{Stages: []record.Stage{{Name: "plan", Status: agent.StatusCompleted}, {Name: "apply", Status: agent.StatusRunning}}}
		pass(ended, 3*lookSoon, 5) // the investigation has not taken it in yet
		questions, hops = asking()[:1], 1
		pass(store.Update{}, time.Hour, 6)
		failed := entry(transcript.KindTry, transcript.Body{Text: "gpt: rate limited"})
		pass(failed, lookSoon, 7)
		pass(failed, 3*lookSoon, 9) // a wait that is short is not told
		outages = []workflows.Outage{{Execution: "collect/LogAgent", Provider: "gpt", Error: "rate limited", Tries: 4, Next: time.Now().Add(time.Minute)}}
		pass(store.Update{}, time.Minute, 10)
		outages[0].Tries, outages[0].Next = 5, time.Now().Add(time.Minute)
		pass(failed, time.Hour, 11) // each try is asked about once
		for n, want := range []string{
			"", "starter decide w:0123456789ab collect/LogAgent/c1_1 --digest d11 --approve", "starter answer w:0123456789ab q1 --text",
			"collect/LogAgent waits for gpt: rate limited, since", "5 tries, next at",
		} {
			if len(told) != 5 || !strings.Contains(told[n], want) {
				t.Errorf("told %q, want %q", told, want)
			}
		}
		stop()
		synctest.Wait()
	})
}
