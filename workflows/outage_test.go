package workflows

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// away returns a provider's error in the form that Generate returns.
func away(errorType string, after time.Duration) error {
	return temporal.NewApplicationErrorWithOptions("p: "+errorType, errorType, temporal.ApplicationErrorOptions{
		NonRetryable: true, Details: []any{activities.Trouble{Provider: "p", RetryAfter: plan.Duration(after)}},
	})
}

// outageRun is one agent whose provider fails, by the workflow's clock.
type outageRun struct {
	tries  []time.Duration // of each model call, since the start
	asked  []int           // the provider of each
	took   time.Duration
	result AgentResult
	status AgentStatus // while it waits
}

// waitsOut runs an agent whose provider fails with the errors from fail until it returns nil.
func waitsOut(t *testing.T, change func(*AgentInput), fail func(since time.Duration, provider int) error) (run outageRun) {
	t.Helper()
	f := &fake{}
	env := newEnv(t, f)
	in := agentInput(agent.Iterating, 3)
	in.Agent.Timeouts.Agent = plan.Duration(10 * time.Minute)
	if change != nil {
		change(&in)
	}
	start := env.Now()
	f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
		since := env.Now().Sub(start)
		run.tries, run.asked = append(run.tries, since), append(run.asked, in.Provider)
		if in.Try != len(run.tries) {
			t.Errorf("try %d is numbered %d", len(run.tries), in.Try)
		}
		if err := fail(since, in.Provider); err != nil {
			return activities.GenerateOut{}, err
		}
		return say("done"), nil
	}
	env.RegisterDelayedCallback(func() {
		value, err := env.QueryWorkflow(QueryStatus)
		if err != nil || value.Get(&run.status) != nil {
			t.Errorf("query: %v", err)
		}
	}, 20*time.Minute)
	env.ExecuteWorkflow(IteratingAgent, in)
	run.took = env.Now().Sub(start)
	run.result = agentEnd(t, env)
	return run
}

// TestOutageIsWaitedFor: an agent waits for a provider that is down for an hour. Its clocks are stopped, its
// tries become rarer, and people can see the outage.
func TestOutageIsWaitedFor(t *testing.T) {
	t.Parallel()
	run := waitsOut(t, nil, func(since time.Duration, _ int) error {
		if since < time.Hour {
			return away("ModelUnavailable", 0)
		}
		return nil
	})
	if run.result.Status != agent.StatusCompleted || run.result.Iterations != 1 {
		t.Errorf("got %+v", run.result)
	}
	if n := len(run.tries); n < 15 || n > 30 {
		t.Errorf("%d tries", n)
	}
	if late := run.tries[len(run.tries)-1] - time.Hour; late > 7*time.Minute {
		t.Errorf("it was noticed %s after the end", late)
	}
	o := run.status.Outage
	if o == nil || o.Provider != "p" || o.Until.Sub(o.Since) != outageAlone || o.Next.Before(o.Since.Add(20*time.Minute)) {
		t.Errorf("status %+v", o)
	}
}

// The wait for a provider is bounded.
func TestOutageEnds(t *testing.T) {
	t.Parallel()
	run := waitsOut(t, nil, func(time.Duration, int) error { return away("ModelUnavailable", 0) })
	if run.result.Status != agent.StatusFailed || run.result.ErrorType != "ModelUnavailable" {
		t.Errorf("got %+v", run.result)
	}
	if last := run.tries[len(run.tries)-1]; last < outageAlone-time.Second || last > outageAlone+time.Minute {
		t.Errorf("the last try was after %s", last)
	}
}

// A response that does not come from a model's server, such as a sign-in page with status 200, ends the agent within a minute: the
// base_url is probably wrong. A proxy that is being restarted has a few seconds.
func TestWrongAddressFailsSoon(t *testing.T) {
	t.Parallel()
	run := waitsOut(t, nil, func(time.Duration, int) error { return away(activities.ErrorNotAModel, 0) })
	if run.result.Status != agent.StatusFailed || run.result.ErrorType != activities.ErrorNotAModel || run.took >= time.Minute {
		t.Errorf("after %s: %+v", run.took, run.result)
	}
	if n := len(run.tries); n != 3 || run.tries[n-1] < 2*time.Second {
		t.Errorf("tries after %v, want 3, within more than two seconds", run.tries)
	}
}

func TestOutageWithAFallback(t *testing.T) {
	t.Parallel()
	two := func(in *AgentInput) { in.Agent.Models = []string{"m", "n"} }
	run := waitsOut(t, two, func(_ time.Duration, provider int) error {
		if provider == 0 {
			return away("ModelUnavailable", 0)
		}
		return nil
	})
	if run.result.Status != agent.StatusCompleted || run.tries[len(run.tries)-1] > outageFallback+time.Second {
		t.Errorf("got %+v, tries %v", run.result, run.tries)
	}
	// A Retry-After beyond the remaining time selects the next provider at once.
	run = waitsOut(t, two, func(_ time.Duration, provider int) error {
		if provider == 0 {
			return away("RateLimited", time.Hour)
		}
		return nil
	})
	if len(run.tries) != 2 || run.tries[1] > time.Second {
		t.Errorf("tries %v of %v", run.tries, run.asked)
	}
}

