package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	inquest "github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/webhook"
	"github.com/inquest-dev/inquest/workflows"
)

// intake starts and guides the investigations of alerts.
type intake struct {
	*inquest.Client
	runs      runs
	namespace string
	config    Configuration
}

func newIntake(opts WorkerOptions) intake {
	system := inquest.Over(opts.Client, opts.Keys, opts.Store, opts.TaskQueue, opts.Namespace)
	return intake{system, runs{opts.Client, opts.Keys.Converter(nil)}, opts.Namespace, opts.Config}
}

// Flood implements activities.Intake.
func (i intake) Flood(name string) webhook.Limits { return i.config.Flood(name) }

// KeepAlerts implements activities.Intake.
func (i intake) KeepAlerts() time.Duration { return i.config.KeepAlerts() }

// GuideOnce implements activities.Intake. Temporal ignores a signal whose ID it has received before.
func (i intake) GuideOnce(ctx context.Context, investigation, key, text, by string) error {
	workflowID, err := i.running(ctx, investigation)
	if err != nil {
		return err
	}
	input, err := i.runs.data.ToPayloads(workflows.Guide{Text: text, By: by})
	if err != nil {
		return err
	}
	_, err = i.runs.client.WorkflowService().SignalWorkflowExecution(ctx, &workflowservice.SignalWorkflowExecutionRequest{
		Namespace: i.namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: workflowID},
		SignalName: workflows.SignalGuide, Input: input, RequestId: key, Identity: "inquest",
	})
	if _, ended := errors.AsType[*serviceerror.NotFound](err); ended {
		err = fmt.Errorf("investigation %s: %w", investigation, record.ErrNotFound)
	}
	return err
}

// EndedAlert implements activities.Intake.
func (i intake) EndedAlert(ctx context.Context, investigation string) (bool, error) {
	_, err := i.running(ctx, investigation)
	if errors.Is(err, record.ErrNotFound) {
		return true, nil
	}
	return false, err
}

// running returns the workflow ID of an investigation. The error is record.ErrNotFound if it has ended.
func (i intake) running(ctx context.Context, investigation string) (workflowID string, err error) {
	h, err := i.Find(ctx, investigation)
	if err == nil && !h.Open {
		err = fmt.Errorf("investigation %s: %w", investigation, record.ErrNotFound)
	}
	return h.Workflow, err
}
