package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/payload"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/workflows"
)

// join looks whether the conversation is open, and with whom.
func (s *chatSession) join(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	t, name, err := s.describe(ctx)
	gone := errors.Is(err, record.ErrNotFound)
	switch {
	case err != nil && !gone:
		return err
	case (gone || !t.running()) && s.flags.agent == "":
		return usagef("no conversation %s is open: --agent says with whom to begin one", s.flags.thread)
	case gone || !t.running():
		return nil
	case s.flags.agent != "" && name != "" && name != s.flags.agent:
		return usagef("the conversation %s is with %s, not with %s: give another --thread", s.flags.thread, name, s.flags.agent)
	}
	if s.flags.provider != "" {
		s.tell("the conversation is open already: it goes on with the model that it was begun with")
	}
	s.thread, s.name, s.known = t, name, true
	return nil
}

// describe finds the conversation that the thread id stands for now, and its agent.
func (s *chatSession) describe(ctx context.Context) (t target, name string, err error) {
	found, err := describe(ctx, s.conn, s.flags.thread, workflows.TypeConversation)
	if err != nil {
		return t, "", err
	}
	t = targetOf(s.conn, found)
	if name = agentOf(found, s.keys); name == "" && t.running() { // it has only just begun
		var status workflows.ConversationStatus
		_ = t.query(ctx, workflows.QueryStatus, &status)
		name = status.Agent
	}
	return t, name, nil
}

// agentOf is the agent of a conversation, as Temporal knows it.
func agentOf(info *workflowpb.WorkflowExecutionInfo, keys payload.Keys) (name string) {
	if memo := info.GetMemo().GetFields()[workflows.MemoAgent]; memo != nil {
		_ = keys.Converter(nil).FromPayload(memo, &name)
	}
	return name
}

// exchange says something and waits for the reply, as long as it takes. accepted
// is called when a worker has taken the message. However often Temporal goes away
// meanwhile, the message is said once: its id tells.
func (s *chatSession) exchange(ctx context.Context, text string, accepted func()) (reply workflows.Reply, err error) {
	id := "said-" + rand.Text()
	var handle client.WorkflowUpdateHandle
	err = s.persist(ctx, func() error {
		handle, err = s.send(ctx, id, text)
		return err
	})
	if err != nil {
		return reply, err
	}
	accepted()
	err = s.persist(ctx, func() error { return handle.Get(ctx, &reply) })
	return reply, err
}

// send says something to the conversation that is open, or to a new one.
func (s *chatSession) send(ctx context.Context, id, text string) (client.WorkflowUpdateHandle, error) {
	update := client.UpdateWorkflowOptions{
		UpdateID: id, WorkflowID: s.flags.thread, UpdateName: workflows.UpdateSend, WaitForStage: client.WorkflowUpdateStageAccepted,
		Args: []any{workflows.Message{Text: text, Author: s.flags.by}},
	}
	if s.flags.agent == "" {
		return s.conn.UpdateWorkflow(ctx, update)
	}
	start := s.conn.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID:                       s.flags.thread,
		TaskQueue:                s.taskQueue,
		WorkflowTaskTimeout:      workflows.WorkflowTaskTimeout,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            "conversation with " + s.flags.agent,
		StaticDetails:            fmt.Sprintf("Begun by %s. Go on with `starter chat --thread %s`.", s.flags.by, s.flags.thread),
	}, workflows.TypeConversation, agent.ConversationRequest{Agent: s.flags.agent, Provider: s.flags.provider})
	return s.conn.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{StartWorkflowOperation: start, UpdateOptions: update})
}

// persist calls Temporal again for as long as it does not answer.
func (s *chatSession) persist(ctx context.Context, call func() error) error {
	for {
		err := call()
		_, late := errors.AsType[*client.WorkflowUpdateServiceTimeoutOrCanceledError](err)
		if ctx.Err() != nil || !late && !unavailable(err) {
			return err
		}
		if !late {
			s.tell("Temporal does not answer; waiting")
		}
		select {
		case <-ctx.Done():
		case <-time.After(lookEvery):
		}
	}
}

// closeChat ends a conversation that is open.
func closeChat(ctx context.Context, conn client.Client, thread string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := describe(ctx, conn, thread, workflows.TypeConversation)
	if err == nil {
		err = conn.SignalWorkflow(ctx, thread, "", workflows.SignalClose, nil)
	}
	_, ended := errors.AsType[*serviceerror.NotFound](err)
	if ended || errors.Is(err, record.ErrNotFound) {
		return fmt.Errorf("no conversation %s is open", thread)
	}
	return err
}