// TestStrikes: after two consecutive failures of the server or the stream, the agent switches to the next model for
// good. A success or a rate limit between them resets the count. The agent waits for a rate limit.
func TestStrikes(t *testing.T) {
	t.Parallel()
	two := func(in *AgentInput) { in.Agent.Models, in.Agent.Strikes = []string{"m", "n"}, 2 }
	for name, tt := range map[string]struct {
		says []string // of the first model, call by call
		want int      // its calls
	}{
		"away":                  {[]string{"ModelUnavailable", "ModelUnavailable"}, 2},
		"away, then cut":        {[]string{"ModelUnavailable", "ReplyTruncated"}, 2},
		"a timeout, a stall":    {[]string{"ModelTimeout", "StreamStalled"}, 2},
		"credentials":           {[]string{"CredentialsRefused"}, 1},
		"away, then no credit":  {[]string{"ModelUnavailable", "QuotaExhausted"}, 2},
		"away, a limit, away":   {[]string{"ModelUnavailable", "RateLimited", "ModelUnavailable", "ModelUnavailable"}, 4},
		"an open circuit":       {[]string{"open"}, 1},
		"away, an open circuit": {[]string{"ModelUnavailable", "open"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			run := waitsOut(t, two, func(_ time.Duration, provider int) error {
				if provider > 0 {
					return nil
				}
				calls++
				if says := tt.says[calls-1]; says != "open" {
					return away(says, 0)
				}
				return open(activities.ErrorModelUnavailable, time.Minute)
			})
			if calls != tt.want || run.result.Status != agent.StatusCompleted || run.result.Iterations != 1 ||
				run.tries[len(run.tries)-1] > time.Minute {
				t.Errorf("%d calls at %v, want %d: %+v", calls, run.tries, tt.want, run.result)
			}
		})
	}
}

// open returns Generate's error for a model whose circuit is open.
func open(errorType string, after time.Duration) error {
	return temporal.NewApplicationErrorWithOptions("p: not asked", errorType, temporal.ApplicationErrorOptions{
		NonRetryable: true, Details: []any{activities.Trouble{Provider: "p", Open: true, RetryAfter: plan.Duration(after)}},
	})
}

// TestOpenCircuitIsWaitedFor: without another model, an open circuit is waited for like any outage: at least as long as it
// says, and spread over the agents. A rate limit is waited for even if there is another model.
func TestOpenCircuitIsWaitedFor(t *testing.T) {
	t.Parallel()
	seen := map[time.Duration]bool{}
	for n := range 10 {
		run := waitsOut(t, func(in *AgentInput) { in.Ref.Execution = fmt.Sprint("stage/", n) }, func(since time.Duration, _ int) error {
			if since == 0 {
				return open(activities.ErrorModelUnavailable, 30*time.Second)
			}
			return nil
		})
		if len(run.tries) != 2 || run.tries[1] < 30*time.Second || run.tries[1] > time.Minute || run.result.Status != agent.StatusCompleted {
			t.Fatalf("tries %v: %+v", run.tries, run.result)
		}
		seen[run.tries[1]] = true
	}
	if len(seen) < 8 {
		t.Errorf("ten agents come back at %d times", len(seen))
	}
	run := waitsOut(t, func(in *AgentInput) { in.Agent.Models, in.Agent.Strikes = []string{"m", "n"}, 2 },
		func(since time.Duration, _ int) error {
			if since == 0 {
				return open(activities.ErrorRateLimited, 20*time.Second)
			}
			return nil
		})
	if !slices.Equal(run.asked, []int{0, 0}) {
		t.Errorf("asked %v", run.asked)
	}
}

// TestRateLimitIsWaitedFor: Retry-After is a lower bound of the backoff and does not replace it, because a repeated
// value of one second would cause a hundred tries in two minutes. A rate limit is no attempt.
func TestRateLimitIsWaitedFor(t *testing.T) {
	t.Parallel()
	run := waitsOut(t, nil, func(since time.Duration, _ int) error {
		if since < 30*time.Minute {
			return away("RateLimited", time.Second)
		}
		return nil
	})
	if n := len(run.tries); run.result.Status != agent.StatusCompleted || n < 10 || n > 20 {
		t.Errorf("%d tries: %+v", n, run.result)
	}
	run = waitsOut(t, nil, func(since time.Duration, _ int) error {
		if since < 30*time.Minute {
			return away("RateLimited", 31*time.Minute)
		}
		return nil
	})
	if len(run.tries) != 2 || run.tries[1] != 31*time.Minute {
		t.Errorf("tries %v", run.tries)
	}
}

