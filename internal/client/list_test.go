package client

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
)

// pages is a Temporal that lists workflows page by page. "!" is a page that fails.
type pages struct {
	sdk.Client
	all   []string // the IDs on each page
	asked int
}

func (p *pages) ListWorkflow(_ context.Context,
	in *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	n := p.asked
	p.asked++
	if want := strings.Repeat("t", n); string(in.GetNextPageToken()) != want || p.all[n] == "!" {
		return nil, errors.New("no such page")
	}
	out := &workflowservice.ListWorkflowExecutionsResponse{}
	for _, id := range strings.Fields(p.all[n]) {
		out.Executions = append(out.Executions, &workflowpb.WorkflowExecutionInfo{Execution: &commonpb.WorkflowExecution{WorkflowId: id}})
	}
	if p.asked < len(p.all) {
		out.NextPageToken = []byte(strings.Repeat("t", p.asked))
	}
	return out, nil
}

// Pages that nobody needs are not requested.
func TestExecutions(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pages []string
		until string // the last ID needed
		want  string
		asked int
	}{
		"none":              {[]string{""}, "", "", 1},
		"one page":          {[]string{"a b"}, "", "a b", 1},
		"several":           {[]string{"a", "", "b c"}, "", "a b c", 3},
		"enough":            {[]string{"a b", "c"}, "b", "a b", 1},
		"a page is missing": {[]string{"a", "!", "b"}, "", "a no such page", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &pages{all: tt.pages}
			var got []string
			for info, err := range Executions(t.Context(), p, "", 0) {
				id := info.GetExecution().GetWorkflowId()
				if err != nil {
					id = err.Error()
				}
				if got = append(got, id); id == tt.until {
					break
				}
			}
			if strings.Join(got, " ") != tt.want || p.asked != tt.asked {
				t.Errorf("%q after %d pages", got, p.asked)
			}
		})
	}
}

// Temporal overrides the record only for workflows that could not record their end.
func TestCorrectOne(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 3, 17, 14, 0, 0, 0, time.UTC)
	info := func(status enumspb.WorkflowExecutionStatus, closed time.Duration) *workflowpb.WorkflowExecutionInfo {
		return &workflowpb.WorkflowExecutionInfo{Status: status, CloseTime: timestamppb.New(began.Add(closed))}
	}
	for name, tt := range map[string]struct {
		ended bool // in the record
		last  *workflowpb.WorkflowExecutionInfo
		want  agent.Status
	}{
		"unknown":              {last: nil, want: agent.StatusRunning},
		"goes on":              {last: info(enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, 0), want: agent.StatusRunning},
		"terminated":           {last: info(enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, time.Hour), want: agent.StatusTerminated},
		"timed out":            {last: info(enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT, time.Hour), want: agent.StatusTimedOut},
		"is about to say so":   {last: info(enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, time.Hour), want: agent.StatusRunning},
		"another one, earlier": {last: info(enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, -time.Hour), want: agent.StatusRunning},
		"has ended":            {ended: true, last: info(enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, time.Hour), want: agent.StatusRunning},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := record.Investigation{Status: agent.StatusRunning, StartedAt: began}
			if tt.ended {
				r.EndedAt = &began
			}
			correctOne(&r, tt.last)
			if r.Status != tt.want || r.Status.Closed() && (r.EndedAt == nil || r.EndReason != agent.EndReason(tt.want)) {
				t.Errorf("%+v", r)
			}
		})
	}
}
