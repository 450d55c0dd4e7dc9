package main

import (
	"context"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
)

// visible lists the investigations that Temporal knows. It selects by itself:
// the search attributes may not be registered, and then no query may name them.
func visible(ctx context.Context, conn client.Client, filter store.Filter) ([]record.Investigation, error) {
	var all []record.Investigation
	request := &workflowservice.ListWorkflowExecutionsRequest{Query: "WorkflowType = '" + investigationType + "'"}
	for {
		page, err := listPage(ctx, conn, request)
		if err != nil {
			return nil, fmt.Errorf("list the investigations in Temporal: %w", err)
		}
		for _, info := range page.GetExecutions() {
			r := visibleRecord(conn, info)
			if (filter.Status != "" && r.Status != filter.Status) || (filter.Chain != "" && r.Chain != filter.Chain) || continuedAsNew(info) {
				continue
			}
			if all = append(all, r); len(all) == filter.Limit {
				return all, nil
			}
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return all, nil
		}
	}
}

func listPage(ctx context.Context, conn client.Client, request *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return conn.ListWorkflow(ctx, request)
}

func continuedAsNew(info *workflowpb.WorkflowExecutionInfo) bool {
	return info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW
}

func visibleRecord(conn client.Client, info *workflowpb.WorkflowExecutionInfo) record.Investigation {
	t := targetOf(conn, info)
	attributes := info.GetSearchAttributes().GetIndexedFields()
	r := record.Investigation{
		ID: t.id(), WorkflowID: t.workflow, RunID: t.first, Status: statusOf(info.GetStatus()),
		Chain: keyword(attributes[activities.AttributeChain]), AlertType: keyword(attributes[activities.AttributeAlertType]),
		StartedAt: info.GetStartTime().AsTime(),
	}
	// Temporal cannot tell failed from timed out, nor what is waited for; what was ended by force could not say so.
	if said := agent.Status(keyword(attributes[activities.AttributeStatus])); said != "" && said.Closed() == r.Status.Closed() {
		r.Status = said
	}
	if info.GetCloseTime() != nil {
		end := info.GetCloseTime().AsTime()
		r.EndedAt = &end
	}
	return r
}

func keyword(payload *commonpb.Payload) (text string) {
	if payload != nil && converter.GetDefaultDataConverter().FromPayload(payload, &text) != nil {
		return ""
	}
	return text
}

func statusOf(status enumspb.WorkflowExecutionStatus) agent.Status {
	switch status {
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
		return agent.StatusRunning
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return agent.StatusCompleted
	case enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED:
		return agent.StatusCancelled
	case enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED:
		return agent.StatusTerminated
	case enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:
		return agent.StatusTimedOut
	}
	return agent.StatusFailed
}
