package activities_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// full is a store whose disk is full for the first appends of replies.
type full struct {
	activities.Transcripts
	times int
}

func (f *full) AppendReply(ctx context.Context, step transcript.Step) ([]transcript.Entry, int, error) {
	if f.times--; f.times >= 0 {
		return nil, 0, fmt.Errorf("%w: the disk is full", record.ErrUnavailable)
	}
	return f.Transcripts.AppendReply(ctx, step)
}

// intentless is a store that accepts results but no separate intents.
type intentless struct {
	activities.Transcripts
	refused chan struct{}
}

func (s *intentless) Append(ctx context.Context, step transcript.Step) ([]transcript.Entry, error) {
	if step.Rows[0].Kind == transcript.KindCall {
		close(s.refused)
		return nil, fmt.Errorf("%w: locked", record.ErrUnavailable)
	}
	return s.Transcripts.Append(ctx, step)
}

// A result is kept although the late intent of its call could not be written: the intent is written with it.
func TestResultIsKeptWithoutALateIntent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.plan(func(a *plan.Agent) { a.Timeouts.Tool = plan.Duration(time.Minute) })
	b.asks(agent.ToolCall{ID: "c", Name: "lab__read", Arguments: `{"n":1}`})
	st := &intentless{b.store, make(chan struct{})}
	b.act.Transcripts = st
	b.runUnder = func(context.Context, tool.Call) (tool.Result, error) {
		<-st.refused
		return tool.Success("paid for"), nil
	}
	out, err := b.callTool(1, 0)
	if last := b.last(); err != nil || out.Status != "success" || last.Text != "paid for" || len(b.calls) != 1 {
		t.Errorf("%d calls; %+v, %v; the last entry %+v", len(b.calls), out, err, last)
	}
}

// recorder counts the heartbeats that report a wait for the store.
type recorder struct{ waits atomic.Int32 }

func (t *recorder) Beat(_ context.Context, _ []byte, doing activities.Doing) error {
	if doing.Waits == activities.ErrorStore {
		t.waits.Add(1)
	}
	return nil
}

// A worker keeps a reply that cannot be written until it can be, so it is paid for once.
func TestReplyIsKeptWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.act.Transcripts = &full{b.store, 2}
	received := &recorder{}
	b.act.Heartbeats = received
	calls := 0
	b.reply = func(llm.Request) (llm.Response, error) {
		calls++
		return llm.Response{Content: "done", Finish: llm.FinishStop}, nil
	}
	if out, err := b.generate(activities.GenerateIn{Iteration: 1}); err != nil || out.Preview != "done" || calls != 1 {
		t.Errorf("%d calls: %+v, %v", calls, out, err)
	}
	if received.waits.Load() == 0 { // three seconds, and two heartbeats
		t.Error("nobody is told what it waits for")
	}
}

// begins counts how often an execution is recorded as begun.
type begins struct {
	activities.Records
	times int
}

func (b *begins) StartExecution(ctx context.Context, exec record.Execution, run string) error {
	b.times++
	return b.Records.StartExecution(ctx, exec, run)
}

// attempt makes activities run as that attempt.
type attempt struct {
	interceptor.WorkerInterceptorBase
	interceptor.ActivityInboundInterceptorBase
	interceptor.ActivityOutboundInterceptorBase
	number int32
}

func (a *attempt) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	a.ActivityInboundInterceptorBase.Next = next
	return a
}

func (a *attempt) Init(next interceptor.ActivityOutboundInterceptor) error {
	a.ActivityOutboundInterceptorBase.Next = next
	return a.ActivityInboundInterceptorBase.Init(a)
}

func (a *attempt) GetInfo(ctx context.Context) activity.Info {
	info := a.ActivityOutboundInterceptorBase.GetInfo(ctx)
	info.Attempt = a.number
	return info
}

// A later attempt records the start of its execution only if no attempt has stored a reply.
func TestLaterAttempts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	received := &begins{Records: b.store}
	b.act.Records = received
	for _, tt := range []struct {
		attempt int32
		want    int
	}{{2, 1}, {3, 1}} {
		b.env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{&attempt{number: tt.attempt}}})
		if _, err := b.generate(activities.GenerateIn{Iteration: 1}); err != nil || received.times != tt.want {
			t.Errorf("attempt %d: told %d times, want %d; %v", tt.attempt, received.times, tt.want, err)
		}
	}
}
