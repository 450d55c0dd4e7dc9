package workflows

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// Steering holds requests from people that also apply to children started later.
type Steering struct {
	Paused     bool `json:"paused,omitempty"`
	Concluding bool `json:"concluding,omitempty"`
	Late       bool `json:"late,omitempty"`  // it concludes because its time limit was reached
	Sleep      int  `json:"sleep,omitempty"` // minutes before the first call of an agent with heartbeats
	// Raised, Held and Stand are explained at Limits.
	Raised int  `json:"raised,omitempty"`
	Held   bool `json:"held,omitempty"`
	Stand  bool `json:"stand,omitempty"`
}

// passedOn returns the steering for a stage that starts now.
func (s Steering) passedOn() Steering {
	return Steering{Paused: s.Paused, Raised: s.Raised, Held: s.Held, Stand: s.Stand}
}

// A signal is a request from people, sent as a signal or an update. Guidance goes into the
// mail; all other signals are forwarded from an investigation to its agents.
type signal struct {
	Name string
	Text string // of SignalGuide
	// Stage and Agent name the recipients. Empty strings mean all.
	Stage, Agent string
	By           string
	// Minutes belongs to SignalPauseHeartbeats, clamped.
	Minutes int
	Late    bool // of SignalConclude
	SentOn  bool // by the parent workflow
	Limits  Limits
	Mail    bool // of SignalResumeHeartbeats: there may be guidance to read
}

// payload returns the input of the forwarded signal.
func (s signal) payload() any {
	switch s.Name {
	case SignalConclude, SignalResumeHeartbeats:
		return Conclude{Stage: s.Stage, Agent: s.Agent, By: s.By, Late: s.Late, Mail: s.Mail, SentOn: s.SentOn}
	case SignalPauseHeartbeats:
		return PauseHeartbeats{Minutes: &s.Minutes, Stage: s.Stage, Agent: s.Agent, By: s.By, SentOn: s.SentOn}
	case SignalLimits:
		return s.Limits
	}
	if s.SentOn {
		return By{By: s.By, SentOn: true}
	}
	return nil
}

// apply updates the steering with a signal.
func (s *Steering) apply(sig signal) {
	switch sig.Name {
	case SignalPause:
		s.Paused = true
	case SignalResume:
		s.Paused = false
	case SignalConclude: // now, so also out of a pause
		s.Concluding, s.Paused, s.Held, s.Late = true, false, false, s.Late || sig.Late
	case SignalLimits:
		s.limits(sig.Limits)
	}
}

// steered is a workflow that people steer.
type steered interface {
	// refuse says why a signal cannot be accepted now. It returns an empty string if it can.
	refuse(signal) string
	// handle applies a signal, or says why it cannot.
	handle(workflow.Context, signal) (t Taken, why string)
	// undelivered reports to people why a signal was not delivered.
	undelivered(ctx workflow.Context, why string)
}

// signals receives the signals and updates of one workflow. It handles them one at a time, in
// order, so that none overtakes another that waits for a child or the store.
type signals struct {
	channels []workflow.ReceiveChannel
	known    []string
	queue    []*arrival // the first entry is being handled
	updates  int        // updates that wait for their reply
	trail    trail
	direct   int // acts sent directly to this workflow
	auditing int // writes of them to the audit trail in progress
}

// arrival is a signal or an update in the queue.
type arrival struct {
	signal
	update bool
	why    string // why it was not delivered
	taken  Taken
	done   bool
}

// ErrorNotTaken is the error type of an update that was valid but could not be applied.
const ErrorNotTaken = "NotTaken"

// ErrorNotPending is the error type of an answer or decision that nothing waits for: it is too late.
const ErrorNotPending = "NotPending"

// steers holds the description, an example input and the reader of each signal. The descriptions
// are built once here, because every workflow in a worker's cache refers to them.
var steers = map[string]struct {
	does, input string
	read        func(converter.RawValue) (signal, error)
	act         audit.What // in the audit trail; the store itself records guidance
}{
	SignalPause:  {"Make no more model calls until resumed. Running calls finish. Input: " + byInput, byInput, readBy, audit.Paused},
	SignalResume: {"Continue after a pause. Input: " + byInput, byInput, readBy, audit.Resumed},
	SignalConclude: {"Finish now with the results so far: all agents, or one stage or agent. Input: " + concludeInput,
		concludeInput, readConclude, audit.Concluded},
	SignalPauseHeartbeats: {"Pause the heartbeats of agents after their running calls. Input: " + pauseInput,
		pauseInput, readPause, audit.Slept},
	SignalResumeHeartbeats: {"Wake agents whose heartbeats are paused. Input: " + concludeInput,
		concludeInput, readConclude, audit.Woken},
	SignalLimits: {"Internal: the current state of the investigation's bounds. Input: " + limitsInput, limitsInput, readLimits, ""},
	SignalGuide: {"Send guidance, which the agents see before their next model call. Without stage and agent: all running agents, or " +
		"else the next one. Input: " + guideInput, guideInput, readGuide, audit.Guided},
}

