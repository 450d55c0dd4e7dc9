package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// OpenConversation parses the request strictly and resolves it to a plan. The conversation keeps that plan even if the
// configuration changes.
func (a *Activities) OpenConversation(ctx context.Context, in OpenConversationIn) (OpenConversationOut, error) {
	ctx, stop := a.worker().Attend(ctx)
	defer stop()
	out, err := resolver{a.worker()}.openConversation(ctx, in)
	return out, job.StoreFailure(job.Ended(ctx, err))
}

func (a resolver) openConversation(ctx context.Context, in OpenConversationIn) (OpenConversationOut, error) {
	workflowID := activity.GetInfo(ctx).WorkflowExecution.ID
	inputs, _, err := a.Requests.Inputs(ctx, workflowID, in.RunID)
	if err != nil {
		return OpenConversationOut{}, fmt.Errorf("read the request of %s: %w", workflowID, err)
	}
	req, err := agent.ParseConversationRequest(inputs...)
	if err != nil {
		return OpenConversationOut{}, refusal(err)
	}
	p, err := a.Planner.Conversation(ctx, req)
	if later := notYet(ctx, err); later != nil {
		return OpenConversationOut{}, later
	}
	if err != nil {
		return OpenConversationOut{}, refusal(err)
	}
	p.Project = cmp.Or(req.Project, agent.DefaultProject)
	hash, err := a.keepPlan(ctx, p)
	if err != nil {
		return OpenConversationOut{}, err
	}
	if a.Threads != nil {
		if err := a.Threads.SaveThread(ctx, threadOf(ctx, in.Conversation, p, a.Now(ctx))); err != nil {
			return OpenConversationOut{}, err
		}
	}
	return OpenConversationOut{Plan: hash, Agent: p.Skeleton().Stages[0].Agents[0], Level: LevelListing, PlanVersion: p.Version}, nil
}

// ReadReply returns the text that a turn ended with, and records the turn. It touches only our own store, so it may run as a local
// activity.
func (a *Activities) ReadReply(ctx context.Context, in ReadReplyIn) (ReadReplyOut, error) {
	if err := a.recordTurn(ctx, in); err != nil {
		return ReadReplyOut{}, job.StoreFailure(job.Ended(ctx, err))
	}
	if in.Turn != nil && in.Turn.ErrorType != "" { // the turn has no reply
		return ReadReplyOut{}, nil
	}
	reply, err := a.Transcripts.Reply(ctx, in.Ref.Scope(), in.Iteration)
	if err != nil {
		return ReadReplyOut{}, job.StoreFailure(job.Ended(ctx, err))
	}
	if job.Blank(reply) {
		entries, err := a.Transcripts.Entries(ctx, in.Ref.Scope())
		if err != nil {
			return ReadReplyOut{}, job.StoreFailure(job.Ended(ctx, err))
		}
		reply.Text = transcript.Final(transcript.Turn(entries), true)
	}
	if len(reply.Text) <= MaxInlineReport {
		return ReadReplyOut{Text: reply.Text}, nil
	}
	ref, err := a.Blobs.PutBlob(ctx, []byte(reply.Text))
	return ReadReplyOut{TextRef: ref}, job.StoreFailure(err)
}

// recordTurn records a turn. A conversation from before turns were recorded is recorded with it.
func (a *Activities) recordTurn(ctx context.Context, in ReadReplyIn) error {
	if in.Turn == nil || a.Threads == nil {
		return nil
	}
	turn, id := in.Turn.Turn, in.Ref.Investigation
	turn.N, turn.Message, turn.Run = in.Turn.N, in.Turn.Message, in.Turn.Run
	err := a.Threads.SaveTurn(ctx, id, turn)
	if !errors.Is(err, record.ErrNotFound) {
		return err
	}
	j, err := a.worker().Job(ctx, in.Ref)
	if err != nil {
		return err
	}
	if err := a.Threads.SaveThread(ctx, threadOf(ctx, id, j.Plan, turn.At)); err != nil {
		return err
	}
	return a.Threads.SaveTurn(ctx, id, turn)
}

func threadOf(ctx context.Context, id string, p plan.Plan, started time.Time) record.Thread {
	return record.Thread{
		ID: id, WorkflowID: activity.GetInfo(ctx).WorkflowExecution.ID, Agent: p.Stages[0].Agents[0].Name, Project: p.Project,
		About: p.About, StartedAt: started,
	}
}

// FindTurn returns the turn that has answered a message in an earlier run of the conversation. Temporal itself recognises a
// repeated message within one run.
func (a *Activities) FindTurn(ctx context.Context, in FindTurnIn) (out FindTurnOut, err error) {
	if a.Threads == nil {
		return out, nil
	}
	turn, err := a.Threads.TurnOf(ctx, in.Conversation, in.Message)
	if errors.Is(err, record.ErrNotFound) {
		return out, nil
	}
	if err != nil {
		return out, job.StoreFailure(job.Ended(ctx, err))
	}
	return FindTurnOut{Turn: &Turn{N: turn.N, Message: turn.Message, Run: turn.Run, Turn: turn}}, nil
}

// EndConversation records that a conversation has ended.
func (a *Activities) EndConversation(ctx context.Context, in EndConversationIn) error {
	if a.Threads == nil {
		return nil
	}
	return job.StoreFailure(job.Ended(ctx, a.Threads.EndThread(ctx, in.Conversation, a.worker().Now(ctx))))
}
