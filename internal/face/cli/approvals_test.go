package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/cli/local"
	"github.com/inquest-dev/inquest/workflows"
)

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
	fake, reported := newFakeTemporal(t), false
	ctx, interrupt := context.WithTimeout(t.Context(), time.Minute)
	defer interrupt()
	out := writes(func(text string) {
		if strings.Contains(text, "Decide: starter decide w:0123456789ab collect/LogAgent/c1_1 --digest d11 --approve") {
			reported = true
			interrupt()
		}
	})
	args := []string{"run", "--chain", "risky", "--data", "x", "--workflow-id", "w", "--address", fake.address, "--store",
		filepath.Join(t.TempDir(), "none")}
	code := run(ctx, args, base.CLI{
		In: strings.NewReader(""), Out: out, Err: io.Discard, Getenv: func(string) string { return "" }, Full: local.Full(),
	})
	if code != command.ExitInterrupted || !reported {
		t.Errorf("exit code %d, told: %t", code, reported)
	}
}
