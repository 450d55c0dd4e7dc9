package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/inquest-dev/inquest/workflows"
)

// HoldUsage describes the flag for Settings.Hold.
const HoldUsage = "pause everything that runs, before the worker takes work, and make no call again that may have been made: for " +
	"the first start after both databases were restored from a backup (docs/how-to/back-up.md)"

// heldBy is who pauses investigations and tells their agents about a restore.
const heldBy = "restore"

// restored is what agents are told before their next model call.
const restored = "The databases of this system were restored from a backup. Actions that you took after the backup may be missing from " +
	"this conversation. Before you change anything, check whether it has been done already."

// hold pauses all running workflows before the worker takes work, and returns the store's time. Agents and stages get their own
// signals, because they could make calls before their investigation passes the pause on.
func hold(ctx context.Context, opts WorkerOptions) (at time.Time, err error) {
	if at, err = opts.Store.Hold(ctx); err != nil {
		return at, err
	}
	query := fmt.Sprintf(`ExecutionStatus = 'Running' AND WorkflowType IN ('%s')`, strings.Join(workflows.Pausable, "', '"))
	investigations := 0
	for page := (&workflowservice.ListWorkflowExecutionsRequest{Namespace: opts.Namespace, Query: query}); ; {
		listed, err := opts.Client.ListWorkflow(ctx, page)
		if err != nil {
			return at, fmt.Errorf("list what runs: %w", err)
		}
		for _, found := range listed.GetExecutions() {
			id, run := found.GetExecution().GetWorkflowId(), found.GetExecution().GetRunId()
			err := opts.Client.SignalWorkflow(ctx, id, run, workflows.SignalPause, workflows.By{By: heldBy})
			if err == nil && found.GetType().GetName() == workflows.TypeInvestigation {
				investigations++
				err = opts.Client.SignalWorkflow(ctx, id, run, workflows.SignalGuide, workflows.Guide{Text: restored, By: heldBy})
			}
			if _, ended := errors.AsType[*serviceerror.NotFound](err); err != nil && !ended {
				return at, fmt.Errorf("pause %s: %w", id, err)
			}
		}
		if page.NextPageToken = listed.GetNextPageToken(); len(page.NextPageToken) == 0 {
			break
		}
	}
	opts.Logger.Warn("all running investigations are paused: resume them with starter resume ID or starter resume-all",
		"investigations", investigations)
	return at, nil
}
