package activities_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/circuit"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// circuitBench is a bench with circuits, whose model ends each call as the test says.
type circuitBench struct {
	*bench
	iteration int
}

func newCircuitBench(t *testing.T) *circuitBench {
	b := &circuitBench{bench: newBench(t)}
	b.act.Circuits = b.store
	return b
}

// call makes a model call that would end with end, and returns whether it was made and how it ended.
func (b *circuitBench) call(provider int, end error) (made bool, said activities.Trouble, errorType string) {
	b.t.Helper()
	before := len(b.requests)
	b.reply = func(llm.Request) (llm.Response, error) {
		return llm.Response{Content: "x", Finish: llm.FinishStop}, end
	}
	b.iteration++
	_, err := b.generate(activities.GenerateIn{Iteration: b.iteration, Try: 1, Provider: provider})
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		errorType = failed.Type()
		if err := failed.Details(&said); err != nil {
			b.t.Error(err)
		}
	}
	return len(b.requests) > before, said, errorType
}

var first = circuit.Key{Provider: "p", Model: "gpt-4o"}

func (b *circuitBench) state() circuit.State {
	b.t.Helper()
	state, _, err := b.store.Circuit(b.t.Context(), first)
	if err != nil {
		b.t.Fatal(err)
	}
	return state
}

// due moves the time to the next probe.
func (b *circuitBench) due() {
	b.t.Helper()
	if err := b.store.ChangeCircuit(b.t.Context(), first, func(s *circuit.State, now time.Time) { s.Next = now }); err != nil {
		b.t.Fatal(err)
	}
}

func fails(kind error, status int) error {
	return &llm.Error{Kind: kind, Provider: "p", Status: status}
}

// An error that means a model is down opens its circuit. An error that says nothing about the model does not, and a
// refusal because of the content counts as an answer.
func TestWhatOpensACircuit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end   error
		opens bool
		alive bool
	}{
		"away":             {end: fails(llm.ErrUnavailable, 503), opens: true},
		"a stall":          {end: fails(llm.ErrStalled, 0), opens: true},
		"a partial stream": {end: fails(llm.ErrTruncated, 0), opens: true},
		"nonsense":         {end: fails(llm.ErrMalformed, 200), opens: true},
		"a rate limit":     {end: fails(llm.ErrRateLimited, 429), opens: true},
		"a refused key":    {end: fails(llm.ErrAuth, 401), opens: true},
		"no credit":        {end: fails(llm.ErrQuotaExhausted, 402), opens: true},
		"no key here":      {end: fails(llm.ErrNoKey, 0)},
		"not sent":         {end: fails(llm.ErrInvalidRequest, 0)},
		"too long":         {end: fails(llm.ErrContextTooLong, 400), alive: true},
		"filtered":         {end: fails(llm.ErrContentFiltered, 0), alive: true},
		"an answer":        {alive: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newCircuitBench(t)
			for range 3 {
				if made, _, _ := b.call(0, tt.end); !made {
					t.Fatal("it was not asked")
				}
			}
			if s := b.state(); s.Open() != tt.opens || tt.opens != (s.Failures == 3) || tt.alive && s.Failures > 0 {
				t.Errorf("state %+v", s)
			}
		})
	}
}

// A call that the open circuit prevents costs nothing, leaves no try in the transcript, and says when to come back.
// Another model is used meanwhile, and a probe that is answered closes the circuit.
func TestOpenCircuit(t *testing.T) {
	t.Parallel()
	b := newCircuitBench(t)
	for range 3 {
		b.call(0, fails(llm.ErrUnavailable, 503))
	}
	before := len(b.log(t))
	made, said, errorType := b.call(0, nil)
	if made || !said.Open || said.Provider != "p" || said.RetryAfter.D() <= 0 || said.RetryAfter.D() > 10*time.Second ||
		errorType != activities.ErrorModelUnavailable {
		t.Errorf("made %t, %+v, %s", made, said, errorType)
	}
	if after := len(b.log(t)); after != before {
		t.Errorf("%d new entries", after-before)
	}
	if made, _, _ := b.call(1, nil); !made {
		t.Error("the other model was not asked")
	}
	b.due()
	if made, _, _ := b.call(0, fails(llm.ErrStalled, 0)); !made || !b.state().Open() || b.state().Probes != 1 {
		t.Errorf("a probe that fails: made %t, %+v", made, b.state())
	}
	b.due()
	if made, _, _ := b.call(0, fails(llm.ErrContextTooLong, 400)); !made || b.state().Open() {
		t.Errorf("a probe that is refused: made %t, %+v", made, b.state())
	}
	if made, _, _ := b.call(0, nil); !made {
		t.Error("the circuit is closed, and the model was not asked")
	}
}

// A provider fails for one conversation while it answers others. That conversation gets the provider's error, the
// circuit stays closed, and no other conversation waits.
func TestSickConversation(t *testing.T) {
	t.Parallel()
	b := newCircuitBench(t)
	others := 0
	answer := func() {
		others++
		by := circuit.Conversation{Investigation: "other", Execution: fmt.Sprint(others)}
		change := func(s *circuit.State, now time.Time) { s.Answered(now, by) }
		if err := b.store.ChangeCircuit(t.Context(), first, change); err != nil {
			t.Fatal(err)
		}
	}
	poison := &llm.Error{Kind: llm.ErrUnavailable, Provider: "p", Status: 500, Message: "cannot parse the arguments"}
	const tries = 5
	for n := 1; n <= tries; n++ {
		made, _, errorType := b.call(0, poison)
		want := activities.ErrorModelUnavailable
		if n == tries {
			want = activities.ErrorConversation
		}
		if !made || errorType != want {
			t.Errorf("call %d: made %t, ended with %s, want %s", n, made, errorType, want)
		}
		if b.state().Open() {
			t.Error("the circuit is open")
		}
		for range 8 {
			answer()
		}
	}
	const want = "p: the provider fails on this conversation (HTTP 500: cannot parse the arguments) while it answers others"
	if last := b.last(); last.Text != want || last.ErrorType != activities.ErrorConversation || last.Usage != nil {
		t.Errorf("the transcript says %+v", last.Body)
	}
	if activities.Tries(activities.ErrorConversation) != 1 || !activities.ContentError(activities.ErrorConversation) {
		t.Error("it is tried again, or counts as trouble of the provider")
	}
}

