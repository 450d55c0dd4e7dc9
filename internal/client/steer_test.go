package client

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

// A paused investigation that waits for people counts as paused, because pause and resume depend on that.
func TestWasBefore(t *testing.T) {
	t.Parallel()
	later := time.Now().Add(time.Hour)
	for name, tt := range map[string]struct {
		before workflows.Status
		want   agent.Status
	}{
		"running": {workflows.Status{Status: agent.StatusRunning}, agent.StatusRunning},
		"waits": {workflows.Status{Status: agent.StatusWaitingApproval, Waiting: []workflows.Approval{{Expires: later}}},
			agent.StatusWaitingApproval},
		"paused, and waits": {workflows.Status{Status: agent.StatusWaitingApproval, Waiting: []workflows.Approval{{}}}, agent.StatusPaused},
		"paused, and asks":  {workflows.Status{Status: agent.StatusWaitingAnswer, Questions: []workflows.Interrupt{{}}}, agent.StatusPaused},
		"asks for an answer": {workflows.Status{Status: agent.StatusWaitingAnswer, Questions: []workflows.Interrupt{{Expires: later}}},
			agent.StatusWaitingAnswer},
	} {
		if got := wasBefore(tt.before); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// A prefix of the digest identifies the pending call if it is long enough not to be a guess.
func TestWholeDigest(t *testing.T) {
	t.Parallel()
	waiting := strings.Repeat("0123456789abcdef", 4)
	for given, want := range map[string]string{
		waiting[:12]: waiting, waiting[:11]: waiting[:11], "fedcba987654": "fedcba987654", "": waiting, waiting: waiting,
	} {
		if got := wholeDigest(given, waiting); got != want {
			t.Errorf("%q is taken for %q", given, got)
		}
	}
}

// failing is a connection to a workflow whose tasks fail for a while. Temporal rejects its updates meanwhile.
type failing struct {
	sdk.Client
	until time.Time
	ids   []string
}

func (f *failing) UpdateWorkflow(_ context.Context, o sdk.UpdateWorkflowOptions) (sdk.WorkflowUpdateHandle, error) {
	f.ids = append(f.ids, o.UpdateID)
	if time.Now().Before(f.until) {
		return nil, serviceerror.NewWorkflowNotReady("Unable to perform workflow execution update due to Workflow Task in failed state.")
	}
	return done{}, nil
}

// done is an update that the workflow has answered.
type done struct{ sdk.WorkflowUpdateHandle }

func (done) Get(context.Context, any) error { return nil }

// A request is repeated, as the same update, while no worker can continue the workflow.
func TestUpdateOfAFailingWorkflow(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fails, took time.Duration
		want        error
	}{
		"at once":       {0, 0, nil},
		"after a while": {5 * time.Second, 5 * time.Second, nil},
		"never":         {time.Hour, callTimeout, system.ErrNotTaken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				conn := &failing{until: begun.Add(tt.fails)}
				_, err := update[workflows.Taken](t.Context(), handle{conn: conn}, "", workflows.SignalPause, nil)
				if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
					t.Errorf("got %v, want %v", err, tt.want)
				}
				if took := time.Since(begun); took != tt.took {
					t.Errorf("it took %s, want %s", took, tt.took)
				}
				if ids := slices.Compact(conn.ids); len(ids) != 1 || ids[0] == "" {
					t.Errorf("the update had the IDs %q, want one", ids)
				}
			})
		})
	}
}
