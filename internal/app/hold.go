package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"

	inquest "github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/workflows"
)

// HoldUsage describes the flag for Settings.Hold.
const HoldUsage = "pause everything that is running before the worker takes work, and do not repeat calls that may already have " +
	"been made: for the first start after both databases were restored from a backup (docs/how-to/back-up.md)"

// heldBy is who pauses investigations and tells their agents about a restore.
const heldBy = "restore"

// restored is what agents are told before their next model call.
const restored = "The databases of this system were restored from a backup. Actions that you took after the backup may be " +
	"missing from this conversation. Before you change anything, check whether it has already been done."

// held returns when both databases were last restored; zero means never. With opts.Hold that is now, and everything that runs is
// paused before the worker takes work.
func held(ctx context.Context, opts WorkerOptions) (at time.Time, err error) {
	if !opts.Hold {
		ctx, cancel := context.WithTimeout(ctx, setupTimeout)
		defer cancel()
		return opts.Store.Held(ctx)
	}
	if at, err = opts.Store.Hold(ctx); err == nil {
		err = pauseAll(ctx, opts)
	}
	if err != nil {
		return at, fmt.Errorf("pause running work: %w", err)
	}
	return at, nil
}

// pauseAll signals agents and stages, too, because they could make calls before their investigation passes the pause on. It leaves
// out agents that learn: they change nothing but learnings, and nobody could resume them.
func pauseAll(ctx context.Context, opts WorkerOptions) error {
	investigations, conversations := 0, 0
	for found, err := range inquest.Executions(ctx, opts.Client, inquest.RunningOf(workflows.Pausable...), 0) {
		if err != nil {
			return fmt.Errorf("list running work: %w", err)
		}
		id, run := found.GetExecution().GetWorkflowId(), found.GetExecution().GetRunId()
		if workflows.LearningID(found.GetParentExecution().GetWorkflowId()) == id {
			continue
		}
		err := opts.Client.SignalWorkflow(ctx, id, run, workflows.SignalPause, workflows.By{By: heldBy})
		switch kind := found.GetType().GetName(); {
		case err == nil && kind == workflows.TypeConversation:
			conversations++
		case err == nil && kind == workflows.TypeInvestigation:
			investigations++
			err = opts.Client.SignalWorkflow(ctx, id, run, workflows.SignalGuide, workflows.Guide{Text: restored, By: heldBy})
		}
		if _, ended := errors.AsType[*serviceerror.NotFound](err); err != nil && !ended {
			return fmt.Errorf("pause %s: %w", id, err)
		}
	}
	opts.Logger.Warn("everything that was running is paused: resume it with starter resume ID or starter resume-all",
		"investigations", investigations, "conversations", conversations)
	return nil
}
