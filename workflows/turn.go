package workflows

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
)

// turn is one message and the agent's reply to it.
type turn struct{ author string }

// maxMessage bounds one message, in characters.
const maxMessage = 100_000

// check rejects a message that cannot start a turn now.
func (r *conversationRun) check(m Message) error {
	switch n := utf8.RuneCountInString(m.Text); {
	case n == 0:
		return errors.New(`the message is empty: send {"text": "…"}`)
	case n > maxMessage:
		return fmt.Errorf("the message has %d characters; %d are allowed", n, maxMessage)
	case r.closed():
		return errors.New("the conversation is closed")
	case r.turn != nil:
		return fmt.Errorf("a turn is running: the agent is answering %s", cmp.Or(r.turn.author, "someone"))
	}
	return agent.CheckBy(m.Author)
}

// answered is the result of a turn.
type answered struct {
	Update    string `json:"update"` // its id
	Reply     Reply  `json:"reply"`  // its text is left out
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
	if last := r.state.Last; last != nil && last.Update == id { // the client retries because it lost the reply when the run changed
		return r.read(ctx, *last, nil)
	}
	if earlier, err := r.earlier(ctx, id); earlier != nil || err != nil {
		return r.repeat(ctx, earlier, err)
	}
	said := activities.Input{
		Kind: activities.InputMessage, Text: m.Text, By: m.Author, Update: id, Run: workflow.GetInfo(ctx).WorkflowExecution.RunID,
	}
	if jsonSize(m.Text) > maxInlineMessage {
		said.Text = ""
	}
	reply, turn, err := r.answer(ctx, said)
	if err != nil {
		r.record(ctx, turn)
		return reply, err
	}
	r.state.Last = &answered{Update: id, Reply: reply, Iteration: r.agent.state.Iteration}
	return r.read(ctx, *r.state.Last, turn)
}

// maxInlineMessage is the longest message, in bytes of JSON, that is passed in an activity's input. The activity
// reads longer ones from the update in the workflow's history.
const maxInlineMessage = 16 << 10

// heartbeat runs a turn that no message started.
func (r *conversationRun) heartbeat(ctx workflow.Context) {
	r.turn = &turn{author: "a heartbeat"}
	defer func() { r.turn = nil }()
	_, turn, err := r.answer(ctx, activities.Input{Kind: activities.InputHeartbeat})
	if err != nil {
		workflow.GetLogger(ctx).Warn("heartbeat", "error", err)
	}
	r.record(ctx, turn)
}

// answer runs the agent on the input of a turn. The reply has no text yet. The turn is to be recorded; nil means that turns are not.
func (r *conversationRun) answer(ctx workflow.Context, said activities.Input) (Reply, *activities.Turn, error) {
	a := r.agent
	before, first := a.state.Usage, a.state.Iteration+1
	r.look(first)
	a.begin(said, workflow.Now(ctx).Sub(r.state.ListedAt) > maxCatalogueAge)
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
	turn := record.Turn{Author: said.By, First: first, Last: a.state.Iteration}
	if result.Status != agent.StatusCompleted {
		turn.Error, turn.ErrorType = cmp.Or(result.Error, string(result.StopReason)), cmp.Or(result.ErrorType, ErrorFailed)
	}
	return reply, r.recordOf(ctx, said.Update, reply, turn), turnError(reply, turn)
}

// turnError is the error of a turn that failed, with the reply as its details. It is nil if the turn has a reply.
func turnError(reply Reply, turn record.Turn) error {
	if turn.ErrorType == "" {
		return nil
	}
	return temporal.NewApplicationErrorWithOptions(turn.Error, turn.ErrorType,
		temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{reply}})
}

// horizon is a point of a conversation: the number of turns before it, and the first iteration after it.
type horizon struct {
	Turns int `json:"turns,omitempty"`
	From  int `json:"from,omitempty"`
}

// horizonTurns is how far the beginning of the part that the model sees moves at a time. The model sees the last one to two times as
// many turns, so the cost of a turn does not grow with the conversation, and most requests share a prefix.
const horizonTurns = 25

// look chooses the part of the conversation that the model sees in the next turn, which begins with an iteration.
func (r *conversationRun) look(first int) {
	h := &r.state.Horizon
	if n := r.state.Turns; n > 0 && n%horizonTurns == 0 && h[1].Turns != n {
		h[0], h[1] = h[1], horizon{n, first}
	}
	r.agent.from, r.agent.skipped = h[0].From, h[0].Turns
}

// read adds the text to a reply, and records the turn unless that is nil.
func (r *conversationRun) read(ctx workflow.Context, a answered, turn *activities.Turn) (Reply, error) {
	var out activities.ReadReplyOut
	in := activities.ReadReplyIn{Ref: r.agent.in.Ref, Iteration: a.Iteration, Turn: turn}
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

// versionRecordTurns marks the change that records the turns and the end of a conversation. A message that is repeated after the
// workflow continued as new gets the recorded reply.
const versionRecordTurns = "2026-11-28-record-turns"

// recordOf completes the record of a turn. It returns nil if turns are not recorded.
func (r *conversationRun) recordOf(ctx workflow.Context, message string, reply Reply, turn record.Turn) *activities.Turn {
	if !r.records {
		return nil
	}
	turn.Execution, turn.At = r.agent.in.Ref.Execution, workflow.Now(ctx)
	turn.Reply, _ = json.Marshal(reply) // a Reply always has a JSON form
	return &activities.Turn{N: reply.Turn, Message: message, Run: workflow.GetInfo(ctx).WorkflowExecution.RunID, Turn: turn}
}

// record records a turn whose text nobody waits for.
func (r *conversationRun) record(ctx workflow.Context, turn *activities.Turn) {
	if turn == nil {
		return
	}
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	in := activities.ReadReplyIn{Ref: r.agent.in.Ref, Iteration: turn.Last, Turn: turn}
	if err := storeStep(ctx, "record of the turn", act.ReadReply, in, nil); err != nil {
		workflow.GetLogger(ctx).Warn("record a turn", "error", err)
	}
}

// recordEnd records that the conversation has ended.
func (r *conversationRun) recordEnd(ctx workflow.Context) {
	if !r.records {
		return
	}
	in := activities.EndConversationIn{Conversation: r.id}
	if err := storeStep(ctx, "end of the conversation", act.EndConversation, in, nil); err != nil {
		workflow.GetLogger(ctx).Warn("record the end of the conversation", "error", err)
	}
}

// earlier returns the turn of an earlier run that has answered a message; nil means that the message is new. Within one run,
// Temporal itself recognises a repeated message.
func (r *conversationRun) earlier(ctx workflow.Context, message string) (*activities.Turn, error) {
	if !r.records || workflow.GetInfo(ctx).ContinuedExecutionRunID == "" {
		return nil, nil
	}
	var out activities.FindTurnOut
	in := activities.FindTurnIn{Conversation: r.id, Message: message}
	err := storeStep(ctx, "check whether the message is new", act.FindTurn, in, &out)
	return out.Turn, err
}

// repeat returns the result of an earlier turn.
func (r *conversationRun) repeat(ctx workflow.Context, earlier *activities.Turn, err error) (reply Reply, _ error) {
	if err != nil {
		return reply, err
	}
	if err := json.Unmarshal(earlier.Reply, &reply); err != nil {
		return reply, fmt.Errorf("read the recorded reply of turn %d: %w", earlier.N, err)
	}
	if err := turnError(reply, earlier.Turn); err != nil {
		return reply, err
	}
	return r.read(ctx, answered{Reply: reply, Iteration: earlier.Last}, nil)
}
