package activities_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// quickBench is a bench whose store knows how long the calls of a tool took.
func quickBench(t *testing.T, name string, took ...time.Duration) *bench {
	t.Helper()
	b := newBench(t)
	b.act.Times = b.store
	b.plan(quickUnder)
	for _, d := range took {
		var times tool.Times
		times.Add(d)
		if _, err := b.store.AddToolTimes(t.Context(), name, times, 1); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func quickUnder(a *plan.Agent) { a.Tools.QuickUnder = plan.Duration(500 * time.Millisecond) }

var fourQuick = []time.Duration{time.Millisecond, time.Millisecond, 5 * time.Millisecond, time.Millisecond}

func TestWhichCallsAreQuick(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		took   []time.Duration
		change func(*plan.Agent)
		writes bool // the call is one of lab.write
		want   bool
	}{
		"one that is known to be":       {took: fourQuick, want: true},
		"one that nobody knows":         {},
		"one that may change something": {took: fourQuick, writes: true},
		"one that is slow at times":     {took: append(fourQuick, time.Second)},
		"switched off":                  {took: fourQuick, change: func(a *plan.Agent) { a.Tools.QuickUnder = 0 }},
		"below what it takes": {took: fourQuick,
			change: func(a *plan.Agent) { a.Tools.QuickUnder = plan.Duration(2 * time.Millisecond) }},
		"on a queue of its own":       {took: fourQuick, change: func(a *plan.Agent) { a.Servers[0].TaskQueue = "gpu" }},
		"one that a person approves":  {took: fourQuick, change: approved},
		"one that is not the agent's": {took: fourQuick, change: func(a *plan.Agent) { a.Tools.Enabled = []string{} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			called := "lab.read"
			if tt.writes {
				called = "lab.write"
			}
			b := quickBench(t, called, tt.took...)
			if tt.change != nil {
				b.plan(quickUnder, tt.change)
			}
			b.reply = asking(agent.ToolCall{ID: "x", Name: tool.WireName(called), Arguments: `{"n":1}`})
			out, err := b.generate(activities.GenerateIn{Iteration: 1})
			if err != nil || len(out.Calls) != 1 || out.Calls[0].Quick != tt.want {
				t.Errorf("%+v, %v; want %t", out.Calls, err, tt.want)
			}
		})
	}
}

func approved(a *plan.Agent) {
	a.Tools.Permissions = map[string]plan.Permission{"lab.read": {RequiresApproval: true}}
}

// A worker learns from four of its calls that a tool is quick, and from one slow call that it is not. A new worker
// knows the others' measurements.
func TestQuickIsLearned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := quickBench(t, "lab.read")
		b.plan(quickUnder, func(a *plan.Agent) { a.Timeouts.Tool = plan.Duration(time.Minute) })
		quick := func(iteration int) bool {
			b.reply = asking(agent.ToolCall{ID: "x", Name: "lab__read", Arguments: `{"n":1}`})
			out, err := b.generate(activities.GenerateIn{Iteration: iteration})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.callTool(iteration, 0); err != nil {
				t.Fatal(err)
			}
			return out.Calls[0].Quick
		}
		takes := time.Millisecond
		b.run = func(tool.Call) (tool.Result, error) {
			time.Sleep(takes)
			return tool.Success("result"), nil
		}
		for n := 1; n <= 6; n++ {
			if got, want := quick(n), n > 4; got != want {
				t.Errorf("call %d: quick is %t", n, got)
			}
		}
		takes = 501 * time.Millisecond
		quick(7)
		if quick(8) {
			t.Error("a slow call has taught nothing")
		}
	})
}

func asking(calls ...agent.ToolCall) func(llm.Request) (llm.Response, error) {
	return func(llm.Request) (llm.Response, error) {
		return llm.Response{ToolCalls: calls, Finish: llm.FinishToolCalls}, nil
	}
}

