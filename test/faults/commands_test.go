package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// commands are the decisions of workflows, by workflow ID and in order.
type commands struct {
	sync.Mutex
	lines map[string][]string
}

func (c *commands) record(ctx workflow.Context, what string, args ...any) {
	body, err := json.Marshal(args)
	if err != nil {
		body = []byte(err.Error())
	}
	c.Lock()
	defer c.Unlock()
	id := workflow.GetInfo(ctx).WorkflowExecution.ID
	c.lines[id] = append(c.lines[id], what+" "+marks.ReplaceAllString(string(body), "…"))
}

// marks of entries contain numbers and times, which differ. Parallel calls are sorted without them.
var marks = regexp.MustCompile(`"[0-9a-z]+\.[0-9a-z]{10,}"`)

// incidental matches differences between two runs of one seed: hashes of plans, times and durations, the text
// after a clipped one, and the estimate of a request's tokens if it included such a number.
var incidental = regexp.MustCompile(`input_tokens\\?":\d+|time_ms\\?":(\d*(?:[^"\\…]|\\.)*…|\d+)|"plan":"[^"]*"|` +
	`"[a-z_]+_at":"[^"]*"|20\d\d-\d\d-\d\dT[^"]*`)

// decided returns all commands, workflow by workflow.
func (r *run) decided() string {
	r.commands.Lock()
	defer r.commands.Unlock()
	var ids []string
	for id := range r.lines {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var out strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&out, "%s\n  %s\n", id, strings.Join(inAnyOrder(r.lines[id]), "\n  "))
	}
	return incidental.ReplaceAllString(r.normal(out.String()), "…")
}

// inAnyOrder sorts the commands for parallel calls of one reply, because the machine determines which call ends
// first and is retried first. It omits what a stage reports about the order in which its agents end, and the
// SDK's own timers before the retry of a local activity: the activity that reports a status runs in real time,
// in parallel with the workflow.
func inAnyOrder(lines []string) []string {
	out := slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return line == `timer Sleep ["0s"]` || strings.Contains(line, "activity SaveExecution") ||
			strings.HasPrefix(line, "signal waiting") && strings.Contains(line, `"ended":[{`)
	})
	aside := func(line string) bool {
		return strings.Contains(line, "activity CallTool") || strings.HasPrefix(line, "activity ListTools") ||
			strings.HasPrefix(line, "timer Sleep")
	}
	for from := 0; from < len(out); from++ {
		to := from
		for to < len(out) && aside(out[to]) {
			to++
		}
		slices.Sort(out[from:to])
		from = max(from, to)
	}
	return out
}

// intercept sits between the SDK and the code: it records the decisions of workflows, sets their clocks, and
// makes workers crash.
type intercept struct {
	interceptor.WorkerInterceptorBase
	run *run
}

func (i *intercept) InterceptActivity(_ context.Context,
	next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &attempt{interceptor.ActivityInboundInterceptorBase{Next: next}, i.run}
}

func (i *intercept) InterceptWorkflow(_ workflow.Context,
	next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &entrance{interceptor.WorkflowInboundInterceptorBase{Next: next}, i.run}
}

// attempt is one attempt at an activity.
type attempt struct {
	interceptor.ActivityInboundInterceptorBase
	run *run
}

// ExecuteActivity may lose the attempt: before it started, or after all of its work is done but before Temporal
// is notified.
func (a *attempt) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	info := activity.GetInfo(ctx)
	at := place{execution: info.ActivityType.Name, attempt: int(info.Attempt)}
	switch arg := in.Args[0].(type) {
	case activities.GenerateIn:
		a.run.awaitListing(arg.Ref.Execution)
		at.execution, at.iteration = arg.Ref.Execution, arg.Iteration
		at.attempt += 10 * (arg.Try - 1) // the workflow's tries count as attempts
		if info.IsLocalActivity {
			at.attempt -= 10 // the regular attempts come after them
		}
	case activities.CallToolIn:
		at.execution, at.iteration, at.position = arg.Ref.Execution, arg.Iteration, arg.Call+1
		if info.IsLocalActivity {
			at.attempt -= 10
		}
	case activities.CallOwnToolsIn:
		at.execution, at.iteration, at.position = arg.Ref.Execution, arg.Iteration, arg.Calls[0]+1
	case activities.PlanCallsIn:
		at.execution, at.iteration = arg.Ref.Execution, 1
	case activities.PlanResultIn:
		at.execution, at.iteration = arg.Ref.Execution, 2
	case activities.ServeIn:
		at.execution, at.iteration = arg.Ref.Execution, 1
	case activities.ListToolsIn:
		defer a.run.endListing(arg.Ref.Execution)
		at.execution, at.position = arg.Ref.Execution, -1
	case activities.ReadReplyIn:
		at.execution, at.iteration, at.position = arg.Ref.Execution, arg.Iteration, -2
	}
	for {
		out, err := a.once(ctx, at, info.ActivityType.Name, in)
		_, call := in.Args[0].(activities.CallToolIn)
		_, ask := in.Args[0].(activities.GenerateIn)
		if !call && !ask || !info.IsLocalActivity || !temporal.IsTimeoutError(err) {
			return out, err
		}
		at.attempt++ // another worker takes over the workflow task
	}
}

