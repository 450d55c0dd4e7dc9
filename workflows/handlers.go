package workflows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// update is an update handler of a workflow: it rejects or answers a request.
type update[In, Out any] struct {
	name  string
	does  string // with an example of the input
	input string
	read  func(converter.RawValue) (In, error)
	check func(In) error
	take  func(workflow.Context, In) (Out, error)
}

// reading decodes an input strictly. The SDK's decoder accepts unknown fields, and its errors
// use Go terms.
func reading[In any](value converter.RawValue) (in In, err error) {
	err = readInput(value, &in)
	return in, err
}

// serve registers the update.
func (u update[In, Out]) serve(ctx workflow.Context) error {
	validate := func(value converter.RawValue) error {
		in, err := u.read(value)
		if err != nil {
			return wrongInput(u.name, u.input, err)
		}
		if err := u.check(in); err != nil {
			text := fit(err.Error(), maxWhy)
			if errors.As(err, new(*notPendingError)) {
				return temporal.NewNonRetryableApplicationError(text, ErrorNotPending, nil)
			}
			return errors.New(text)
		}
		return nil
	}
	take := func(ctx workflow.Context, value converter.RawValue) (out Out, err error) {
		in, err := u.read(value)
		if err != nil {
			return out, err
		}
		return u.take(ctx, in)
	}
	options := workflow.UpdateHandlerOptions{Validator: validate, Description: u.does}
	return workflow.SetUpdateHandlerWithOptions(ctx, u.name, take, options)
}

// notPendingError rejects an answer or a decision that nothing waits for.
type notPendingError struct{ text string }

func (e *notPendingError) Error() string { return e.text }

func notPending(format string, args ...any) error {
	return &notPendingError{fmt.Sprintf(format, args...)}
}

// wrongInput returns an error that explains an invalid input and shows the expected one.
func wrongInput(name, input string, err error) error {
	return fmt.Errorf("%s: %v; expected input: %s", name, err, input) // flat: Temporal's CLI prints causes, too
}

// readInput decodes an input from a person. An empty input leaves into unchanged. Errors
// contain names of fields, never their values.
func readInput(value converter.RawValue, into any) error {
	var raw json.RawMessage
	if payload := value.Payload(); payload != nil {
		if err := converter.GetDefaultDataConverter().FromPayload(payload, &raw); err != nil {
			return errors.New("the input is not JSON")
		}
	}
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || string(raw) == "null" || string(raw) == `""`: // the Temporal UI sends an empty text for nothing
		return nil
	case !json.Valid(raw):
		return errors.New("the input is not JSON")
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		what := "the input"
		if wrong.Field != "" {
			what = fmt.Sprintf("%q", clip.Text(wrong.Field, 40))
		}
		if kind, digits, _ := strings.Cut(wrong.Value, " "); digits == "" {
			return fmt.Errorf("%s has the wrong type: %s", what, kind)
		}
		return fmt.Errorf("%s must not be this number", what) // a fraction, or too large
	}
	if err != nil {
		return errors.New(clip.Text(strings.TrimPrefix(err.Error(), "json: "), 100)) // unknown field "…"
	}
	return nil
}

// watch waits for all events that may arrive while a workflow does something else: signals, changes to
// report, the end of its time. A coroutine holds a goroutine and its stack for as long as the
// workflow is in its worker's cache. So one coroutine waits for everything, and others live only
// while they have work.
type watch struct{ watched []*watched }

type watched struct {
	ctx  workflow.Context
	due  func() bool
	busy bool
	do   func(workflow.Context)
}

// newWatch watches until the workflow ends, even if ctx is cancelled.
func newWatch(ctx workflow.Context) *watch {
	w := &watch{}
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for workflow.Await(ctx, w.due) == nil {
			w.begin()
		}
	})
	return w
}

// whenever does something each time it is due, one time after the other, until ctx ends.
func (w *watch) whenever(ctx workflow.Context, due func() bool, do func(workflow.Context)) {
	w.watched = append(w.watched, &watched{ctx: ctx, due: due, do: do})
}

func (w *watch) due() bool { return slices.ContainsFunc(w.watched, (*watched).ready) }

func (w *watch) begin() {
	w.watched = slices.DeleteFunc(w.watched, func(one *watched) bool { return one.ctx.Err() != nil })
	for _, one := range w.watched {
		if !one.ready() {
			continue
		}
		one.busy = true
		workflow.Go(one.ctx, func(ctx workflow.Context) {
			one.do(ctx)
			one.busy = false
		})
	}
}

func (one *watched) ready() bool { return !one.busy && one.ctx.Err() == nil && one.due() }

// trail identifies the workflow in audit entries about signals sent directly to it. With the zero value it writes none.
// An investigation writes its entries together with its status instead.
type trail struct {
	investigation, plan string
	// execution is the agent's, or the stage's name.
	execution string
}

// trail returns the trail of a stage.
func (r *stageRun) trail() trail {
	if r.in.Level < activities.LevelDirect {
		return trail{}
	}
	return trail{r.in.Investigation, r.in.Plan, r.in.Stage.Name}
}

func (r *agentRun) trail() trail {
	if r.in.Level < activities.LevelDirect {
		return trail{}
	}
	return trail{r.in.Ref.Investigation, r.in.Ref.Plan, r.in.Ref.Execution}
}

// steered returns the audit entry for a handled signal.
func (s signal) steered() audit.Act {
	minutes := strings.TrimPrefix(strconv.Itoa(s.Minutes), "0")
	return audit.Act{What: steers[s.Name].act, Who: s.By, Detail: audit.Detail("stage", s.Stage, "agent", s.Agent, "minutes", minutes)}
}

// recordSignal writes a signal to the audit trail in the background, so an unavailable store does not delay a resume.
// The store itself records guidance.
func (s *signals) recordSignal(ctx workflow.Context, sig signal) {
	done := sig.steered()
	if s.trail == (trail{}) || sig.SentOn || sig.Late || done.What == "" || done.What == audit.Guided {
		return
	}
	s.direct++
	s.auditing++
	done.Investigation, done.Execution, done.At, done.Key = s.trail.investigation, s.trail.execution, workflow.Now(ctx), strconv.Itoa(s.direct)
	workflow.Go(ctx, func(ctx workflow.Context) {
		defer func() { s.auditing-- }()
		in := activities.TellIn{Plan: s.trail.plan, Acts: []audit.Act{done}}
		if err := storeStep(ctx, "the audit trail", act.Tell, in, nil); err != nil {
			workflow.GetLogger(ctx).Warn("could not write an action to the audit trail", "act", done.What, "error", err)
		}
	})
}