// A local attempt makes the call and writes its result, or leaves the call to a regular one.
func TestLocalAttempts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tool    string
		prepare func(*bench)
		want    string // type of the error
	}{
		"a call":                       {"lab.read", nil, ""},
		"one that may change":          {"lab.write", nil, activities.ErrorNotQuick},
		"one that has begun":           {"lab.read", func(b *bench) { b.begun("lab.read") }, activities.ErrorReplaced},
		"the same, not idempotent":     {"lab.write", func(b *bench) { b.begun("lab.write") }, activities.ErrorReplaced},
		"one that a person approves":   {"lab.read", func(b *bench) { b.plan(approved) }, activities.ErrorNotQuick},
		"one without a session":        {"lab.read", func(b *bench) { b.act.Sessions = noSessions{} }, activities.ErrorNotQuick},
		"one whose server is not here": {"lab.read", func(b *bench) { b.run = gone }, activities.ErrorServerUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.asks(agent.ToolCall{ID: "x", Name: strings.ReplaceAll(tt.tool, ".", "__"), Arguments: `{"n":1}`})
			if tt.prepare != nil {
				tt.prepare(b)
			}
			_, err := b.env.ExecuteLocalActivity(b.act.CallTool, activities.CallToolIn{Ref: b.ref, Iteration: 1})
			failed, _ := errors.AsType[*temporal.ApplicationError](err)
			if tt.want == "" && err != nil || tt.want != "" && (failed == nil || failed.Type() != tt.want) {
				t.Fatalf("it ended with %v, want %q", err, tt.want)
			}
			last := b.last()
			if written := last.Kind == transcript.KindResult; written != (tt.want == "") {
				t.Errorf("last entry: %s %+v", last.Kind, last.Body)
			}
			if tt.want != "" && tt.want != activities.ErrorServerUnavailable && len(b.calls) > 0 {
				t.Error("the call was made")
			}
		})
	}
}

func gone(tool.Call) (tool.Result, error) { return tool.Failure(tool.ErrorUnavailable, "gone"), nil }

type noSessions struct{}

func (noSessions) Open(string, string) bool { return false }
func (noSessions) End(string)               {}

// begun writes the intent of the first call.
func (b *bench) begun(name string) {
	call := transcript.Call{ID: "c1_0", Name: name, Arguments: `{"n":1}`}
	b.wrote(sameRun, transcript.Row{Key: transcript.CallKey(1, 0), Kind: transcript.KindCall, Body: transcript.Body{Call: &call}})
}

// A call that a lost attempt has begun within a workflow task is left to that attempt for a while. If its result
// arrives, it is the call's result.
func TestBegunCallsAreWaitedFor(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.asks(agent.ToolCall{ID: "x", Name: "lab__write", Arguments: `{}`})
	b.begun("lab.write")
	in := activities.CallToolIn{Ref: b.ref, Iteration: 1, Begun: true}
	_, err := b.env.ExecuteActivity(b.act.CallTool, in)
	failed, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok || failed.Type() != activities.ErrorReplaced || failed.NonRetryable() {
		t.Errorf("it ended with %v", err)
	}
	b.ends("late")
	_, err = b.env.ExecuteActivity(b.act.CallTool, in)
	if last := b.last(); err != nil || last.Text != "late" || len(b.calls) > 0 {
		t.Errorf("%v, %d calls, %+v", err, len(b.calls), last.Body)
	}
}

