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
	"github.com/inquest-dev/inquest/internal/audit"
	"github.com/inquest-dev/inquest/internal/clip"
)

// Steering is what people have asked for, and what children that start later must know.
type Steering struct {
	Paused     bool `json:"paused,omitempty"`
	Concluding bool `json:"concluding,omitempty"`
	Late       bool `json:"late,omitempty"`  // it concludes because its time is up
	Sleep      int  `json:"sleep,omitempty"` // minutes, before the first call of an agent that has heartbeats
	// Raised, Held and Stand are those of Limits.
	Raised int  `json:"raised,omitempty"`
	Held   bool `json:"held,omitempty"`
	Stand  bool `json:"stand,omitempty"`
}

// passedOn is what a stage is told that begins now.
func (s Steering) passedOn() Steering {
	return Steering{Paused: s.Paused, Raised: s.Raised, Held: s.Held, Stand: s.Stand}
}

// A signal is what people ask for, by a signal or an update. All but guidance, which
// goes into the mail, is sent on from an investigation to its agents.
type signal struct {
	Name string
	Text string // of SignalGuide
	// Stage and Agent are whom it is for; "" = everybody.
	Stage, Agent string
	By           string
	// Minutes are of SignalPauseHeartbeats, clamped.
	Minutes int
	Late    bool // of SignalConclude
	SentOn  bool // by the workflow that has started this one
	Limits  Limits
	Mail    bool // of SignalResumeHeartbeats: there may be guidance to read
}

// payload is what the signal carries when it is sent on.
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

// apply changes the steering by a signal.
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
	// refuse says why a signal cannot be used now; "" = it can.
	refuse(signal) string
	// handle takes in a signal, or says why it came to nothing.
	handle(workflow.Context, signal) (t Taken, why string)
	// undelivered tells people why a signal came to nothing.
	undelivered(ctx workflow.Context, why string)
}

// signals receives what steers one workflow. All of it is handled in order, one after the
// other, so that no signal overtakes another that waits for a child or the store.
type signals struct {
	channels []workflow.ReceiveChannel
	known    []string
	queue    []*arrival // the first is being handled
	updates  int        // that wait for their answer
	trail    trail
	direct   int // acts that have come straight to this workflow
	telling  int // the audit trail of them
}

// arrival is a signal or an update in the queue.
type arrival struct {
	signal
	update bool
	why    string // it came to nothing
	taken  Taken
	done   bool
}

// ErrorNotTaken is the type of the error of an update that was valid, but came to nothing.
const ErrorNotTaken = "NotTaken"

// steers say what each signal does, with an example of its input, and how it is read. The text
// is put together here once: every workflow in a worker's cache holds all of them.
var steers = map[string]struct {
	does, input string
	read        func(converter.RawValue) (signal, error)
	act         audit.What // in the audit trail; the store itself tells of guidance
}{
	SignalPause:  {"No further model call until resume. Running calls finish. Input: " + byInput, byInput, readBy, audit.Paused},
	SignalResume: {"Go on after a pause. Input: " + byInput, byInput, readBy, audit.Resumed},
	SignalConclude: {"Finish now with what is known: all, or one stage or agent. Input: " + concludeInput,
		concludeInput, readConclude, audit.Concluded},
	SignalPauseHeartbeats: {"Agents that have heartbeats sleep after their running calls. Input: " + pauseInput,
		pauseInput, readPause, audit.Slept},
	SignalResumeHeartbeats: {"Agents whose heartbeats are paused go on at once. Input: " + concludeInput,
		concludeInput, readConclude, audit.Woken},
	SignalLimits: {"Internal: how the bounds of the investigation stand. Input: " + limitsInput, limitsInput, readLimits, ""},
	SignalGuide: {"Put words before the agents' next model call; without stage and agent, of all that run now, else of the next. " +
		"Input: " + guideInput, guideInput, readGuide, audit.Guided},
}

const (
	byInput       = `{"by": "…"}, or nothing`
	concludeInput = `{"stage": "…", "agent": "…", "by": "…"}, or nothing`
	pauseInput    = `{"minutes": 1–60, "stage": "…", "agent": "…", "by": "…"}, or nothing`
	guideInput    = `{"text": "…", "stage": "…", "agent": "…", "by": "…"}`
)