func (b *circuitBench) log(t *testing.T) []transcript.Entry {
	entries, err := b.store.Entries(t.Context(), b.scope())
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// If a key is refused, an agent with another model uses that, and an agent without one gets the provider's error.
func TestCircuitOfARefusedKey(t *testing.T) {
	t.Parallel()
	b := newCircuitBench(t)
	for range 3 {
		b.call(0, fails(llm.ErrAuth, 401))
	}
	if made, said, errorType := b.call(0, nil); made || !said.Open || errorType != activities.ErrorModelUnavailable {
		t.Errorf("with another model: made %t, %+v, %s", made, said, errorType)
	}
	b.plan(func(a *plan.Agent) { a.Providers = a.Providers[:1] })
	if made, said, errorType := b.call(0, fails(llm.ErrAuth, 401)); !made || said.Open || errorType != "CredentialsRefused" {
		t.Errorf("without: made %t, %+v, %s", made, said, errorType)
	}
	if made, _, _ := b.call(0, nil); !made || b.state().Open() {
		t.Errorf("the key is mended: made %t, %+v", made, b.state())
	}
}

// A response that does not come from a model, such as a sign-in page, is requested three times, costs nothing, and is
// not waited for, even if its circuit is open.
func TestCircuitOfAWrongAddress(t *testing.T) {
	t.Parallel()
	b := newCircuitBench(t)
	b.plan(func(a *plan.Agent) { a.Providers = a.Providers[:1] })
	for n := range 4 {
		made, said, errorType := b.call(0, fails(llm.ErrNotAModel, 200))
		if !made || said.Open || errorType != activities.ErrorNotAModel || said.Usage != (agent.Usage{}) {
			t.Errorf("call %d: made %t, %+v, %s", n, made, said, errorType)
		}
	}
	if tries := activities.Tries(activities.ErrorNotAModel); tries != 3 || !b.state().Open() {
		t.Errorf("%d tries, state %+v", tries, b.state())
	}
}

// A rate limit stays a rate limit, so that an agent with another model waits for it as it does for its own.
func TestCircuitOfARateLimit(t *testing.T) {
	t.Parallel()
	b := newCircuitBench(t)
	for range 3 {
		b.call(0, &llm.Error{Kind: llm.ErrRateLimited, Provider: "p", Status: 429, RetryAfter: 40 * time.Second})
	}
	made, said, errorType := b.call(0, nil)
	if after := said.RetryAfter.D(); made || !said.Open || errorType != activities.ErrorRateLimited || after > 40*time.Second ||
		after < 30*time.Second {
		t.Errorf("made %t, %+v, %s", made, said, errorType)
	}
}

// The first calls of a model whose state is unknown wait until output arrives from it, not for the whole reply.
func TestColdModel(t *testing.T) {
	t.Parallel()
	b := newCircuitBench(t)
	three := func(s *circuit.State, now time.Time) {
		for range 3 {
			s.Ask(now, circuit.Conversation{}, "x")
		}
	}
	if err := b.store.ChangeCircuit(t.Context(), first, three); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	received := time.AfterFunc(300*time.Millisecond, func() {
		if err := b.store.ChangeCircuit(context.Background(), first, (*circuit.State).Heard); err != nil {
			t.Error(err)
		}
	})
	defer received.Stop()
	if made, _, _ := b.call(0, nil); !made || time.Since(began) < 300*time.Millisecond {
		t.Errorf("made %t after %s", made, time.Since(began))
	}
}

// A result is not cut short because its summary needs the agent's own model while that model's circuit is open: the
// summary waits for it.
func TestSummaryOfAnOpenCircuit(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 20_000)
	d.plan(func(a *plan.Agent) { a.Servers[0].Summarization = &plan.Summarization{Threshold: 500, MaxTokens: 100} })
	d.act.Circuits = d.store
	opens := func(s *circuit.State, now time.Time) {
		for n := range 3 {
			by := circuit.Conversation{Investigation: fmt.Sprint(n)}
			s.Failed(now, circuit.Failure{ErrorType: activities.ErrorModelUnavailable, Error: "p: HTTP 503", By: by})
		}
	}
	if err := d.store.ChangeCircuit(t.Context(), first, opens); err != nil {
		t.Fatal(err)
	}
	before := len(d.requests)
	_, err := d.generate(activities.GenerateIn{Iteration: 2, Try: 1})
	var said activities.Trouble
	failed, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok || failed.Details(&said) != nil || !said.Open || !strings.Contains(failed.Message(), "not called since") ||
		len(d.requests) > before {
		t.Errorf("%d requests, %v", len(d.requests)-before, err)
	}
	if last := d.last(); last.Kind != transcript.KindResult {
		t.Errorf("written: %+v", last)
	}
}
