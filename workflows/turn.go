package workflows

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
)

// turn is one message and what the agent makes of it.
type turn struct{ author string }

// maxMessage bounds what a person says at once, in characters.
const maxMessage = 100_000

// check refuses what cannot be a turn now.
func (r *conversationRun) check(m Message) error {
	switch n := utf8.RuneCountInString(m.Text); {
	case n == 0:
		return errors.New(`the message is empty: give {"text": "…"}`)
	case n > maxMessage:
		return fmt.Errorf("the message has %d characters; %d are allowed", n, maxMessage)
	case r.closed:
		return errors.New("the conversation is closed")
	case r.turn != nil:
		return fmt.Errorf("a turn is running: the agent answers %s", orText(r.turn.author, "somebody"))
	}
	return nil
}

// send runs one turn.
func (r *conversationRun) send(ctx workflow.Context, m Message) (Reply, error) {
	r.turn = &turn{author: m.Author}
	defer func() { r.turn = nil }()
	if err := workflow.Await(ctx, func() bool { return r.agent != nil || r.failed != nil }); err != nil {
		return Reply{}, err
	}
	if r.failed != nil {
		return Reply{}, r.failed
	}
	r.agent.wake()
	said := activities.Input{Kind: activities.InputMessage, Text: m.Text, By: m.Author}
	if len(m.Text) > maxInlineMessage {
		said.Text, said.Update = "", workflow.GetCurrentUpdateInfo(ctx).ID
	}
	return r.answer(ctx, said)
}

// maxInlineMessage is how long a message may be to stand in an activity's input,
// in bytes; a longer one is read from the update in the workflow's history.
const maxInlineMessage = 16 << 10

// heartbeat is a turn that nobody asked for.
func (r *conversationRun) heartbeat(ctx workflow.Context) {
	r.turn = &turn{author: "a heartbeat"}
	defer func() { r.turn = nil }()
	if _, err := r.answer(ctx, activities.Input{Kind: activities.InputHeartbeat}); err != nil {
		workflow.GetLogger(ctx).Warn("heartbeat", "error", err)
	}
}

// answer has the agent work on what was said.
func (r *conversationRun) answer(ctx workflow.Context, said activities.Input) (Reply, error) {
	a := r.agent
	before := a.state.Usage
	a.begin(said, workflow.Now(ctx).Sub(r.state.ListedAt) > listAgain)
	result := a.takeTurn(ctx)
	if a.state.Listed {
		r.state.ListedAt = workflow.Now(ctx)
	}
	r.state.Turns++
	r.state.LastActive = workflow.Now(ctx)
	r.turn = nil
	r.note(ctx)
	reply := Reply{
		Turn: r.state.Turns, StopReason: result.StopReason, Iterations: result.Iterations, Usage: a.state.Usage.Sub(before),
		PausedUntil: a.state.PausedUntil,
	}
	if result.Status != agent.StatusCompleted {
		return reply, temporal.NewApplicationErrorWithOptions(orText(result.Error, string(result.StopReason)), orText(result.ErrorType, ErrorFailed),
			temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{reply}})
	}
	var out activities.ReadReplyOut
	in := activities.ReadReplyIn{Ref: a.in.Ref, Iteration: a.state.Iteration}
	if err := workflow.ExecuteLocalActivity(ownToolOptions(ctx), activities.NameReadReply, in).Get(ctx, &out); err != nil {
		return reply, err
	}
	reply.Text, reply.TextRef = out.Text, out.TextRef
	return reply, nil
}

// listAgain is how old the catalogues of tools may be at the beginning of a turn.
const listAgain = time.Hour

// begin makes an agent ready for a turn: its limits are those of one turn.
func (r *agentRun) begin(said activities.Input, relist bool) {
	r.state.Batches, r.state.Nudges, r.state.Provider = 0, 0, 0
	r.state.Inputs = append(r.state.Inputs, said)
	r.state.Deadline = deadline{Remaining: r.in.Agent.Timeouts.Agent.D()}
	r.state.Listed = r.state.Listed && !relist
	r.steering.Concluding = false
}

// takeTurn runs the pattern's loop once, to the agent's last word.
func (r *agentRun) takeTurn(ctx workflow.Context) AgentResult {
	first := r.state.Iteration
	loop := iteratingRun{r}.loop
	if r.in.Agent.Pattern == agent.SingleShot {
		loop = singleShotRun{r}.loop
	}
	work, cancel := r.state.Deadline.start(ctx, "turn timeout", r.held)
	defer cancel()
	result, err := loop(work)
	if err != nil {
		result = r.stopped(work, err)
	}
	result.Iterations = r.state.Iteration - first
	return result
}
