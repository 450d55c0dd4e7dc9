package client

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
)

// visibility is a Temporal that lists workflows and must not be queried.
type visibility struct {
	sdk.Client
	t testing.TB
}

func (v visibility) ListWorkflow(context.Context,
	*workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	return &workflowservice.ListWorkflowExecutionsResponse{}, nil
}

func (v visibility) QueryWorkflow(_ context.Context, id, _, query string, _ ...any) (converter.EncodedValue, error) {
	v.t.Errorf("%s was asked for its %s", id, query)
	return nil, context.Canceled
}

// opened returns a client whose store has this many pending calls, each in its own investigation.
func opened(t testing.TB, waiting int) *Client {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "s.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for n := range waiting {
		id := fmt.Sprintf("flow-%d", n)
		r := record.Investigation{ID: id + ":1", WorkflowID: id, Status: agent.StatusRunning, StartedAt: time.Now()}
		if err := s.StartInvestigation(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		w := record.Waiting{Investigation: r.ID, WorkflowID: id, RunID: "r", Seq: 1, Status: agent.StatusWaitingApproval}
		w.Approvals = []record.Approval{{
			CallID: "c1_0", Tool: "k8s.restart", Risk: agent.RiskHigh, Arguments: `{"pod":"db-1"}`, Execution: "s/A", WorkflowID: id + "/s/A",
			Expires: time.Now().Add(time.Hour), Approvers: []string{"sre"}, Needed: 2, Notes: []string{"a note"},
		}}
		if err := s.SetWaiting(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	c := New(Options{})
	c.store, c.conn, c.borrowed = s, visibility{t: t}, true
	return c
}

// Listing pending items wakes no workflow, however many there are.
func TestTheInboxAsksNoWorkflow(t *testing.T) {
	t.Parallel()
	const many = 300
	all, err := opened(t, many).Waiting(t.Context(), "")
	if err != nil || len(all) != many || len(all[0].Approvals) != 1 || all[0].Approvals[0].Notes[0] != "a note" {
		t.Errorf("%d wait: %v", len(all), err)
	}
}

// BenchmarkInbox reads the inbox with 1,000 pending calls, each in its own investigation.
func BenchmarkInbox(b *testing.B) {
	c := opened(b, 1000)
	for b.Loop() {
		if all, err := c.Waiting(b.Context(), ""); err != nil || len(all) != 1000 {
			b.Fatalf("%d wait: %v", len(all), err)
		}
	}
}