// TestTriesThatArePaid: calls that cost money are retried only a fixed number of times.
func TestTriesThatArePaid(t *testing.T) {
	t.Parallel()
	for errorType, want := range map[string]int{"ModelTimeout": 2, "ReplyMalformed": 12, "CredentialsRefused": 1} {
		run := waitsOut(t, nil, func(time.Duration, int) error { return away(errorType, 0) })
		if len(run.tries) != want || run.result.ErrorType != errorType {
			t.Errorf("%s: %d tries, %+v", errorType, len(run.tries), run.result)
		}
	}
}

// TestBackoffIsSpread: the backoff is never shorter than its step, and differs between agents.
func TestBackoffIsSpread(t *testing.T) {
	t.Parallel()
	seen := map[time.Duration]bool{}
	for n := range 100 {
		wait := backoff(20, strings.Repeat("x", n))
		if wait < longestBackoff || wait > longestBackoff*5/4 {
			t.Errorf("wait %s", wait)
		}
		seen[wait] = true
	}
	if len(seen) < 50 {
		t.Errorf("%d different waits of 100", len(seen))
	}
}

// TestPauseHoldsTheNextTry: a paused agent makes no model call, not even a retry.
func TestPauseHoldsTheNextTry(t *testing.T) {
	t.Parallel()
	f := &fake{}
	env := newEnv(t, f)
	start := env.Now()
	var tries []time.Duration
	f.model = func(activities.GenerateIn) (activities.GenerateOut, error) {
		tries = append(tries, env.Now().Sub(start))
		if len(tries) == 1 {
			return activities.GenerateOut{}, away("ModelUnavailable", 10*time.Second)
		}
		return say("done"), nil
	}
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(SignalPause, nil) }, 5*time.Second)
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(SignalResume, nil) }, time.Hour)
	env.ExecuteWorkflow(SingleShotAgent, agentInput(agent.SingleShot, 1))
	if agentEnd(t, env); len(tries) != 2 || tries[1] != time.Hour {
		t.Errorf("tries at %v", tries)
	}
}

// TestConcludeDuringAnOutage: a request to conclude does not wait for the end of an outage.
func TestConcludeDuringAnOutage(t *testing.T) {
	t.Parallel()
	f := &fake{}
	env := newEnv(t, f)
	start := env.Now()
	f.model = func(activities.GenerateIn) (activities.GenerateOut, error) {
		return activities.GenerateOut{}, away("ModelUnavailable", 0)
	}
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(SignalConclude, nil) }, 30*time.Minute)
	env.ExecuteWorkflow(IteratingAgent, agentInput(agent.Iterating, 3))
	if got := agentEnd(t, env); got.Status != agent.StatusFailed {
		t.Errorf("got %+v", got)
	}
	if took := env.Now().Sub(start); took > 30*time.Minute+2*outageHurried {
		t.Errorf("it took %s", took)
	}
}

// TestOutageIsNobodysTime: an outage stops all clocks up to the investigation, whose details in the Temporal UI show it.
func TestOutageIsNobodysTime(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"})}
	f.plan.Timeout = plan.Duration(30 * time.Minute)
	f.plan.Stages[0].Timeout = plan.Duration(20 * time.Minute)
	env := newEnv(t, f)
	start := env.Now()
	f.model = func(activities.GenerateIn) (activities.GenerateOut, error) {
		if env.Now().Sub(start) < 2*time.Hour {
			return activities.GenerateOut{}, away("ModelUnavailable", 0)
		}
		return say("done"), nil
	}
	var status Status
	env.RegisterDelayedCallback(func() {
		value, err := env.QueryWorkflow(QueryStatus)
		if err != nil || value.Get(&status) != nil {
			t.Errorf("query: %v", err)
		}
	}, time.Hour)
	got := investigated(t, env)
	if got.Status != agent.StatusCompleted {
		t.Errorf("got %+v", got)
	}
	if len(status.Outages) != 1 || !strings.Contains(status.WaitingFor, "p: ModelUnavailable, since ") {
		t.Errorf("status %+v", status)
	}
	if table := statusTable(status); !strings.Contains(table, "**provider trouble** · A · `p: ModelUnavailable, since ") {
		t.Errorf("details:\n%s", table)
	}
}

