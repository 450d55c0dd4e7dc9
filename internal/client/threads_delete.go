package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/workflows"
)

// closeTimeout is how long a deletion waits for the end of a conversation without a running turn.
const closeTimeout = 30 * time.Second

// DeleteThread closes a conversation, waits for its end, and deletes its workflow runs and everything in the store that belongs to it.
// The order lets a second call complete an interrupted one.
func (c *Client) DeleteThread(ctx context.Context, id string, by agent.Identity) (system.Named, error) {
	st, err := c.needStore(ctx)
	if err != nil {
		return system.Named{}, err
	}
	t, err := c.deletable(ctx, st, id)
	if err != nil {
		return system.Named{}, err
	}
	if err := c.endThread(ctx, t); err != nil {
		return system.Named{}, err
	}
	if err := c.deleteRuns(ctx, t); err != nil {
		return system.Named{}, err
	}
	detail, _ := json.Marshal(map[string]any{"conversation": t.ID, "agent": t.Agent, "project": t.Project, "turns": t.Turns}) // plain values
	return system.Named{ID: t.ID}, st.DeleteThread(ctx, t.ID,
		audit.Act{What: audit.ThreadDeleted, Who: by.Name, Channel: by.Channel, Detail: detail})
}

// deletable returns the conversation with an ID, or the only one with a name. A conversation from before they were recorded is
// recorded now.
func (c *Client) deletable(ctx context.Context, st *store.Store, id string) (record.Thread, error) {
	if ids, err := st.Namesakes(ctx, id); err != nil || len(ids) > 1 {
		if err == nil {
			err = &system.InputError{Err: fmt.Errorf("%d conversations have the name %s: give the ID of one: %s", len(ids), id, some(ids))}
		}
		return record.Thread{}, err
	}
	t, err := st.Thread(ctx, id)
	if !errors.Is(err, record.ErrNotFound) {
		return t, err
	}
	talk, err := c.Talk(ctx, id)
	if err != nil {
		return t, err
	}
	t = record.Thread{ID: talk.ID, WorkflowID: talk.Thread, Agent: talk.Agent, Project: talk.Project, StartedAt: time.Now()}
	return t, st.SaveThread(ctx, t)
}

// endThread closes a conversation and waits for its end. It refuses while a turn runs.
func (c *Client) endThread(ctx context.Context, t record.Thread) error {
	conn, err := c.temporal(ctx)
	if err != nil {
		return err
	}
	info, err := describe(ctx, conn, t.WorkflowID, workflows.TypeConversation)
	if errors.Is(err, record.ErrNotFound) {
		return nil // Temporal has forgotten it
	}
	if err != nil {
		return err
	}
	h := handleOf(conn, info)
	if h.ID() != t.ID || !h.Open {
		return nil
	}
	var status workflows.ConversationStatus
	if err := c.askTwice(ctx, h, &status); err != nil {
		return fmt.Errorf("check whether a turn is running: %w", err)
	}
	if status.Answering != "" {
		return &system.InputError{Err: fmt.Errorf("a turn is running: the agent is answering %s; delete the conversation after the turn",
			status.Answering)}
	}
	err = conn.SignalWorkflow(ctx, t.WorkflowID, "", workflows.SignalClose, nil)
	if _, ended := errors.AsType[*serviceerror.NotFound](err); err != nil && !ended {
		return fmt.Errorf("close %s: %w", t.ID, err)
	}
	waiting, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	_ = conn.GetWorkflow(waiting, t.WorkflowID, "").Get(waiting, nil) // how it ended does not matter
	if waiting.Err() != nil && ctx.Err() == nil {
		return &system.InputError{Err: fmt.Errorf("%s is closing and has not ended yet, probably because a turn began: delete it later", t.ID)}
	}
	return ctx.Err()
}

// deleteRuns deletes the workflow runs of an ended conversation.
func (c *Client) deleteRuns(ctx context.Context, t record.Thread) error {
	conn, err := c.temporal(ctx)
	if err != nil {
		return err
	}
	runs := map[string]bool{}
	info, err := describe(ctx, conn, t.WorkflowID, workflows.TypeConversation)
	switch {
	case err == nil && handleOf(conn, info).ID() == t.ID:
		runs[info.GetExecution().GetRunId()] = true
	case err != nil && !errors.Is(err, record.ErrNotFound):
		return err
	}
	if !strings.ContainsAny(t.WorkflowID, `'"\`) { // the rest disappears after Temporal's retention period
		for info, err := range Executions(ctx, conn, "WorkflowId = '"+t.WorkflowID+"'", 0) {
			if err != nil {
				return fmt.Errorf("list the runs of %s: %w", t.ID, err)
			}
			if handleOf(conn, info).ID() == t.ID {
				runs[info.GetExecution().GetRunId()] = true
			}
		}
	}
	for _, run := range slices.Sorted(maps.Keys(runs)) {
		_, err := conn.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
			Namespace: c.namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: t.WorkflowID, RunId: run},
		})
		if _, gone := errors.AsType[*serviceerror.NotFound](err); err != nil && !gone {
			return fmt.Errorf("delete the run %s of %s: %w", run, t.ID, err)
		}
	}
	return nil
}
