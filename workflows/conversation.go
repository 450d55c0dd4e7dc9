package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
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
	Turns      int                            `json:"turns"`
	LastActive time.Time                      `json:"last_active,omitzero"`
	ListedAt   time.Time                      `json:"listed_at,omitzero"`
}

// continuedConversation is the input of a later run.
type continuedConversation struct {
	State *conversationState `json:"continued_state"`
}

type conversationRun struct {
	id     string
	state  conversationState
	agent  *agentRun // nil until the conversation is open
	failed error     // it cannot be opened
	turn   *turn     // that runs
	closed bool
}

func (r *conversationRun) execute(ctx workflow.Context, input converter.RawValue) error {
	info := workflow.GetInfo(ctx)
	r.id = InvestigationID(info.WorkflowExecution.ID, info.FirstRunID)
	if err := r.listen(ctx); err != nil {
		return err
	}
	if err := r.open(ctx, input); err != nil {
		r.failed = err
		_ = workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
		return err
	}
	r.note(ctx)
	for !r.closed {
		if err := r.idle(ctx); err != nil {
			return err
		}
		switch {
		case r.heartbeatDue(ctx):
			r.heartbeat(ctx)
		case r.renewable(ctx):
			return r.continueAsNew(ctx)
		}
	}
	return workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
}

// listen registers everything that reaches a conversation, before it first waits.
func (r *conversationRun) listen(ctx workflow.Context) error {
	err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateSend, r.send, workflow.UpdateHandlerOptions{
		Validator:   r.check,
		Description: `Say something and get the reply. Input: {"text": "…", "author": "…"}; one turn at a time.`,
	})
	if err != nil {
		return err
	}
	options := workflow.QueryHandlerOptions{Description: "Where the conversation stands."}
	if err := workflow.SetQueryHandlerWithOptions(ctx, QueryStatus, r.status, options); err != nil {
		return err
	}
	closing := workflow.GetSignalChannelWithOptions(ctx, SignalClose, workflow.SignalChannelOptions{Description: "End the conversation after the running turn."})
	workflow.Go(ctx, func(ctx workflow.Context) {
		closing.Receive(ctx, nil)
		r.closed = true
	})
	return nil
}

// open resolves the request, or takes over the state of the run before.
func (r *conversationRun) open(ctx workflow.Context, input converter.RawValue) error {
	info := workflow.GetInfo(ctx)
	if info.ContinuedExecutionRunID != "" {
		if err := converter.GetDefaultDataConverter().FromPayload(input.Payload(), &continuedConversation{&r.state}); err != nil {
			return fmt.Errorf("read the state of the run before: %w", err)
		}
	} else {
		in := activities.OpenConversationIn{Conversation: r.id, RunID: info.FirstRunID}
		err := workflow.ExecuteActivity(storeOptions(ctx, "agent and configuration"), act.OpenConversation, in).Get(ctx, &r.state.Opened)
		if err != nil {
			errorType, message := failure(err)
			return temporal.NewNonRetryableApplicationError(message, errorType, nil)
		}
	}
	skeleton := r.state.Opened.Agent
	ref := activities.Ref{Investigation: r.id, Execution: executionName(ConversationStage, skeleton.Name), Plan: r.state.Opened.Plan}
	r.agent = &agentRun{in: AgentInput{Ref: ref, Agent: skeleton}, state: r.state.Agent, turns: true}
	r.agent.signals = listen(ctx)
	r.agent.signals.serve(ctx, r.agent.handle)
	return r.agent.serveDecisions(ctx)
}

// idle waits until there is something to do besides answering, which the update's
// handler does.
func (r *conversationRun) idle(ctx workflow.Context) error {
	wanted := func() bool { return r.closed || r.renewable(ctx) }
	interval := r.state.Opened.Agent.HeartbeatInterval.D()
	if interval == 0 {
		return workflow.Await(ctx, wanted)
	}
	left := max(r.nextHeartbeat(interval).Sub(workflow.Now(ctx)), time.Second)
	active := r.state.LastActive
	_, err := workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
		Timeout: left, TimerOptions: workflow.TimerOptions{Summary: "next heartbeat"},
	}, func() bool { return wanted() || r.state.LastActive != active })
	return err
}

// nextHeartbeat is when the agent is called if nobody speaks and it has not paused.
func (r *conversationRun) nextHeartbeat(interval time.Duration) time.Time {
	next := r.state.LastActive.Add(interval)
	if until := r.agent.state.PausedUntil; until.After(next) {
		return until
	}
	return next
}

func (r *conversationRun) heartbeatDue(ctx workflow.Context) bool {
	interval := r.state.Opened.Agent.HeartbeatInterval.D()
	return interval > 0 && !r.closed && r.turn == nil && !r.state.LastActive.IsZero() && !r.nextHeartbeat(interval).After(workflow.Now(ctx))
}

// renewable: the history is long, and nothing is under way.
func (r *conversationRun) renewable(ctx workflow.Context) bool {
	return workflow.GetInfo(ctx).GetContinueAsNewSuggested() && r.turn == nil && workflow.AllHandlersFinished(ctx)
}

func (r *conversationRun) continueAsNew(ctx workflow.Context) error {
	r.agent.signals.drain(ctx, r.agent.handle)
	r.state.Agent = r.agent.state
	state, err := converter.GetDefaultDataConverter().ToPayload(continuedConversation{&r.state})
	if err != nil {
		return fmt.Errorf("write the state for the next run: %w", err)
	}
	return workflow.NewContinueAsNewError(ctx, Conversation, converter.NewRawValue(state))
}

func (r *conversationRun) status() (ConversationStatus, error) {
	out := ConversationStatus{ID: r.id, Turns: r.state.Turns, Open: r.agent != nil && !r.closed}
	if r.agent != nil {
		out.Agent, out.AgentStatus.Usage = r.agent.in.Agent.Name, r.agent.state.Usage
		out.AgentStatus, _ = r.agent.status()
	}
	if r.turn != nil {
		out.Answering = orText(r.turn.author, "somebody")
	}
	return out, nil
}

// note says in the Temporal UI that the agent waits for somebody to speak.
func (r *conversationRun) note(ctx workflow.Context) {
	text := fmt.Sprintf("%s · %d turn(s) · waits for the update `%s`", r.agent.in.Agent.Name, r.state.Turns, UpdateSend)
	if until := r.agent.state.PausedUntil; until.After(workflow.Now(ctx)) {
		text += " · heartbeats paused until " + until.UTC().Format(time.RFC3339)
	}
	workflow.SetCurrentDetails(ctx, text)
}
