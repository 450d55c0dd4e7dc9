package workflows

import (
	"encoding/json"
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
)

// Steering is what people have asked for and what children that start later
// must know.
type Steering struct {
	Paused     bool `json:"paused,omitempty"`
	Concluding bool `json:"concluding,omitempty"`
	Late       bool `json:"late,omitempty"` // it concludes because its time is up
}

// A signal is what people ask for. All but guidance, which goes into the mail, is
// sent on from an investigation to its agents.
type signal struct {
	Name  string
	Guide Guide  // of SignalGuide
	Agent string // whom it is for; "" = everybody
	By    string
	// Minutes are of SignalPauseHeartbeats, clamped.
	Minutes int
	Late    bool // of SignalConclude
}

// payload is what the signal carries when it is sent on.
func (s signal) payload() any {
	switch s.Name {
	case SignalConclude, SignalResumeHeartbeats:
		return Conclude{Agent: s.Agent, By: s.By, Late: s.Late}
	case SignalPauseHeartbeats:
		return PauseHeartbeats{Minutes: &s.Minutes, Agent: s.Agent, By: s.By}
	}
	return nil
}

// apply changes the steering by a signal.
func (s *Steering) apply(sig signal) {
	switch sig.Name {
	case SignalPause:
		s.Paused = true
	case SignalResume:
		s.Paused = false
	case SignalConclude: // now, so also out of a pause
		s.Concluding, s.Paused, s.Late = true, false, s.Late || sig.Late
	}
}

// signals receives the steering signals of one workflow. One coroutine handles them,
// one after the other: none overtakes another one that waits for a child or the store.
type signals struct {
	channels []workflow.ReceiveChannel
	queue    []signal // the first is being handled
}

var descriptions = map[string]string{
	SignalPause:            "No further model call until resume. Running calls finish.",
	SignalResume:           "Go on after a pause.",
	SignalConclude:         `Finish now with what is known. Input: nothing, or {"agent": "…", "by": "…"} for one agent only.`,
	SignalPauseHeartbeats:  `Agents that have heartbeats sleep after their running calls. Input: {"minutes": 1–60, "agent": "…"}.`,
	SignalResumeHeartbeats: `Agents whose heartbeats are paused go on at once. Input: nothing, or {"agent": "…"}.`,
	SignalGuide:            `Put words before the agents' next model call. Input: {"text": "…", "agent": "…", "by": "…"}; without agent, all that run now, else the next.`,
}

// MaxGuide bounds the text of a guide signal, in bytes: it is in the history, and in
// a model call beside others.
const MaxGuide = 16 << 10

// listen registers the signals, with their descriptions.
func listen(ctx workflow.Context) *signals {
	s := &signals{}
	// Of those that arrive at once, words come first: what else is asked for may end who is to read them.
	for _, name := range []string{SignalGuide, SignalPause, SignalResume, SignalConclude, SignalPauseHeartbeats, SignalResumeHeartbeats} {
		options := workflow.SignalChannelOptions{Description: descriptions[name]}
		s.channels = append(s.channels, workflow.GetSignalChannelWithOptions(ctx, name, options))
	}
	return s
}

// serve hands every signal to handle, whatever becomes of ctx, until the workflow ends.
func (s *signals) serve(ctx workflow.Context, handle func(workflow.Context, signal)) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for workflow.Await(ctx, s.pending) == nil {
			s.receive()
		}
	})
	workflow.Go(ctx, func(ctx workflow.Context) {
		for workflow.Await(ctx, func() bool { return len(s.queue) > 0 }) == nil {
			handle(ctx, s.queue[0])
			s.queue = s.queue[1:]
		}
	})
}

// timeIsUp has the agents conclude, after what people have said before.
func (s *signals) timeIsUp() { s.queue = append(s.queue, signal{Name: SignalConclude, Late: true}) }

// idle: all that has arrived is handled.
func (s *signals) idle() bool { return len(s.queue) == 0 && !s.pending() }

// settle waits until all that has arrived is handled, whatever becomes of ctx.
func (s *signals) settle(ctx workflow.Context) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	_ = workflow.Await(ctx, s.idle)
}

func (s *signals) pending() bool {
	return slices.ContainsFunc(s.channels, func(c workflow.ReceiveChannel) bool { return c.Len() > 0 })
}

// receive puts what has arrived into the queue.
func (s *signals) receive() {
	for _, channel := range s.channels {
		var raw json.RawMessage
		for channel.ReceiveAsync(&raw) {
			s.queue = append(s.queue, parseSignal(channel.Name(), raw))
			raw = nil
		}
	}
}

// parseSignal reads a signal's payload. One that cannot be read leaves its
// fields empty: a signal cannot be refused and must not stop an investigation.
// A guide that is only a text is taken as its text.
func parseSignal(name string, raw json.RawMessage) signal {
	sig := signal{Name: name}
	switch name {
	case SignalGuide:
		if json.Unmarshal(raw, &sig.Guide.Text) != nil {
			_ = json.Unmarshal(raw, &sig.Guide)
		}
		sig.Agent, sig.By = sig.Guide.Agent, sig.Guide.By
	case SignalConclude, SignalResumeHeartbeats:
		var c Conclude
		_ = json.Unmarshal(raw, &c)
		sig.Agent, sig.By, sig.Late = c.Agent, c.By, c.Late
	case SignalPauseHeartbeats:
		var p PauseHeartbeats
		if json.Unmarshal(raw, &p) != nil {
			p.Minutes = nil
		}
		sig.Agent, sig.By, sig.Minutes = p.Agent, p.By, p.clamped()
	}
	sig.By = agent.CleanBy(sig.By)
	return sig
}

// refusal says why a signal cannot be used; "" = it can.
func (s signal) refusal() string {
	if s.Name != SignalGuide {
		return ""
	}
	if s.Guide.Text == "" {
		return `guide: no text: give {"text": "…"}`
	}
	if len(s.Guide.Text) > MaxGuide {
		return fmt.Sprintf("guide: %d bytes are more than the %d that a signal may carry", len(s.Guide.Text), MaxGuide)
	}
	if err := agent.CheckBy(s.Guide.By); err != nil {
		return "guide: " + err.Error()
	}
	return ""
}

// post puts what a guide says into the mail. why says that it cannot.
func (s signal) post(ctx workflow.Context, in activities.PostIn) (why string) {
	in.Agent, in.By, in.Text = s.Agent, s.By, []byte(s.Guide.Text)
	if err := workflow.ExecuteActivity(storeOptions(ctx, "guidance"), act.Post, in).Get(ctx, nil); err != nil {
		_, message := failure(err)
		return "guide: " + message
	}
	return ""
}

// wake is what a guide asks of agents that sleep.
func (s signal) wake() signal { return signal{Name: SignalResumeHeartbeats, Agent: s.Agent, By: s.By} }