// A call that takes longer than a workflow task may continues, and the regular attempt takes it over.
func TestSlowCallsAreHandedOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.act.Quick = 50 * time.Millisecond
		release := make(chan struct{})
		b.run = func(tool.Call) (tool.Result, error) {
			<-release
			return tool.Success("slow"), nil
		}
		b.asks(agent.ToolCall{ID: "x", Name: "lab__read", Arguments: `{"n":1}`})
		in := activities.CallToolIn{Ref: b.ref, Iteration: 1}
		_, err := b.env.ExecuteLocalActivity(b.act.CallTool, in)
		if failed, ok := errors.AsType[*temporal.ApplicationError](err); !ok || failed.Type() != activities.ErrorReplaced {
			t.Fatalf("it ended with %v", err)
		}
		in.Begun = true
		time.AfterFunc(50*time.Millisecond, func() { close(release) })
		_, err = b.env.ExecuteActivity(b.act.CallTool, in)
		if last := b.last(); err != nil || last.Text != "slow" || len(b.calls) != 1 {
			t.Errorf("%v after %d calls: %+v", err, len(b.calls), last.Body)
		}
	})
}

// slowLookup is a journal that is slow to look up a call.
type slowLookup struct{ activities.Transcripts }

func (s slowLookup) LookupCall(
	ctx context.Context, scope transcript.Scope, iteration, call int, writer transcript.Writer,
) (transcript.Known, error) {
	time.Sleep(700 * time.Millisecond)
	return s.Transcripts.LookupCall(ctx, scope, iteration, call, writer)
}

// If a local attempt fails without making the call after the handover, that is not the call's end: the regular attempt
// makes the call.
func TestHandedOverAndNotMade(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*bench){
		"no session": func(b *bench) { b.act.Sessions = noSessions{} },
		"begun":      func(b *bench) { b.begun("lab.read") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.asks(agent.ToolCall{ID: "x", Name: "lab__read", Arguments: `{"n":1}`})
				prepare(b)
				b.run = func(tool.Call) (tool.Result, error) { return tool.Success("made"), nil }
				b.act.Quick, b.act.Transcripts, b.act.Abandoned = 20*time.Millisecond, slowLookup{b.store}, time.Second
				in := activities.CallToolIn{Ref: b.ref, Iteration: 1}
				if _, err := b.env.ExecuteLocalActivity(b.act.CallTool, in); err == nil {
					t.Error("it was not handed over")
				}
				in.Begun = true
				if _, err := b.env.ExecuteActivity(b.act.CallTool, in); err != nil || len(b.calls) != 1 || b.last().Text != "made" {
					t.Errorf("%v after %d calls: %+v", err, len(b.calls), b.last().Body)
				}
			})
		})
	}
}

// A panic in a call is an error of its attempt: the worker's other work continues.
func TestQuickCallThatPanics(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.asks(agent.ToolCall{ID: "x", Name: "lab__read", Arguments: `{"n":1}`})
	b.run = func(tool.Call) (tool.Result, error) { panic("secret") }
	_, err := b.env.ExecuteLocalActivity(b.act.CallTool, activities.CallToolIn{Ref: b.ref, Iteration: 1})
	if err == nil || !strings.Contains(err.Error(), "the call panicked: string") || strings.Contains(err.Error(), "secret") {
		t.Errorf("it ended with %v", err)
	}
}

// A call that was handed over is cut if no attempt attends to it.
func TestHandedOverToNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.asks(agent.ToolCall{ID: "x", Name: "lab__read", Arguments: `{"n":1}`})
		cut := make(chan struct{})
		b.runUnder = func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			<-ctx.Done()
			close(cut)
			return tool.Result{}, ctx.Err()
		}
		b.act.Quick, b.act.Abandoned = 20*time.Millisecond, 50*time.Millisecond
		if _, err := b.env.ExecuteLocalActivity(b.act.CallTool, activities.CallToolIn{Ref: b.ref, Iteration: 1}); err == nil {
			t.Error("it was not handed over")
		}
		<-cut
	})
}

