package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/workflows"
)

// risky returns the pending calls of an investigation with that chain.
func risky(investigation string) []workflows.Approval {
	call := func(execution, id, tool, arguments string, left time.Duration) workflows.Approval {
		return workflows.Approval{
			CallID: id, Tool: tool, Risk: agent.RiskHigh, Arguments: arguments, Digest: "d1" + strings.TrimPrefix(id, "c1_"), Agent: "LogAgent",
			Execution:  execution,
			WorkflowID: investigation + "/" + execution, Expires: time.Now().Add(left),
		}
	}
	restart := call("collect/LogAgent", "c1_0", "k8s.restart", `{"pod":"db-1","note":"`+strings.Repeat("x", 100)+`"}`, time.Hour)
	restart.Remember = "a definition"
	restart.Reason, restart.Description = "The pool is full, I restart\u202e it.", "Restarts a pod."
	return []workflows.Approval{
		restart,
		call("collect/LogAgent", "c1_1", "k8s.delete", "{}\x1b[2J", 30*time.Minute),
		call("collect/Other", "c1_0", "k8s.scale", "{}", 2*time.Hour),
	}
}

// UpdateWorkflowExecution implements the update "decide" of a run's agents. As in the real one, a decided call stays in the status for a
// moment.
func (f *fakeTemporal) UpdateWorkflowExecution(_ context.Context,
	in *workflowservice.UpdateWorkflowExecutionRequest) (*workflowservice.UpdateWorkflowExecutionResponse, error) {
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
		refused := temporal.NewApplicationError(fmt.Sprintf("call %q was already decided: %s", d.CallID, old), "")
		reply.Outcome.Value = &updatepb.Outcome_Failure{Failure: temporal.GetDefaultFailureConverter().ErrorToFailure(refused)}
		return reply, nil
	}
	if want := "d1" + strings.TrimPrefix(d.CallID, "c1_"); d.Digest != want {
		refused := temporal.NewApplicationError(fmt.Sprintf("call %q is not the one you saw: its digest is now %s. Look at it again",
			d.CallID, want), "")
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

// slowStore marks requests that a workflow accepts without a result.
const slowStore = "slow store"

func (f *fakeTemporal) PollWorkflowExecutionUpdate(context.Context,
	*workflowservice.PollWorkflowExecutionUpdateRequest) (*workflowservice.PollWorkflowExecutionUpdateResponse, error) {
	return nil, status.Error(codes.DeadlineExceeded, "context deadline exceeded")
}

// writes is a writer that calls a function.
type writes func(text string)

func (w writes) Write(p []byte) (int, error) {
	w(string(p))
	return len(p), nil
}

// A user who follows an investigation without its store also sees the pending items.
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
	args := []string{"run", "--chain", "risky", "--data", "x", "--workflow-id", "w", "--address", fake.address, "--store",
		filepath.Join(t.TempDir(), "none")}
	code := run(ctx, args, cli{in: strings.NewReader(""), out: out, err: io.Discard, getenv: func(string) string { return "" }})
	if code != command.ExitInterrupted || !told {
		t.Errorf("exit code %d, told: %t", code, told)
	}
}

// The suggested command names the call that is shown, and hidden parts are mentioned first.
func TestWaitingLine(t *testing.T) {
	t.Parallel()
	a := workflows.Approval{CallID: "c1_0", Tool: "k8s.restart", Arguments: `{"token":"[MASKED_TOKEN]"}`, Hidden: 14, Execution: "dig/Alpha",
		Digest: strings.Repeat("0123456789abcdef", 4)}
	line := waitingNotice("lab", a).Lines("", 0)
	if !strings.HasPrefix(line, "(14 bytes of the arguments are hidden: masked) dig/Alpha asks") ||
		!strings.Contains(line, "starter decide lab dig/Alpha/c1_0 --digest 0123456789ab --approve (") {
		t.Error(line)
	}
}

// Viewers see pending items and each attempt to reach a provider, except while one is running.
func TestNotices(t *testing.T) {
	t.Parallel()
	trouble := record.Outage{
		Execution: "collect/LogAgent", Provider: "gpt", Error: "rate limited", Next: time.Now().Add(time.Minute),
		Others: []string{"collect/Peer"},
	}
	asked := trouble
	asked.Next = time.Now()
	told := notices("w:0123456789ab")(record.Waits{
		Approvals: risky("w:0123456789ab")[:1], Questions: asking()[:1], Outages: []record.Outage{trouble, asked},
	})
	for n, want := range []string{
		"starter decide w:0123456789ab collect/LogAgent/c1_0 --digest d10 --approve", "starter answer w:0123456789ab q1 --text",
		"collect/LogAgent waits for gpt: rate limited, since", "collect/Peer waits for gpt: rate limited, since",
	} {
		if len(told) != 4 || !strings.Contains(told[n].Text+told[n].Command, want) {
			t.Errorf("told %+v, want %q", told, want)
		}
	}
}

// Expired questions no longer need people. Questions of a paused investigation do and are the least urgent.
func TestQuestionsThatHaveExpired(t *testing.T) {
	t.Parallel()
	open, expired, paused := asking()[0], asking()[1], asking()[1]
	expired.Expires, paused.ID, paused.Expires = time.Now().Add(-time.Second), "q3", time.Time{}
	waits := record.Waits{Questions: []record.Question{expired, paused, open}}
	got := urgent([]record.Waiting{{WorkflowID: "w", Waits: waits}})
	if len(got) != 2 || got[0].Name != open.ID || got[1].Name != "q3" || expiresIn(got[1].Expires) != "paused" {
		t.Errorf("%+v", got)
	}
}

// If the store lacks the arguments of a call, there is an error, but no call is hidden.
func TestApprovalsWithoutTheirArguments(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inquest.db")
	st, err := store.Open(t.Context(), store.Options{Path: path})
	if err == nil {
		err = st.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, asJSON := range []bool{false, true} {
		var out bytes.Buffer
		c := &cli{out: &out, err: io.Discard, getenv: func(string) string { return "" }, flags: flags{store: path}, json: asJSON}
		c.client = sync.OnceValue(c.connect)
		calls := thingsIn(record.Waiting{Waits: record.Waits{Approvals: risky("w")}})
		calls[0].ArgumentsRef = "absent"
		err := printThings(t.Context(), c, calls)
		if err == nil || !strings.Contains(err.Error(), "the arguments of collect/LogAgent/c1_0") ||
			!strings.Contains(out.String(), "k8s.scale") {
			t.Errorf("JSON: %t, error %v, printed %s", asJSON, err, out.String())
		}
		if err := c.client().Close(); err != nil {
			t.Error(err)
		}
	}
}