const (
	byInput       = `{"by": "…"}, or nothing`
	concludeInput = `{"stage": "…", "agent": "…", "by": "…"}, or nothing`
	pauseInput    = `{"minutes": 1–60, "stage": "…", "agent": "…", "by": "…"}, or nothing`
	guideInput    = `{"text": "…", "stage": "…", "agent": "…", "by": "…"}`
)

// steerNames lists the signals that steer. Among signals that arrive together, guidance is
// handled first, because another one may end the agent that should read it.
var steerNames = []string{
	SignalGuide, SignalPause, SignalResume, SignalConclude, SignalPauseHeartbeats, SignalResumeHeartbeats, SignalLimits,
}

// MaxGuide bounds the text of a guide signal, in bytes. The text is in the history, and in
// a model call next to other texts.
const MaxGuide = agent.MaxGuide

// listen registers the signals, with their descriptions. others names the signals that
// the workflow receives itself.
func listen(ctx workflow.Context, others ...string) *signals {
	s := &signals{known: append(others, steerNames...), channels: make([]workflow.ReceiveChannel, 0, len(steerNames))}
	for _, name := range steerNames {
		options := workflow.SignalChannelOptions{Description: steers[name].does}
		s.channels = append(s.channels, workflow.GetSignalChannelWithOptions(ctx, name, options))
	}
	return s
}

// serve passes all signals and updates to w until the workflow ends, even if ctx is cancelled.
func (s *signals) serve(ctx workflow.Context, watch *watch, w steered) error {
	for _, name := range steerNames {
		if err := s.serveUpdate(ctx, name, w); err != nil {
			return err
		}
	}
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	watch.whenever(ctx, func() bool { return s.pending() || len(s.unknown(ctx)) > 0 }, s.receive)
	watch.whenever(ctx, func() bool { return len(s.queue) > 0 }, func(ctx workflow.Context) { s.handle(ctx, w) })
	return nil
}

// handle empties the queue.
func (s *signals) handle(ctx workflow.Context, w steered) {
	for ; len(s.queue) > 0; s.queue = s.queue[1:] {
		a := s.queue[0]
		if a.why = cmp.Or(a.why, a.refusal(), w.refuse(a.signal)); a.why == "" {
			if a.taken, a.why = w.handle(ctx, a.signal); a.why == "" {
				s.recordSignal(ctx, a.signal)
			}
		}
		if a.why != "" && !a.update {
			w.undelivered(ctx, fit(a.why, maxWhy))
		}
		a.done = true
	}
}

// serveUpdate registers the update of the same name as a signal. Unlike the signal, it returns a reply.
func (s *signals) serveUpdate(ctx workflow.Context, name string, w steered) error {
	read := func(value converter.RawValue) (signal, error) { return readSignal(name, value) }
	check := func(sig signal) error {
		if why := cmp.Or(sig.refusal(), w.refuse(sig)); why != "" {
			return errors.New(why)
		}
		return nil
	}
	return update[signal, Taken]{name, steers[name].does, steers[name].input, read, check, s.answer}.serve(ctx)
}

// answer appends an update to the queue, behind earlier arrivals, and waits until it
// is handled.
func (s *signals) answer(ctx workflow.Context, sig signal) (Taken, error) {
	s.updates++
	defer func() { s.updates-- }()
	s.receive(ctx)
	a := &arrival{signal: sig, update: true}
	s.queue = append(s.queue, a)
	wait, _ := workflow.NewDisconnectedContext(ctx)
	if err := workflow.Await(wait, func() bool { return a.done }); err != nil {
		return Taken{}, err
	}
	if a.why != "" {
		return Taken{}, temporal.NewNonRetryableApplicationError(fit(a.why, maxWhy), ErrorNotTaken, nil)
	}
	return a.taken, nil
}