// A stopping worker waits for the calls that were handed over, up to a limit.
func TestHandedOverCallsAreDrained(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.act.Quick = 20 * time.Millisecond
	release := make(chan struct{})
	b.run = func(tool.Call) (tool.Result, error) {
		<-release
		return tool.Success("slow"), nil
	}
	b.asks(agent.ToolCall{ID: "x", Name: "lab__read", Arguments: `{"n":1}`})
	if _, err := b.env.ExecuteLocalActivity(b.act.CallTool, activities.CallToolIn{Ref: b.ref, Iteration: 1}); err == nil {
		t.Error("it was not handed over")
	}
	activities.Drain(b.act, time.Millisecond)
	if last := b.last(); last.Kind == transcript.KindResult {
		t.Fatalf("it is over: %+v", last.Body)
	}
	time.AfterFunc(20*time.Millisecond, func() { close(release) })
	activities.Drain(b.act, time.Minute)
	if last := b.last(); last.Text != "slow" {
		t.Errorf("the last entry is %s %+v", last.Kind, last.Body)
	}
}

// A stopping worker also waits for calls whose attempts were cut, because they still write their results.
func TestCutCallsAreDrained(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	attempt, cut := context.WithCancel(t.Context())
	defer cut()
	b.env.SetWorkerOptions(worker.Options{BackgroundActivityContext: attempt})
	release := make(chan struct{})
	var over atomic.Bool
	b.run = func(tool.Call) (tool.Result, error) {
		cut()
		<-release
		over.Store(true)
		return tool.Success("slow"), nil
	}
	b.asks(agent.ToolCall{ID: "x", Name: "lab__read", Arguments: `{"n":1}`})
	if _, err := b.env.ExecuteLocalActivity(b.act.CallTool, activities.CallToolIn{Ref: b.ref, Iteration: 1}); err == nil {
		t.Error("it was not cut")
	}
	time.AfterFunc(20*time.Millisecond, func() { close(release) })
	if activities.Drain(b.act, time.Minute); !over.Load() {
		t.Error("the call goes on")
	}
	if last := b.last(); last.Text != "slow" {
		t.Errorf("the last entry is %s %+v", last.Kind, last.Body)
	}
}

// stopped is the journal of a worker that stalls after it has written an intent, until another worker has recorded that
// the outcome is unknown.
type stopped struct {
	activities.Transcripts
	*bench
}

func (s stopped) Append(ctx context.Context, step transcript.Step) ([]transcript.Entry, error) {
	entries, err := s.Transcripts.Append(ctx, step)
	if step.Rows[0].Kind == transcript.KindCall {
		time.Sleep(1100 * time.Millisecond) // no attempt gives a call up in less than a second
		s.ends("nobody knows")
	}
	return entries, err
}

// A call is not made once the model has been told that its outcome is unknown.
func TestCallsThatAreGivenUpAreNotMade(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.asks(agent.ToolCall{ID: "x", Name: "lab__write", Arguments: `{}`})
		b.act.Transcripts = stopped{b.store, b}
		_, err := b.callTool(1, 0)
		failed, ok := errors.AsType[*temporal.ApplicationError](err)
		if !ok || failed.Type() != activities.ErrorReplaced || len(b.calls) != 0 {
			t.Errorf("%d calls, and it ended with %v", len(b.calls), err)
		}
	})
}

// ends writes the result of the first call.
func (b *bench) ends(text string) {
	call := transcript.Call{ID: "c1_0", Name: "lab.write"}
	b.wrote(sameRun, transcript.Row{
		Key: transcript.ResultKey(1, 0), Kind: transcript.KindResult, Body: transcript.Body{Call: &call, Text: text, Status: "success"},
	})
}

// handedOver begins a local attempt to ask a model that answers "slow" once it is released.
func (b *bench) handedOver() (release func()) {
	b.t.Helper()
	b.act.Quick = 20 * time.Millisecond
	held := make(chan struct{})
	b.reply = func(llm.Request) (llm.Response, error) {
		<-held
		return llm.Response{Content: "slow", Finish: llm.FinishStop}, nil
	}
	if got := b.asked(); got != activities.ErrorReplaced {
		b.t.Fatalf("it ended with %q", got)
	}
	return func() { close(held) }
}

