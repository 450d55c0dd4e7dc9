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

// Conversation is a durable thread with an agent (spec: conversation). Its input is an
// agent.ConversationRequest, read by the activity OpenConversation. It ends when it is
// closed or cancelled. Until then it costs nothing while it is idle.
func Conversation(ctx workflow.Context, input converter.RawValue) error {
	run := conversationRun{}
	return run.execute(ctx, input)
}

// conversationState is the state that one run of a conversation hands to the next.
type conversationState struct {
	Opened     activities.OpenConversationOut `json:"opened"`
	Agent      agentState                     `json:"agent"`
	Paused     bool                           `json:"paused,omitempty"`
	Turns      int                            `json:"turns"`
	LastActive time.Time                      `json:"last_active"`
	ListedAt   time.Time                      `json:"listed_at,omitzero"`
	recordedStatus
	// Horizon is the last two multiples of horizonTurns turns, and the iterations that came next.
	Horizon [2]horizon `json:"horizon,omitzero"`
	// Last is the last answer, for a repeated request after this run has ended.
	Last *answered `json:"last,omitempty"`
}

type conversationRun struct {
	id      string
	state   conversationState
	agent   *agentRun // nil until the conversation is open
	failed  error     // it cannot be opened
	turn    *turn     // the running turn
	closing workflow.ReceiveChannel
	over    bool // it was closed
	records bool // turns and the end are recorded
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
	// Pending messages are answered before the conversation ends, even if it is cancelled.
	rest, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	_ = workflow.Await(rest, func() bool { return workflow.AllHandlersFinished(ctx) && r.recorded() })
	if r.agent != nil {
		r.recordEnd(rest)
		r.agent.listing.stop()
		r.agent.recordDecided(rest)
		r.agent.signals.awaitHandled(rest)
	}
	return err
}

// serve runs the conversation until it is closed, except the answers, which the update
// handler gives.
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

// listen registers all handlers of a conversation before it first waits.
func (r *conversationRun) listen(ctx workflow.Context) error {
	closing := workflow.SignalChannelOptions{Description: "End the conversation after the current turn."}
	r.closing = workflow.GetSignalChannelWithOptions(ctx, SignalClose, closing)
	send := update[Message, Reply]{
		UpdateSend, "Send a message and get the reply; one turn at a time. Input: " + sendInput,
		sendInput, reading[Message], r.check, r.send,
	}
	if err := send.serve(ctx); err != nil {
		return err
	}
	options := workflow.QueryHandlerOptions{Description: "The state of the conversation."}
	return workflow.SetQueryHandlerWithOptions(ctx, QueryStatus, r.status, options)
}

// closed reports whether the conversation was closed. It only checks for the signal, because a
// coroutine that receives it would run too late.
func (r *conversationRun) closed() bool { return r.over || r.closing.Len() > 0 }

// open resolves the request, or restores the state of the previous run.
func (r *conversationRun) open(ctx workflow.Context, input converter.RawValue) error {
	if err := startedOnce(ctx); err != nil {
		return temporal.NewNonRetryableApplicationError(err.Error(), activities.ErrorInvalidRequest, nil)
	}
	state, err := continuedState[conversationState](ctx, input)
	if err != nil {
		return err
	}
	r.records = workflow.GetVersion(ctx, versionRecordTurns, workflow.DefaultVersion, 1) != workflow.DefaultVersion
	if state != nil {
		r.state = *state
	} else if err := r.resolve(ctx); err != nil {
		return err
	}
	leaveNewer(r.state.Opened.PlanVersion)
	skeleton := r.state.Opened.Agent
	ref := activities.Ref{Investigation: r.id, Execution: executionName(ConversationStage, skeleton.Name), Plan: r.state.Opened.Plan}
	a := newAgentRun(AgentInput{
		Ref: ref, Agent: skeleton, Level: r.state.Opened.Level, Continued: &r.state.Agent, Steering: Steering{Paused: r.state.Paused},
	})
	a.turns, a.before = true, a.state.Iteration
	a.watch, a.signals = newWatch(ctx), listen(ctx, SignalClose)
	a.signals.trail = a.trail()
	r.agent = a
	r.recordWaits(ctx)
	return errors.Join(a.signals.serve(ctx, a.watch, a), a.approvals.serveDecisions(ctx))
}

// waits returns the agent's calls that wait for a person.
func (r *conversationRun) waits() record.Waits {
	if r.agent == nil {
		return record.Waits{}
	}
	return record.Waits{Approvals: r.agent.approvals.open()}
}

func (r *conversationRun) unrecorded() bool { return r.waits().Key() != r.state.Waits }

// recorded reports that the store has the current waits, or cannot be written now. During a write
// the waits may change again.
func (r *conversationRun) recorded() bool { return !r.unrecorded() || r.state.mute }

// recordWaits writes the waits to the store whenever they change. Nothing polls the conversation, so
// thousands of idle ones cost nothing.
func (r *conversationRun) recordWaits(ctx workflow.Context) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	r.agent.watch.whenever(ctx, r.unrecorded, func(ctx workflow.Context) {
		r.state.write(ctx, activities.SaveStatusIn{Investigation: r.id, Waits: r.waits()})
	})
}

// resolve obtains the conversation's plan.
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

// interval is the idle time after which the agent is called. Zero means never.
func (r *conversationRun) interval() time.Duration { return r.state.Opened.Agent.HeartbeatInterval.D() }

// nextHeartbeat is when the agent is called if there are no messages and it has not paused.
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

// renewable reports that the history is long and no work is in progress.
func (r *conversationRun) renewable(ctx workflow.Context) bool {
	idle := r.turn == nil && r.agent.signals.idle() && r.agent.listing.idle() && r.recorded() && workflow.AllHandlersFinished(ctx)
	return idle && !r.closed() && workflow.GetInfo(ctx).GetContinueAsNewSuggested()
}

// continueAsNew starts the next run with the current state.
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
		out.Answering = cmp.Or(r.turn.author, "someone")
	}
	return out, nil
}

// note shows in the Temporal UI that the agent waits for a message.
func (r *conversationRun) note(ctx workflow.Context) {
	r.agent.doing = ""
	text := fmt.Sprintf("**%s** · %s", r.agent.in.Agent.Name, record.Counted(r.state.Turns, "turn"))
	if until := r.agent.state.PausedUntil; until.After(workflow.Now(ctx)) {
		text += " · heartbeats paused until " + until.UTC().Format(time.RFC3339)
	}
	text += fmt.Sprintf("\n\nWaiting for a message: update `%s`, input `{\"text\": \"…\"}`. The signal `%s` ends the conversation.",
		UpdateSend, SignalClose)
	workflow.SetCurrentDetails(ctx, text)
}