// steerNames are the names of all that steers. Of signals that arrive together, guidance is
// handled first: another one may end the agent that is to read it.
var steerNames = []string{
	SignalGuide, SignalPause, SignalResume, SignalConclude, SignalPauseHeartbeats, SignalResumeHeartbeats, SignalLimits,
}

// MaxGuide bounds the text of a guide signal, in bytes: it is in the history, and in
// a model call beside others.
const MaxGuide = 16 << 10

// listen registers the signals, with their descriptions. Others are the names of what
// the workflow itself receives.
func listen(ctx workflow.Context, others ...string) *signals {
	s := &signals{known: append(others, steerNames...), channels: make([]workflow.ReceiveChannel, 0, len(steerNames))}
	for _, name := range steerNames {
		options := workflow.SignalChannelOptions{Description: steers[name].does}
		s.channels = append(s.channels, workflow.GetSignalChannelWithOptions(ctx, name, options))
	}
	return s
}

// serve hands everything to w until the workflow ends, even if ctx is cancelled.
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
				s.tell(ctx, a.signal)
			}
		}
		if a.why != "" && !a.update {
			w.undelivered(ctx, fit(a.why, maxWhy))
		}
		a.done = true
	}
}

// serveUpdate registers what can be signalled as an update, which answers.
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

// answer puts an update into the queue, behind what came before it, and waits until it
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

// timeIsUp asks the agents to conclude, after all signals that have arrived.
func (s *signals) timeIsUp() {
	s.queue = append(s.queue, &arrival{signal: signal{Name: SignalConclude, Late: true}})
}

// idle: all that has arrived is handled, answered, and told.
func (s *signals) idle() bool { return len(s.queue)+s.updates+s.telling == 0 && !s.pending() }

// settle waits until all that has arrived is handled, whatever becomes of ctx.
func (s *signals) settle(ctx workflow.Context) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	_ = workflow.Await(ctx, s.idle)
}

func (s *signals) pending() bool {
	return slices.ContainsFunc(s.channels, func(c workflow.ReceiveChannel) bool { return c.Len() > 0 })
}

// unknown are the names of signals that have arrived and that nobody receives.
func (s *signals) unknown(ctx workflow.Context) (names []string) {
	for _, name := range workflow.GetUnhandledSignalNames(ctx) {
		if !slices.Contains(s.known, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// receive puts what has arrived into the queue.
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
			why := fmt.Sprintf("%s: there is no such signal; there are %s", clip.Text(name, 40), strings.Join(steerNames, ", "))
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

// readGuide takes what is only a text as its text.
func readGuide(value converter.RawValue) (signal, error) {
	var in Guide
	if readInput(value, &in.Text) == nil {
		return signal{Text: in.Text}, nil
	}
	in = Guide{}
	err := readInput(value, &in)
	return signal{Text: in.Text, Stage: in.Stage, Agent: in.Agent, By: in.By}, err
}

// refusal says why a signal cannot be used, whatever the workflow does; "" = it can.
func (s signal) refusal() string {
	switch {
	case s.Name == SignalGuide && strings.TrimSpace(s.Text) == "":
		return "guide: no text; the input is " + steers[SignalGuide].input
	case len(s.Text) > MaxGuide:
		return fmt.Sprintf("guide: %d bytes are more than the %d that guidance may have", len(s.Text), MaxGuide)
	}
	if err := agent.CheckBy(s.By); err != nil {
		return s.Name + ": " + err.Error()
	}
	return ""
}

// post puts what a guide says into the mail. why says that it cannot.
func (s signal) post(ctx workflow.Context, in activities.PostIn) (why string) {
	in.Agent, in.By, in.Text = s.Agent, s.By, []byte(s.Text)
	if err := storeStep(ctx, "guidance", act.Post, in, nil); err != nil {
		_, message := failure(err)
		return "guide: " + message
	}
	return ""
}

// wake is what a guide asks of agents that sleep, and, with mail, of those that wait for their sub-agents.
func (s signal) wake(mail bool) signal {
	return signal{Name: SignalResumeHeartbeats, Stage: s.Stage, Agent: s.Agent, By: s.By, Mail: mail}
}
