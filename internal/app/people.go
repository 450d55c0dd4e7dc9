package app

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/workflows"
)

// AskPeople implements activities.People with an update of the investigation. Temporal deduplicates updates with the same ID in a
// run.
func (r runs) AskPeople(ctx context.Context, investigation, id string, q activities.Elicitation) (out activities.Elicited, err error) {
	workflowID, ok := workflows.WorkflowOf(investigation)
	if !ok {
		return out, fmt.Errorf("investigation %s: %w", investigation, record.ErrNotFound)
	}
	handle, err := r.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: workflowID, UpdateID: id, UpdateName: workflows.UpdateElicit, Args: []any{q},
		WaitForStage: client.WorkflowUpdateStageAccepted,
	})
	for err == nil {
		err = handle.Get(ctx, &out)
		if _, slow := errors.AsType[*serviceerror.DeadlineExceeded](err); err == nil || !slow || ctx.Err() != nil {
			return out, err
		}
		err = nil // Temporal ends its long polls
	}
	return out, fmt.Errorf("ask people for investigation %s: %w", investigation, err)
}
