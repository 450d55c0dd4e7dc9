package workflows

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/record"
)

// Conversation is a durable thread with an agent (spec: conversation). Its input
// is an agent.ConversationRequest, read by the activity OpenConversation. It ends
// when somebody closes or cancels it; until then it costs nothing while nobody speaks.
func Conversation(ctx workflow.Context, input converter.RawValue) error {
	run := conversationRun{}
	return run.execute(ctx, input)
}

// conversationState is what a conversation carries from one of its runs to the next.
type conversationState struct {
	Opened     activities.OpenConversationOut `json:"opened"`
	Agent      agentState                     `json:"agent"`
	Paused     bool                           `json:"paused,omitempty"`
	Turns      int                            `json:"turns"`
	LastActive time.Time                      `json:"last_active"`
	ListedAt   time.Time                      `json:"listed_at,omitzero"`
	told
	// Last is the last answer, for who asks again after this run has ended.
	Last *answered `json:"last,omitempty"`
}

type conversationRun struct {
	id      string
	state   conversationState
	agent   *agentRun // nil until the conversation is open
	failed  error     // it cannot be opened
	turn    *turn     // that runs
	closing workflow.ReceiveChannel
	over    bool // it was closed
}

func (r *conversationRun) execute(ctx workflow.Context, input converter.RawValue) error {
	info := workflow.GetInfo(ctx)
	r.id = InvestigationID(info.WorkflowExecution.ID, info.FirstRunID)
	if err := r.listen(ctx); err != nil {
		return err
	}
	err := r.open(ctx, input)
	if r.failed = err; err == nil {
		err = r.serve(ctx)
	}
	if workflow.IsContinueAsNewError(err) {
		return err
	}
	// Who has spoken is answered before the conversation ends, however it ends.
	rest, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	_ = workflow.Await(rest, func() bool { return workflow.AllHandlersFinished(ctx) && r.settled() })
	if r.agent != nil {
		r.agent.listing.stop()
		r.agent.signals.settle(rest)
	}
	return err
}

// serve runs the conversation until it is closed, all but the answers: those are the
// update handler's.
func (r *conversationRun) serve(ctx workflow.Context) error {
	r.note(ctx)
	for !r.closed() {
		if err := r.idle(ctx); err != nil {
			return err
		}
		switch {
		case r.renewable(ctx):
			return r.continueAsNew(ctx)
		case r.heartbeatDue(ctx):
			r.heartbeat(ctx)
		}
	}
	r.over = r.closing.ReceiveAsync(nil)
	return nil
}

const sendInput = `{"text": "…", "author": "…"}`

// listen registers everything that reaches a conversation, before it first waits.
func (r *conversationRun) listen(ctx workflow.Context) error {
	closing := workflow.SignalChannelOptions{Description: "End the conversation after the running turn."}
	r.closing = workflow.GetSignalChannelWithOptions(ctx, SignalClose, closing)
	send := update[Message, Reply]{
		UpdateSend, "Say something and get the reply; one turn at a time. Input: " + sendInput, sendInput, reading[Message], r.check, r.send,
	}
	if err := send.serve(ctx); err != nil {
		return err
	}
	options := workflow.QueryHandlerOptions{Description: "Where the conversation stands."}
	return workflow.SetQueryHandlerWithOptions(ctx, QueryStatus, r.status, options)
}

// closed: somebody has ended the conversation. The signal is only looked at, because a
// coroutine that receives it would run too late.
func (r *conversationRun) closed() bool { return r.over || r.closing.Len() > 0 }

// open resolves the request, or takes over the state of the run before.
func (r *conversationRun) open(ctx workflow.Context, input converter.RawValue) error {
	if err := startedOnce(ctx); err != nil {
		return temporal.NewNonRetryableApplicationError(err.Error(), activities.ErrorInvalidRequest, nil)
	}
	state, err := continuedState[conversationState](ctx, input)
	if err != nil {
		return err
	}
	if state != nil {
		r.state = *state
	} else if err := r.resolve(ctx); err != nil {
		return err
	}
	leaveNewer(r.state.Opened.PlanVersion)
	skeleton := r.state.Opened.Agent
	ref := activities.Ref{Investigation: r.id, Execution: executionName(ConversationStage, skeleton.Name), Plan: r.state.Opened.Plan}
	in := AgentInput{Ref: ref, Agent: skeleton, Level: r.state.Opened.Level}
	a := &agentRun{in: in, state: r.state.Agent, turns: true, before: r.state.Agent.Iteration}
	a.steering.Paused = r.state.Paused
	a.watch, a.signals = newWatch(ctx), listen(ctx, SignalClose)
	a.signals.trail = a.trail()
	r.agent = a
	r.tellWaits(ctx)
	return errors.Join(a.signals.serve(ctx, a.watch, a), a.serveDecisions(ctx))
}

// waits are the agent's calls that wait for a person.
func (r *conversationRun) waits() record.Waits {
	if r.agent == nil {
		return record.Waits{}
	}
	return record.Waits{Approvals: r.agent.approvals.open()}
}