// timeIsUp asks the agents to conclude, after all signals that have already arrived.
func (s *signals) timeIsUp() {
	s.queue = append(s.queue, &arrival{signal: signal{Name: SignalConclude, Late: true}})
}

// idle reports that everything received is handled, answered and recorded.
func (s *signals) idle() bool { return len(s.queue)+s.updates+s.auditing == 0 && !s.pending() }

// awaitHandled waits until everything received is handled, even if ctx is cancelled.
func (s *signals) awaitHandled(ctx workflow.Context) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	_ = workflow.Await(ctx, s.idle)
}

func (s *signals) pending() bool {
	return slices.ContainsFunc(s.channels, func(c workflow.ReceiveChannel) bool { return c.Len() > 0 })
}

// unknown returns the names of received signals that no handler knows.
func (s *signals) unknown(ctx workflow.Context) (names []string) {
	for _, name := range workflow.GetUnhandledSignalNames(ctx) {
		if !slices.Contains(s.known, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// receive appends newly arrived signals to the queue.
func (s *signals) receive(ctx workflow.Context) {
	for _, channel := range s.channels {
		var value converter.RawValue
		for channel.ReceiveAsync(&value) {
			name, a := channel.Name(), &arrival{}
			var err error
			if a.signal, err = readSignal(name, value); err != nil {
				a.why = wrongInput(name, steers[name].input, err).Error()
			}
			s.queue, value = append(s.queue, a), converter.RawValue{}
		}
	}
	for _, name := range s.unknown(ctx) {
		for channel := workflow.GetSignalChannel(ctx, name); channel.ReceiveAsync(new(converter.RawValue)); {
			why := fmt.Sprintf("unknown signal %q; available: %s", clip.Text(name, 40), strings.Join(steerNames, ", "))
			s.queue = append(s.queue, &arrival{why: why})
		}
	}
}

// readSignal reads the input of a signal or an update.
func readSignal(name string, value converter.RawValue) (signal, error) {
	sig, err := steers[name].read(value)
	sig.Name = name
	return sig, err
}

func readBy(value converter.RawValue) (signal, error) {
	in, err := reading[By](value)
	return signal{By: in.By, SentOn: in.SentOn}, err
}

func readConclude(value converter.RawValue) (signal, error) {
	in, err := reading[Conclude](value)
	return signal{Stage: in.Stage, Agent: in.Agent, By: in.By, Late: in.Late, Mail: in.Mail, SentOn: in.SentOn}, err
}

func readPause(value converter.RawValue) (signal, error) {
	in, err := reading[PauseHeartbeats](value)
	return signal{Stage: in.Stage, Agent: in.Agent, By: in.By, Minutes: in.clamped(), SentOn: in.SentOn}, err
}

func readLimits(value converter.RawValue) (signal, error) {
	in, err := reading[Limits](value)
	return signal{Limits: in}, err
}

// readGuide reads a Guide. It also accepts a plain string as the text.
func readGuide(value converter.RawValue) (signal, error) {
	var in Guide
	if readInput(value, &in.Text) == nil {
		return signal{Text: in.Text}, nil
	}
	in = Guide{}
	err := readInput(value, &in)
	return signal{Text: in.Text, Stage: in.Stage, Agent: in.Agent, By: in.By}, err
}

// refusal says why a signal is invalid in any workflow. It returns an empty string if it is valid.
func (s signal) refusal() string {
	switch {
	case s.Name == SignalGuide && strings.TrimSpace(s.Text) == "":
		return "guide: no text; expected input: " + steers[SignalGuide].input
	case len(s.Text) > MaxGuide:
		return fmt.Sprintf("guide: %d bytes exceed the limit of %d", len(s.Text), MaxGuide)
	}
	if err := agent.CheckBy(s.By); err != nil {
		return s.Name + ": " + err.Error()
	}
	return ""
}

// post writes guidance to the mail. It returns why it could not.
func (s signal) post(ctx workflow.Context, in activities.PostIn) (why string) {
	in.Agent, in.By, in.Text = s.Agent, s.By, []byte(s.Text)
	if err := storeStep(ctx, "guidance", act.Post, in, nil); err != nil {
		_, message := failure(err)
		return "guide: " + message
	}
	return ""
}

// wake returns the signal that wakes sleeping agents for new guidance. With mail, it also wakes agents
// that wait for their sub-agents.
func (s signal) wake(mail bool) signal {
	return signal{Name: SignalResumeHeartbeats, Stage: s.Stage, Agent: s.Agent, By: s.By, Mail: mail}
}
