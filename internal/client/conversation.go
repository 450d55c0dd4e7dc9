package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

// Threads lists the open conversations in Temporal, newest first. It does not query the workflows, because there may be thousands.
// An empty agent means any, and a limit of 0 means all.
func (c *Client) Threads(ctx context.Context, agent string, limit int) (open []system.Thread, err error) {
	conn, err := c.temporal(ctx)
	if err != nil {
		return nil, err
	}
	var ids []string
	for info, err := range Executions(ctx, conn, RunningOf(workflows.TypeConversation), 0) {
		if err != nil {
			return nil, fmt.Errorf("list the conversations: %w", err)
		}
		h := handleOf(conn, info)
		t := system.Thread{Thread: h.Workflow, Agent: c.memo(info, workflows.MemoAgent), Since: info.GetStartTime().AsTime()}
		t.Project = c.memo(info, memoProject)
		if agent != "" && t.Agent != agent {
			continue
		}
		open, ids = append(open, t), append(ids, h.ID())
		if len(open) == limit {
			break
		}
	}
	st, err := c.Store(ctx)
	if err != nil || st == nil || len(open) == 0 {
		return open, err
	}
	used, err := st.Usages(ctx, ids)
	for n := range open {
		open[n].Usage = used[ids[n]]
	}
	return open, err
}

// FindThread finds the current conversation with a thread ID, open or closed, and its agent. It returns record.ErrNotFound if there
// has never been one.
func (c *Client) FindThread(ctx context.Context, thread string) (_ system.Handle, agent string, err error) {
	conn, err := c.temporal(ctx)
	if err != nil {
		return system.Handle{}, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	found, err := describe(ctx, conn, thread, workflows.TypeConversation)
	if err != nil {
		return system.Handle{}, "", err
	}
	h := handleOf(conn, found)
	if agent = c.memo(found, workflows.MemoAgent); agent == "" && h.Open { // it has only just begun
		var status workflows.ConversationStatus
		_ = h.ask(ctx, queryTimeout, &status)
		agent = status.Agent
	}
	return h.Handle, agent, nil
}

// Say sends a message and waits for the reply, as long as it takes. accepted, unless nil, is called with the thread once a worker has
// accepted the message. The message is sent once, however often Temporal is unavailable meanwhile, because its ID serves as an
// idempotency key.
func (c *Client) Say(ctx context.Context, w system.Words, accepted func(thread string)) (reply workflows.Reply, err error) {
	conn, err := c.temporal(ctx)
	if err != nil {
		return reply, err
	}
	silence := time.AfterFunc(patience, func() {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		c.explainQueue(ctx, conn, c.opts.TaskQueue)
	})
	defer silence.Stop()
	id := cmp.Or(w.ID, "said-"+rand.Text())
	var handle sdk.WorkflowUpdateHandle
	err = c.persist(ctx, lookEvery, func() error {
		handle, err = c.send(ctx, conn, id, w)
		return err
	})
	if err != nil {
		return reply, err
	}
	silence.Stop()
	if accepted != nil {
		accepted(w.Thread)
	}
	err = c.persist(ctx, lookEvery, func() error { return handle.Get(ctx, &reply) })
	return reply, err
}

// send sends a message to the open conversation or starts a new one.
func (c *Client) send(ctx context.Context, conn sdk.Client, id string, w system.Words) (sdk.WorkflowUpdateHandle, error) {
	update := sdk.UpdateWorkflowOptions{
		UpdateID: id, WorkflowID: w.Thread, UpdateName: workflows.UpdateSend, WaitForStage: sdk.WorkflowUpdateStageAccepted,
		Args: []any{workflows.Message{Text: w.Text, Author: w.By}},
	}
	if w.Agent == "" {
		return conn.UpdateWorkflow(ctx, update)
	}
	var memo map[string]any
	if w.Project != "" {
		memo = map[string]any{memoProject: w.Project}
	}
	start := conn.NewWithStartWorkflowOperation(sdk.StartWorkflowOptions{
		ID:                       w.Thread,
		TaskQueue:                c.opts.TaskQueue,
		WorkflowTaskTimeout:      workflows.WorkflowTaskTimeout,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		Memo:                     memo,
		StaticSummary:            "conversation with " + w.Agent,
		StaticDetails:            fmt.Sprintf("Started by %s. Continue with `starter chat --thread %s`.", w.By, w.Thread),
	}, workflows.TypeConversation, agent.ConversationRequest{Agent: w.Agent, Provider: w.Provider, Project: w.Project})
	return conn.UpdateWithStartWorkflow(ctx, sdk.UpdateWithStartWorkflowOptions{StartWorkflowOperation: start, UpdateOptions: update})
}

// persist repeats a call while Temporal is unavailable, or while no worker can continue the conversation.
func (c *connection) persist(ctx context.Context, pause time.Duration, call func() error) error {
	logged := false
	for {
		err := call()
		_, late := errors.AsType[*sdk.WorkflowUpdateServiceTimeoutOrCanceledError](err)
		failing := notReady(err)
		switch {
		case ctx.Err() != nil || !late && !failing && !unavailable(err):
			return err
		case failing && !logged:
			c.opts.Tell("no worker can continue this conversation at the moment (`starter version --check` says more); waiting")
			logged = true
		case !late && !failing:
			c.opts.Tell("Temporal is not responding; waiting")
		}
		wait(ctx, pause)
	}
}

// Conclude asks the agent of a conversation to finish its turn.
func (c *Client) Conclude(ctx context.Context, thread, by string) error {
	conn, err := c.temporal(ctx)
	if err != nil {
		return err
	}
	return conn.SignalWorkflow(ctx, thread, "", workflows.SignalConclude, workflows.Conclude{By: by})
}

// CloseThread closes an open conversation after the running turn. It returns record.ErrNotFound if none is open.
func (c *Client) CloseThread(ctx context.Context, thread string) error {
	_, _, err := c.FindThread(ctx, thread)
	if err != nil {
		return err
	}
	conn, err := c.temporal(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err = conn.SignalWorkflow(ctx, thread, "", workflows.SignalClose, nil)
	if _, ended := errors.AsType[*serviceerror.NotFound](err); ended {
		return fmt.Errorf("conversation %s: %w", thread, record.ErrNotFound)
	}
	return err
}