func (r *conversationRun) untold() bool { return r.waits().Key() != r.state.Waits }

// settled: the store knows what waits, or cannot be told now. While it is being told, it may
// come to know something else than what waits by then.
func (r *conversationRun) settled() bool { return !r.untold() || r.state.mute }

// tellWaits has the store say what waits for a person, whenever that changes: thousands of
// conversations that are idle are not asked.
func (r *conversationRun) tellWaits(ctx workflow.Context) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	r.agent.watch.whenever(ctx, r.untold, func(ctx workflow.Context) {
		r.state.tell(ctx, activities.SaveStatusIn{Investigation: r.id, Waits: r.waits()})
	})
}

// resolve asks for the plan that the conversation is held by.
func (r *conversationRun) resolve(ctx workflow.Context) error {
	in := activities.OpenConversationIn{Conversation: r.id, RunID: workflow.GetInfo(ctx).FirstRunID}
	err := storeStep(ctx, "agent and configuration", act.OpenConversation, in, &r.state.Opened)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		errorType, message := failure(err)
		return temporal.NewNonRetryableApplicationError(message, errorType, nil)
	}
	r.state.LastActive = workflow.Now(ctx)
	return workflow.UpsertMemo(ctx, map[string]any{MemoAgent: r.state.Opened.Agent.Name})
}

// idle waits until there is something to do besides answering.
func (r *conversationRun) idle(ctx workflow.Context) error {
	interval := r.interval()
	wanted := func() bool { return r.closed() || r.renewable(ctx) }
	if interval == 0 || r.turn != nil {
		return workflow.Await(ctx, func() bool { return wanted() || interval > 0 && r.turn == nil })
	}
	next := r.nextHeartbeat()
	left := next.Sub(workflow.Now(ctx))
	if left <= 0 {
		return nil
	}
	_, err := workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
		Timeout: left, TimerOptions: workflow.TimerOptions{Summary: "next heartbeat"},
	}, func() bool { return wanted() || r.turn != nil || !r.nextHeartbeat().Equal(next) })
	return err
}

// interval is how long nobody speaks before the agent is called; 0 = it never is.
func (r *conversationRun) interval() time.Duration { return r.state.Opened.Agent.HeartbeatInterval.D() }

// nextHeartbeat is when the agent is called if nobody speaks and it has not paused.
func (r *conversationRun) nextHeartbeat() time.Time {
	next := r.state.LastActive.Add(r.interval())
	if until := r.agent.state.PausedUntil; until.After(next) {
		return until
	}
	return next
}

func (r *conversationRun) heartbeatDue(ctx workflow.Context) bool {
	return r.interval() > 0 && !r.closed() && r.turn == nil && !r.nextHeartbeat().After(workflow.Now(ctx))
}

// renewable: the history is long, and nothing is under way.
func (r *conversationRun) renewable(ctx workflow.Context) bool {
	idle := r.turn == nil && r.agent.signals.idle() && r.agent.listing.idle() && r.settled() && workflow.AllHandlersFinished(ctx)
	return idle && !r.closed() && workflow.GetInfo(ctx).GetContinueAsNewSuggested()
}

// continueAsNew starts the next run where this one stands.
func (r *conversationRun) continueAsNew(ctx workflow.Context) error {
	r.state.Agent, r.state.Paused = r.agent.state, r.agent.steering.Paused
	state, err := converter.GetDefaultDataConverter().ToPayload(continued[conversationState]{&r.state})
	if err != nil {
		return fmt.Errorf("write the state for the next run: %w", err)
	}
	return workflow.NewContinueAsNewError(ctx, Conversation, converter.NewRawValue(state))
}

func (r *conversationRun) status() (ConversationStatus, error) {
	out := ConversationStatus{ID: r.id, Turns: r.state.Turns, Open: r.agent != nil && !r.closed()}
	if r.agent != nil {
		out.Agent = r.agent.in.Agent.Name
		out.AgentStatus, _ = r.agent.status()
		out.Waiting, out.AgentStatus.Waiting = out.AgentStatus.Waiting, nil
	}
	if r.turn != nil {
		out.Answering = cmp.Or(r.turn.author, "somebody")
	}
	return out, nil
}

// note says in the Temporal UI that the agent waits for somebody to speak.
func (r *conversationRun) note(ctx workflow.Context) {
	r.agent.doing = ""
	text := fmt.Sprintf("**%s** · %d turn(s)", r.agent.in.Agent.Name, r.state.Turns)
	if until := r.agent.state.PausedUntil; until.After(workflow.Now(ctx)) {
		text += " · heartbeats paused until " + until.UTC().Format(time.RFC3339)
	}
	text += fmt.Sprintf("\n\nWaits for somebody to speak: update `%s`, input `{\"text\": \"…\"}`. The signal `%s` ends the conversation.",
		UpdateSend, SignalClose)
	workflow.SetCurrentDetails(ctx, text)
}
