package activities

import (
	"cmp"
	"context"
	"fmt"

	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// OpenConversation parses the request strictly and resolves it to a plan. The conversation keeps that plan even if the
// configuration changes.
func (a *Activities) OpenConversation(ctx context.Context, in OpenConversationIn) (OpenConversationOut, error) {
	ctx, stop := a.attend(ctx)
	defer stop()
	out, err := a.openConversation(ctx, in)
	return out, storeFailure(ended(ctx, err))
}

func (a *Activities) openConversation(ctx context.Context, in OpenConversationIn) (OpenConversationOut, error) {
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
	return OpenConversationOut{Plan: hash, Agent: p.Skeleton().Stages[0].Agents[0], Level: LevelListing, PlanVersion: p.Version}, nil
}

// ReadReply returns the text that a turn ended with. It touches only our own store, so it may run as a local activity.
func (a *Activities) ReadReply(ctx context.Context, in ReadReplyIn) (ReadReplyOut, error) {
	reply, err := a.Transcripts.Reply(ctx, in.Ref.scope(), in.Iteration)
	if err != nil {
		return ReadReplyOut{}, storeFailure(ended(ctx, err))
	}
	if blank(reply) {
		entries, err := a.Transcripts.Entries(ctx, in.Ref.scope())
		if err != nil {
			return ReadReplyOut{}, storeFailure(ended(ctx, err))
		}
		reply.Text = transcript.Final(transcript.Turn(entries), true)
	}
	if len(reply.Text) <= MaxInlineReport {
		return ReadReplyOut{Text: reply.Text}, nil
	}
	ref, err := a.Blobs.PutBlob(ctx, []byte(reply.Text))
	return ReadReplyOut{TextRef: ref}, storeFailure(err)
}

// messageText returns a person's message in a conversation, masked like alert data.
func (g *generation) messageText(ctx context.Context, input Input) (string, error) {
	text := input.Text
	if text == "" {
		var err error
		if text, err = g.Requests.Message(ctx, activity.GetInfo(ctx).WorkflowExecution.ID, input.Run, input.Update); err != nil {
			return "", fmt.Errorf("read message %s: %w", input.Update, err)
		}
	}
	return g.maskData(ctx, g.plan, requestData, text)
}