// awaitListing waits for the first attempt of the listing that was scheduled before a model's request.
func (r *run) awaitListing(execution string) {
	if listed, ok := r.listings.Load(execution); ok {
		<-listed.(chan struct{})
	}
}

// endListing releases the request that waits for it.
func (r *run) endListing(execution string) {
	if listed, ok := r.listings.LoadAndDelete(execution); ok {
		close(listed.(chan struct{}))
	}
}

func (a *attempt) once(ctx context.Context, at place, name string, in *interceptor.ExecuteActivityInput) (any, error) {
	ctx = context.WithValue(ctx, placeKey{}, at)
	if a.run.moment != nil {
		a.run.moment(at, name, nil)
	}
	return a.run.attempted(ctx, at, name, func(ctx context.Context) (any, error) {
		if a.run.strike(ctx, crash, "before "+name, transcript.Key{}) != nil {
			return nil, temporal.NewHeartbeatTimeoutError()
		}
		out, err := a.Next.ExecuteActivity(ctx, in)
		if err == nil && a.run.strike(ctx, crash, "after "+name, transcript.Key{}) != nil {
			return nil, temporal.NewHeartbeatTimeoutError()
		}
		return out, err
	})
}

type entrance struct {
	interceptor.WorkflowInboundInterceptorBase
	run *run
}

func (e *entrance) Init(out interceptor.WorkflowOutboundInterceptor) error {
	return e.Next.Init(&decisions{interceptor.WorkflowOutboundInterceptorBase{Next: out}, e.run})
}

func (e *entrance) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	out, err := e.Next.ExecuteWorkflow(ctx, in)
	e.run.record(ctx, "return", out, fmt.Sprint(err))
	return out, err
}

// decisions are the commands of one workflow.
type decisions struct {
	interceptor.WorkflowOutboundInterceptorBase
	run *run
}

func (d *decisions) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	options := workflow.GetActivityOptions(ctx)
	d.run.record(ctx, "activity "+name, options.Summary, options.TaskQueue, args)
	if list, ok := args[0].(activities.ListToolsIn); ok && d.run.ordered {
		d.run.listings.Store(list.Ref.Execution, make(chan struct{}))
	}
	// The environment measures heartbeats by the real clock, and a busy machine must not fail the test.
	ctx = workflow.WithHeartbeatTimeout(ctx, time.Hour)
	if d.run.outage != nil { // it applies StartToClose to all attempts together, and treats no limit of attempts as ten
		endless := *options.RetryPolicy
		endless.MaximumAttempts = math.MaxInt32
		ctx = workflow.WithRetryPolicy(workflow.WithStartToCloseTimeout(ctx, options.ScheduleToCloseTimeout), endless)
	}
	return d.Next.ExecuteActivity(ctx, name, args...)
}

func (d *decisions) ExecuteLocalActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	d.run.record(ctx, "local activity "+name, args)
	if d.run.outage == nil { // this is real time, too
		options := workflow.GetLocalActivityOptions(ctx)
		options.ScheduleToCloseTimeout = time.Minute
		ctx = workflow.WithLocalActivityOptions(ctx, options)
	}
	return d.Next.ExecuteLocalActivity(ctx, name, args...)
}

func (d *decisions) ExecuteChildWorkflow(ctx workflow.Context, name string, args ...any) workflow.ChildWorkflowFuture {
	d.run.record(ctx, "child "+workflow.GetChildWorkflowOptions(ctx).WorkflowID, name, args)
	return d.Next.ExecuteChildWorkflow(ctx, name, args...)
}

// NewTimerWithOptions records durations in whole seconds, pauses in whole minutes and time limits in whole hours: the clock
// also runs during activities, and real time passes between attempts of local ones. The wait before the next attempt of a model
// call depends on the run's id.
func (d *decisions) NewTimerWithOptions(ctx workflow.Context, after time.Duration, options workflow.TimerOptions) workflow.Future {
	shown := after.Round(time.Second)
	switch {
	case strings.HasPrefix(options.Summary, "retry of "):
		shown = 0
	case options.Summary == "heartbeats paused":
		shown = after.Round(time.Minute)
	case strings.HasSuffix(options.Summary, " timeout"):
		shown = after.Round(time.Hour)
	}
	d.run.record(ctx, "timer "+options.Summary, shown.String())
	if d.run.ordered && options.Summary == "Sleep" {
		after += 137 * time.Millisecond
	}
	return d.Next.NewTimerWithOptions(ctx, d.run.clock.timer(d.Next.Now(ctx), after), options)
}

func (d *decisions) Now(ctx workflow.Context) time.Time {
	return d.run.clock.shown(d.Next.Now(ctx))
}

func (d *decisions) SignalExternalWorkflow(ctx workflow.Context, id, runID, name string, arg any) workflow.Future {
	d.run.record(ctx, "signal "+name+" to "+id, arg)
	return d.Next.SignalExternalWorkflow(ctx, id, runID, name, arg)
}

func (d *decisions) UpsertTypedSearchAttributes(ctx workflow.Context, updates ...temporal.SearchAttributeUpdate) error {
	d.run.record(ctx, "search attributes", len(updates))
	return d.Next.UpsertTypedSearchAttributes(ctx, updates...)
}

func (d *decisions) UpsertMemo(ctx workflow.Context, memo map[string]any) error {
	d.run.record(ctx, "memo", memo)
	return d.Next.UpsertMemo(ctx, memo)
}
