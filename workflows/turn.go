package workflows

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
)

// turn is one message and the agent's work on it.
type turn struct{ author string }

// maxMessage bounds one message, in characters.
const maxMessage = 100_000

// check rejects a message that cannot start a turn now.
func (r *conversationRun) check(m Message) error {
	switch n := utf8.RuneCountInString(m.Text); {
	case n == 0:
		return errors.New(`the message is empty: give {"text": "…"}`)
	case n > maxMessage:
		return fmt.Errorf("the message has %d characters; %d are allowed", n, maxMessage)
	case r.closed():
		return errors.New("the conversation is closed")
	case r.turn != nil:
		return fmt.Errorf("a turn is running: the agent answers %s", cmp.Or(r.turn.author, "somebody"))
	}
	return agent.CheckBy(m.Author)
}

// answered is the result of a turn.
type answered struct {
	Update    string `json:"update"` // its id
	Reply     Reply  `json:"reply"`  // without the text
	Iteration int    `json:"iteration"`
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
	id := workflow.GetCurrentUpdateInfo(ctx).ID
	if last := r.state.Last; last != nil && last.Update == id { // retried by a client that did not get the reply before the run changed
		return r.read(ctx, *last)
	}
	said := activities.Input{
		Kind: activities.InputMessage, Text: m.Text, By: m.Author, Update: id, Run: workflow.GetInfo(ctx).WorkflowExecution.RunID,
	}
	if jsonSize(m.Text) > maxInlineMessage {
		said.Text = ""
	}
	reply, err := r.answer(ctx, said)
	if err != nil {
		return reply, err
	}
	r.state.Last = &answered{Update: id, Reply: reply, Iteration: r.agent.state.Iteration}
	return r.read(ctx, *r.state.Last)
}

// maxInlineMessage is the longest message, in bytes of JSON, that is passed in an activity's input. The activity
// reads longer ones from the update in the workflow's history.
const maxInlineMessage = 16 << 10

// heartbeat runs a turn that no message started.
func (r *conversationRun) heartbeat(ctx workflow.Context) {
	r.turn = &turn{author: "a heartbeat"}
	defer func() { r.turn = nil }()
	if _, err := r.answer(ctx, activities.Input{Kind: activities.InputHeartbeat}); err != nil {
		workflow.GetLogger(ctx).Warn("heartbeat", "error", err)
	}
}

// answer runs the agent on the input of a turn. The reply has no text yet.
func (r *conversationRun) answer(ctx workflow.Context, said activities.Input) (Reply, error) {
	a := r.agent
	before := a.state.Usage
	a.begin(said, workflow.Now(ctx).Sub(r.state.ListedAt) > listAgain)
	result := a.takeTurn(ctx)
	a.state.Inputs = leftBehind(a.state.Inputs, result.ErrorType)
	if a.state.Listed {
		r.state.ListedAt = workflow.Now(ctx)
	}
	r.state.Turns++
	r.state.LastActive = workflow.Now(ctx)
	r.note(ctx)
	reply := Reply{
		Turn: r.state.Turns, StopReason: result.StopReason, Iterations: result.Iterations, Usage: a.state.Usage.Sub(before),
		PausedUntil: a.state.PausedUntil,
	}
	if result.Status == agent.StatusCompleted {
		return reply, nil
	}
	why, errorType := cmp.Or(result.Error, string(result.StopReason)), cmp.Or(result.ErrorType, ErrorFailed)
	return reply, temporal.NewApplicationErrorWithOptions(why, errorType,
		temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{reply}})
}

// read adds the text to a reply.
func (r *conversationRun) read(ctx workflow.Context, a answered) (Reply, error) {
	var out activities.ReadReplyOut
	in := activities.ReadReplyIn{Ref: r.agent.in.Ref, Iteration: a.Iteration}
	err := storeStep(ctx, "the reply's text", act.ReadReply, in, &out)
	a.Reply.Text, a.Reply.TextRef = out.Text, out.TextRef
	return a.Reply, err
}

// maxUnread is how many messages of failed turns are kept for the next turn.
const maxUnread = 20

// leftBehind returns the unread inputs for the next turn's model call: messages and results. It drops inputs for one
// turn only, messages that the model refuses to read, and all but the newest maxUnread messages. Messages are kept by
// reference, because the provider may be down for a long time.
func leftBehind(inputs []activities.Input, errorType string) (left []activities.Input) {
	messages := 0
	for _, in := range slices.Backward(inputs) {
		switch in.Kind {
		case activities.InputMessage:
			if messages++; messages > maxUnread || activities.ContentError(errorType) {
				continue
			}
			in.Text = ""
		case activities.InputResult:
		default:
			continue
		}
		left = append(left, in)
	}
	slices.Reverse(left)
	return left
}

// begin wakes an agent and resets its limits and counters for a turn.
func (r *agentRun) begin(said activities.Input, relist bool) {
	r.wake()
	r.before = r.state.Iteration
	r.state.Batches, r.state.Nudges, r.state.Heard, r.state.Provider = 0, 0, 0, 0
	r.state.Inputs = append(r.state.Inputs, said)
	r.state.Deadline = deadline{Remaining: r.in.Agent.Timeouts.Agent.D()}
	r.state.Listed = r.state.Listed && !relist
	r.steering.Concluding, r.reserve, r.behind = false, false, nil
}

// takeTurn runs the pattern's loop until the agent has replied or failed.
func (r *agentRun) takeTurn(ctx workflow.Context) AgentResult {
	loop := iteratingRun{r}.loop
	if r.in.Agent.Pattern == agent.SingleShot {
		loop = singleShotRun{r}.loop
	}
	result, _ := r.bounded(ctx, "turn timeout", loop)
	result.Iterations = r.state.Iteration - r.before
	return result
}