// asked returns the result of a local attempt to ask the model: the reply, or the type of an error.
func (b *bench) asked() string {
	b.t.Helper()
	return b.comesOf(b.env.ExecuteLocalActivity(b.act.Generate, activities.GenerateIn{Ref: b.ref, Iteration: 1, Try: 1}))
}

// askedAfter returns the result of a regular attempt after a local one that has been handed over.
func (b *bench) askedAfter() string {
	b.t.Helper()
	return b.comesOf(b.env.ExecuteActivity(b.act.Generate, activities.GenerateIn{Ref: b.ref, Iteration: 1, Try: 1, Begun: true}))
}

func (b *bench) comesOf(value converter.EncodedValue, err error) string {
	b.t.Helper()
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return failed.Type()
	}
	var out activities.GenerateOut
	if err == nil {
		err = value.Get(&out)
	}
	if err != nil {
		b.t.Error(err)
	}
	return out.Preview
}

// A reply stored by a lost workflow task answers that task's input, which may have been different.
func TestStoredRepliesToOtherQuestions(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if got := b.asked(); got != "done" {
		t.Fatal(got)
	}
	for name, tt := range map[string]struct {
		in    activities.GenerateIn
		other bool
	}{
		"the same":              {activities.GenerateIn{}, false},
		"the same, otherwise":   {activities.GenerateIn{Try: 2, Provider: 1, Begun: true}, false},
		"to conclude":           {activities.GenerateIn{Conclude: true}, true},
		"with something to say": {activities.GenerateIn{Inputs: []activities.Input{{Kind: activities.InputNotice, Text: "new"}}}, true},
	} {
		tt.in.Iteration = 1
		if out, err := b.generate(tt.in); err != nil || !out.Kept || out.Other != tt.other || out.Preview != "done" {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
	}
	if len(b.requests) != 1 {
		t.Errorf("%d requests", len(b.requests))
	}
	if _, err := b.generate(activities.GenerateIn{Iteration: 2}); err != nil {
		t.Fatal(err)
	}
	if out, err := b.generate(activities.GenerateIn{Iteration: 2, Conclude: true}); err != nil || out.Other {
		t.Errorf("what an activity was asked is in the history: %+v, %v", out, err)
	}
}

// The first regular attempt gets the result of a call that was handed over. A later attempt asks again, at once.
func TestEndsOfHandedOverReplies(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		prepare func(b *bench, over <-chan struct{})
		want    []string
	}{
		"a model's failure": {func(b *bench, over <-chan struct{}) {
			b.reply = func(llm.Request) (llm.Response, error) {
				<-over
				b.reply = func(llm.Request) (llm.Response, error) {
					return llm.Response{Content: "better", Finish: llm.FinishStop}, nil
				}
				return llm.Response{}, fails(llm.ErrRateLimited, 429)
			}
		}, []string{activities.ErrorReplaced, activities.ErrorRateLimited, "better"}},
		"a store's failure": {func(b *bench, over <-chan struct{}) {
			b.act.Transcripts = &failsOnce{Transcripts: b.store}
			b.reply = func(llm.Request) (llm.Response, error) {
				<-over
				return llm.Response{Content: "kept", Finish: llm.FinishStop}, nil
			}
		}, []string{activities.ErrorReplaced, activities.ErrorStore, "kept"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.act.Quick = 20 * time.Millisecond
			over := make(chan struct{}) // closed after the quick attempt
			tt.prepare(b, over)
			got := []string{b.asked()}
			close(over)
			activities.Drain(b.act, time.Minute) // it ends before any attempt attends to it
			got = append(got, b.askedAfter(), b.askedAfter())
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("attempts (-want +got):\n%s", diff)
			}
		})
	}
}

// failsOnce is a journal that does not accept the first reply.
type failsOnce struct {
	activities.Transcripts
	tried bool
}