// TestTimeIsUp: when an investigation's time is up, its agents conclude and their stages are kept. Work that
// does not finish is timed out, not cancelled.
func TestTimeIsUp(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tool   time.Duration // how long its calls take
		status agent.Status  // of the stage
	}{"concludes": {time.Minute, agent.StatusCompleted}, "is cut": {time.Hour, agent.StatusTimedOut}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{plan: planOf([]string{"default"}, []string{"default"})}
			f.plan.Timeout = plan.Duration(10 * time.Minute)
			f.plan.Stages[0].Agents[0].MaxIterations = 100
			env := newEnv(t, f)
			f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
				if in.Conclude {
					return say("what is known"), nil
				}
				return ask("slow"), nil
			}
			env.OnActivity(f.CallTool, mock.Anything, mock.Anything).After(tt.tool).Return(activities.CallToolOut{}, nil)
			got := investigated(t, env)
			if got.Status != agent.StatusTimedOut || got.Stages[0].Status != tt.status || got.Stages[1].Status != agent.StatusSkipped {
				t.Errorf("got %+v", got)
			}
			if a := got.Stages[0].Agents[0]; a.StopReason != agent.StopTimedOut {
				t.Errorf("the agent ended with %+v", a)
			}
		})
	}
}

// TestServerThatIsNotThere: an unavailable tool server is tried three times, regardless of other failures.
func TestServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	f := &fake{model: script(ask("a"), say("done"))}
	f.tool = func(in activities.CallToolIn) (activities.CallToolOut, error) {
		if in.Last {
			return activities.CallToolOut{Status: "error"}, nil
		}
		return activities.CallToolOut{}, temporal.NewNonRetryableApplicationError("gone", activities.ErrorServerUnavailable, errors.New("gone"))
	}
	env := newEnv(t, f)
	env.ExecuteWorkflow(IteratingAgent, agentInput(agent.Iterating, 3))
	if got := agentEnd(t, env); got.Status != agent.StatusCompleted || len(f.called) != serverTries {
		t.Errorf("called %d times: %+v", len(f.called), got)
	}
}

// TestOutageOfManyAgents: an outage that many agents wait for is reported to their parents as one: at its start,
// at its end, and once a minute.
func TestOutageOfManyAgents(t *testing.T) {
	t.Parallel()
	const agents, away4 = 50, 3*time.Hour + 50*time.Minute
	f := &fake{plan: planOf(slices.Repeat([]string{"default"}, agents))}
	for n := range f.plan.Stages[0].Agents {
		f.plan.Stages[0].Agents[n].Name = fmt.Sprintf("Investigator-%02d", n)
	}
	env := newEnv(t, f)
	received := &tally{bytes: map[string]int{}, times: map[string]int{}}
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{received}, DeadlockDetectionTimeout: time.Minute})
	env.SetTestTimeout(5 * time.Minute)
	start := env.Now()
	f.model = func(activities.GenerateIn) (activities.GenerateOut, error) {
		if env.Now().Sub(start) < away4 {
			return activities.GenerateOut{}, away("ModelUnavailable", 0)
		}
		return say("x"), nil
	}
	env.RegisterDelayedCallback(func() {
		now := statusOf(t, env)
		f.knows(t, now)
		if len(now.Outages) != 1 || len(now.Outages[0].Others) != agents-1 || !strings.Contains(now.WaitingFor, "; 49 more agents waiting") {
			t.Errorf("status %+v", now)
		}
		for _, a := range now.Stages[0].Agents {
			if a.Status != agent.StatusWaitingProvider {
				t.Errorf("agent %+v", a)
			}
		}
	}, 2*time.Hour)
	got := investigated(t, env)
	if got.Status != agent.StatusCompleted {
		t.Errorf("got %+v", got)
	}
	workflowID, _ := WorkflowOf(got.ID)
	if n, size := received.times[workflowID], received.bytes[workflowID]; n > 500 || size > 2<<20 {
		t.Errorf("the investigation was told %d times, %d bytes", n, size)
	}
	if n, size := received.times[childID(got.ID, "s1")], received.bytes[childID(got.ID, "s1")]; n > 60*agents || size > 1<<20 {
		t.Errorf("the stage was told %d times, %d bytes", n, size)
	}
}

// tally counts what workflows signal to others, by the other's id.
type tally struct {
	interceptor.WorkerInterceptorBase
	times, bytes map[string]int
}

func (c *tally) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &reportIn{interceptor.WorkflowInboundInterceptorBase{Next: next}, c}
}

type reportIn struct {
	interceptor.WorkflowInboundInterceptorBase
	all *tally
}

func (i *reportIn) Init(next interceptor.WorkflowOutboundInterceptor) error {
	return i.Next.Init(&reportOut{interceptor.WorkflowOutboundInterceptorBase{Next: next}, i.all})
}

type reportOut struct {
	interceptor.WorkflowOutboundInterceptorBase
	all *tally
}

func (o *reportOut) SignalExternalWorkflow(ctx workflow.Context, id, runID, name string, arg any) workflow.Future {
	o.all.times[id]++
	o.all.bytes[id] += jsonSize(arg)
	return o.Next.SignalExternalWorkflow(ctx, id, runID, name, arg)
}