func (f *failsOnce) AppendReply(ctx context.Context, step transcript.Step) ([]transcript.Entry, int, error) {
	if !f.tried {
		f.tried = true
		return nil, 0, errors.New("no room")
	}
	return f.Transcripts.AppendReply(ctx, step)
}

// While a call that has become slow waits for its regular activity, its worker begins no other quick call.
func TestSlowModelsAreLeftToActivities(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	release := b.handedOver()
	b.act.Quick = time.Minute
	second := activities.GenerateIn{Ref: b.ref, Iteration: 2, Try: 1}
	if got := b.comesOf(b.env.ExecuteLocalActivity(b.act.Generate, second)); got != activities.ErrorNotQuick {
		t.Errorf("the next one ended with %q", got)
	}
	release()
	if got := b.askedAfter(); got != "slow" {
		t.Errorf("it ended with %q", got)
	}
	if got := b.comesOf(b.env.ExecuteLocalActivity(b.act.Generate, second)); got != "slow" {
		t.Errorf("then the next one ended with %q", got)
	}
}

// A worker learns from four of its calls that a model is quick, and from one slow call that it is not. Calls of
// another model have no effect.
func TestQuickModelsAreLearned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.act.Times = b.store
		b.plan(func(a *plan.Agent) {
			for n := range a.Providers {
				a.Providers[n].QuickUnder = plan.Duration(500 * time.Millisecond)
			}
		})
		takes := time.Millisecond
		b.reply = func(llm.Request) (llm.Response, error) {
			time.Sleep(takes)
			return llm.Response{Content: "x", Finish: llm.FinishStop}, nil
		}
		quick := func(iteration, provider int) bool {
			out, err := b.generate(activities.GenerateIn{Iteration: iteration, Try: 1, Provider: provider})
			if err != nil {
				t.Fatal(err)
			}
			return out.Quick
		}
		for n := 1; n <= 5; n++ {
			if got, want := quick(n, 0), n >= 4; got != want {
				t.Errorf("call %d: quick is %t", n, got)
			}
		}
		if quick(6, 1) {
			t.Error("the other model is quick, too")
		}
		takes = 501 * time.Millisecond
		if quick(7, 0) {
			t.Error("a slow call has taught nothing")
		}
	})
}

// A local attempt asks the model, or leaves that to a regular one if another attempt has begun.
func TestLocalAttemptsAtReplies(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		live    *transcript.Live // the trace of another attempt
		prepare func(*bench)
		want    string // the reply, or the type of the error
		asked   int
	}{
		"a reply":                  {want: "done", asked: 1},
		"one that has begun":       {live: &transcript.Live{Iteration: 1, Attempt: 1 << 16}, want: activities.ErrorNotQuick},
		"the same, regular":        {live: &transcript.Live{Iteration: 1, Attempt: 1<<16 + 2}, want: activities.ErrorNotQuick},
		"a tool's progress":        {live: &transcript.Live{Iteration: 1}, want: "done", asked: 1},
		"another iteration's tail": {live: &transcript.Live{Iteration: 2, Attempt: 1 << 16}, want: "done", asked: 1},
		"a model that is away": {prepare: func(b *bench) {
			b.reply = func(llm.Request) (llm.Response, error) { return llm.Response{}, fails(llm.ErrUnavailable, 503) }
		}, want: activities.ErrorModelUnavailable, asked: 1},
		"one that is there already": {prepare: func(b *bench) {
			if _, err := b.generate(activities.GenerateIn{Iteration: 1, Try: 1}); err != nil {
				b.t.Fatal(err)
			}
		}, want: "done", asked: 1},
		"after a result to summarise": {prepare: func(b *bench) {
			b.plan(func(a *plan.Agent) {
				a.Servers[0].Summarization = &plan.Summarization{Threshold: 10, MaxTokens: 5}
			})
			b.ends(strings.Repeat("many words ", 100))
		}, want: activities.ErrorNotQuick},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if tt.prepare != nil {
				tt.prepare(b)
			}
			if tt.live != nil {
				tt.live.Scope = b.scope()
				if err := b.store.SetLive(t.Context(), *tt.live); err != nil {
					t.Fatal(err)
				}
			}
			if got := b.asked(); got != tt.want || len(b.requests) != tt.asked {
				t.Errorf("it ended with %q after %d requests; want %q after %d", got, len(b.requests), tt.want, tt.asked)
			}
		})
	}
}

// A worker that dies while it asks a model within a workflow task leaves a trace, so that the next attempt is a regular
// one, whose worker deaths are counted.
func TestLocalAttemptsLeaveATrace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var next string
	b.reply = func(llm.Request) (llm.Response, error) {
		for asked := false; !asked; time.Sleep(time.Millisecond) {
			var err error
			if asked, err = b.store.HasLive(t.Context(), transcript.Live{Scope: b.scope(), Iteration: 1, Attempt: 1 << 16}); err != nil {
				return llm.Response{}, err
			}
		}
		next = b.asked()
		return llm.Response{Content: "x", Finish: llm.FinishStop}, nil
	}
	b.act.Quick = time.Minute
	if got := b.asked(); got != "x" || next != activities.ErrorNotQuick || len(b.requests) != 1 {
		t.Errorf("it ended with %q, and the next attempt with %q, after %d requests", got, next, len(b.requests))
	}
}

// slowTrace writes no trace. It says that it begins, and waits.
type slowTrace struct {
	activities.Transcripts
	begins  chan context.Context
	release chan struct{}
}

func (s slowTrace) SetLive(ctx context.Context, _ transcript.Live) error {
	s.begins <- ctx
	<-s.release
	return nil
}

// The end of a call does not interrupt the writing of its trace, because PostgreSQL's driver would close the connection.
func TestTracesAreWrittenToTheEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := slowTrace{b.store, make(chan context.Context), make(chan struct{})}
	defer close(s.release)
	var writing context.Context
	b.reply = func(llm.Request) (llm.Response, error) {
		writing = <-s.begins
		return llm.Response{Content: "x", Finish: llm.FinishStop}, nil
	}
	b.act.Quick, b.act.Transcripts = time.Minute, s
	got := b.asked()
	activities.Drain(b.act, time.Minute)
	if _, limited := writing.Deadline(); got != "x" || writing.Err() != nil || !limited {
		t.Errorf("it ended with %q; the trace: %v, limited: %t", got, writing.Err(), limited)
	}
}

// If a model takes longer than a workflow task may, the call continues, and the regular attempt gets its reply. On
// another worker, the regular attempt waits for the reply for a while.
func TestSlowRepliesAreHandedOver(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	release := b.handedOver()
	in := activities.GenerateIn{Iteration: 1, Try: 1, Begun: true}
	elsewhere := &bench{t: t, store: b.store, env: b.env, ref: b.ref, act: newBench(t).act}
	elsewhere.act.Transcripts, elsewhere.act.Blobs = b.store, b.store
	var suite testsuite.WorkflowTestSuite
	elsewhere.env = suite.NewTestActivityEnvironment()
	elsewhere.env.RegisterActivity(elsewhere.act)
	_, err := elsewhere.generate(in)
	failed, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok || failed.Type() != activities.ErrorReplaced || failed.NonRetryable() {
		t.Errorf("on another worker it ended with %v", err)
	}
	time.AfterFunc(50*time.Millisecond, release)
	if out, err := b.generate(in); err != nil || out.Preview != "slow" || len(b.requests) != 1 {
		t.Errorf("%+v, %v after %d requests", out, err, len(b.requests))
	}
	if out, err := elsewhere.generate(in); err != nil || out.Preview != "slow" {
		t.Errorf("on another worker: %+v, %v", out, err)
	}
}
