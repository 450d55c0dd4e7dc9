package workflows

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/kit/clip"
)

// MaxParallelCalls bounds the calls of one reply that run at the same time.
const MaxParallelCalls = 8

// batch holds the calls of one reply.
type batch struct {
	*agentRun
	calls  []activities.Call
	asked  []*approval         // by call; nil: no approval needed
	undone []*activities.Input // by call: a result decided by this workflow
}

// callTools runs the calls of one reply. Calls that touch only our own store run
// sequentially in one local activity: the order of their writes must be fixed, and
// their journal makes it durable. Other calls run in parallel. A failed call gives the
// model a result. The activity writes it or, if the activity failed, the next model call.
func (r *agentRun) callTools(ctx workflow.Context, calls []activities.Call) {
	r.state.Usage.ToolCalls += len(calls)
	b := batch{agentRun: r, calls: calls, asked: r.approvals.ask(ctx, 0, calls), undone: make([]*activities.Input, len(calls))}
	group := workflow.NewWaitGroup(ctx)
	slots := workflow.NewSemaphore(ctx, MaxParallelCalls)
	start := func(run func(workflow.Context)) {
		group.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer group.Done()
			run(ctx)
		})
	}
	if own := b.own(); len(own) > 0 {
		start(func(ctx workflow.Context) { b.runOwn(ctx, own) })
	}
	for n, call := range calls {
		if !b.isOwn(n) {
			start(func(ctx workflow.Context) { b.undone[n] = b.run(ctx, slots, n, call) })
		}
	}
	group.Wait(ctx)
	for _, input := range b.undone {
		if input != nil {
			r.state.Inputs = append(r.state.Inputs, shortened(*input, maxDecided/len(calls)))
		}
	}
}

// maxDecided bounds the texts of one reply's results that this workflow decided, in
// bytes of JSON. They are part of the input of the next model call.
const maxDecided = 24 << 10

// shortened fits the text of a result and the reason of its decision into a number of bytes.
func shortened(in activities.Input, most int) activities.Input {
	in.Text = fit(in.Text, most)
	if d := in.Decision; d != nil {
		in.Decision = short(*d)
		if left := most - jsonSize(in.Text); left > 0 {
			in.Decision.Reason = fit(d.Reason, left)
		}
	}
	return in
}

// isOwn reports that the call touches only our own store and needs no approval.
func (b *batch) isOwn(n int) bool { return b.calls[n].Own && b.asked[n] == nil }

func (b *batch) own() (own []int) {
	for n := range b.calls {
		if b.isOwn(n) {
			own = append(own, n)
		}
	}
	return own
}

// run runs one call, after its approval if it needs one.
func (b *batch) run(ctx workflow.Context, slots workflow.Semaphore, n int, call activities.Call) *activities.Input {
	in := activities.CallToolIn{Ref: b.in.Ref, Iteration: b.state.Iteration, Call: n}
	for {
		if b.asked[n] != nil {
			in.Decision = b.approvals.await(ctx, b.asked[n])
			if !in.Decision.Approved {
				return denied(in, call)
			}
		}
		if call.Sub != nil && b.orchestration != nil {
			return b.orchestration.carryOut(ctx, in, call)
		}
		lost, reapproval := b.attempt(ctx, slots, in, call)
		if reapproval == nil {
			if lost != nil {
				lost.Decision = in.Decision // for the audit trail; changed arguments make it a different call
			}
			return lost
		}
		b.asked[n] = b.approvals.askFor(ctx, n, call.Name, *reapproval) // the approved call differs from the one to be made
		b.approvals.noteCalls(ctx)
	}
}

// attempt makes one call: within the workflow task if it is quick, and otherwise, or if that
// fails, by a regular activity. A non-nil reapproval needs a person's approval first.
func (b *batch) attempt(
	ctx workflow.Context, slots workflow.Semaphore, in activities.CallToolIn, call activities.Call,
) (lost *activities.Input, reapproval *activities.Approve) {
	if slots.Acquire(ctx, 1) != nil {
		return b.stillWaiting(ctx, in.Call), nil
	}
	defer slots.Release(1)
	if b.behind != nil {
		return b.lost(in.Call, b.behind), nil
	}
	in.Ref.Seen = newestSeen(b.state.Seen)
	var out activities.CallToolOut
	summary := callSummary(call.Name, in)
	if call.Quick && in.Decision == nil && workflow.Now(ctx).Sub(b.model.listened) < maxTaskTime {
		err := workflow.ExecuteLocalActivity(quickOptions(ctx, summary), act.CallTool, in).Get(ctx, &out)
		if err == nil {
			b.record(ctx, call.Name, out)
			return nil, out.Approve
		}
		if ctx.Err() != nil {
			return b.lost(in.Call, err), nil
		}
		errorType, _ := failure(err)
		in.Begun, in.Sent = errorType == activities.ErrorReplaced, awayOf(err).Sent
	}
	err := b.awaitServer(ctx, call.Name, &out, func(last bool) error {
		in.Last = last
		return survived(ctx, call.Name, in.Call, func(int) error {
			err := workflow.ExecuteActivity(toolOptions(ctx, b.in.Agent.Timeouts, call, summary), act.CallTool, in).Get(ctx, &out)
			in.Begun = false // the previous attempt has ended or died
			in.Intended, in.Sent = in.Intended || intended(err), max(in.Sent, awayOf(err).Sent)
			b.model.listened = workflow.Now(ctx)
			return err
		})
	})
	if err != nil {
		return b.lost(in.Call, err), nil
	}
	b.record(ctx, call.Name, out)
	return nil, out.Approve
}

// callSummary names a call in Temporal's UI. Calls of a plan have no iteration.
func callSummary(name string, in activities.CallToolIn) string {
	summary := fmt.Sprintf("%s · call %d", name, in.Call+1)
	if in.Iteration > 0 {
		summary += fmt.Sprintf(" of iteration %d", in.Iteration)
	}
	return summary
}

// record stores the parts of a call's result that concern the workflow.
func (b *batch) record(ctx workflow.Context, name string, out activities.CallToolOut) {
	b.pause(ctx, out.Pause)
	b.saw(out.Seen)
	if out.ErrorType != "" {
		b.fault = &CallFault{Tool: name, Iteration: b.state.Iteration, ErrorType: out.ErrorType, Fault: out.Fault}
	}
}

// runOwn runs the calls that touch only our own store.
func (b *batch) runOwn(ctx workflow.Context, own []int) {
	in := activities.CallOwnToolsIn{Ref: b.ref(), Iteration: b.state.Iteration, Calls: own}
	var out activities.CallOwnToolsOut
	err := storeStep(ctx, b.ownSummary(own), act.CallOwnTools, in, &out)
	if err == nil {
		b.pause(ctx, out.Pause)
		b.saw(out.Seen)
		return
	}
	for _, n := range own {
		b.undone[n] = b.lost(n, err)
	}
}

// maxSummary bounds a summary, in bytes. Temporal refuses more than 400.
const maxSummary = 300

// ownSummary names the calls of one local activity in Temporal's UI.
func (b *batch) ownSummary(own []int) string {
	names := make([]string, len(own))
	for i, n := range own {
		names[i] = callSummary(b.calls[n].Name, activities.CallToolIn{Iteration: b.state.Iteration, Call: n})
	}
	return clip.Text(strings.Join(names, ", "), maxSummary)
}

// lost returns the result of a call whose activity failed.
func (b *batch) lost(n int, err error) *activities.Input {
	b.noteBehind(err)
	errorType, message := failure(err)
	if temporal.IsCanceledError(err) {
		errorType, message = activities.ErrorCancelled, "The call was cancelled before it finished."
	}
	return &activities.Input{
		Kind: activities.InputResult, Iteration: b.state.Iteration, Call: n, ErrorType: errorType, Text: clip.Text(message, 500),
	}
}

// stillWaiting returns the result of a call that was cut off before its turn came. Older workers gave it none.
func (b *batch) stillWaiting(ctx workflow.Context, n int) *activities.Input {
	if workflow.GetVersion(ctx, versionRecordDecided, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return nil
	}
	return &activities.Input{
		Kind: activities.InputResult, Iteration: b.state.Iteration, Call: n, ErrorType: activities.ErrorCancelled,
		Text: "The call was not made: the agent was stopped while the call waited for other calls to end.",
	}
}

func (b *batch) pause(ctx workflow.Context, minutes int) {
	if minutes > 0 {
		b.sleepFor(ctx, minutes)
	}
}

// serverWaits holds the tool servers that an agent's calls wait for.
type serverWaits struct {
	calls []*Outage // one for each call that waits
	// lost lists the servers that a call waited for without success. Until they are back, no call waits for them again.
	lost []string
}

// outages returns the servers that calls wait for, each once.
func (w *serverWaits) outages() (out []Outage) {
	for _, o := range w.calls {
		if !slices.ContainsFunc(out, o.Same) {
			out = append(out, *o)
		}
	}
	return out
}

// awaitServer runs an activity that calls a tool. If the server is unavailable, it retries: up to serverTries times, or
// for as long as a call may take if the server may be back soon and the call was not sent. last tells the activity
// that this is the last try. out receives the activity's result.
func (r *agentRun) awaitServer(ctx workflow.Context, name string, out *activities.CallToolOut, run func(last bool) error) error {
	server, _, _ := strings.Cut(name, ".")
	w := &serverWait{agentRun: r, server: server, since: workflow.Now(ctx), waits: !slices.Contains(r.servers.lost, server)}
	defer func() { w.end(ctx) }()
	for n := 1; ; n++ {
		last := n >= serverTries && !w.patient(ctx)
		err := run(last)
		switch {
		case err != nil:
		case out.ErrorType != activities.ResultUnavailable:
			r.servers.lost = slices.DeleteFunc(r.servers.lost, func(lost string) bool { return lost == server })
		case w.Outage != nil && w.waits && !slices.Contains(r.servers.lost, server):
			r.servers.lost = append(r.servers.lost, server)
		}
		if err == nil || last {
			return err
		}
		if errorType, _ := failure(err); errorType != activities.ErrorServerUnavailable {
			return err
		}
		if err := w.sleep(ctx, n, err); err != nil {
			return err
		}
	}
}

// serverWait is one call's wait for its server.
type serverWait struct {
	*agentRun
	*Outage // nil until the server is known to be unavailable
	server  string
	since   time.Time
	waits   bool // the call may wait longer than serverTries
}

// patient reports whether the server may be back soon, and the call has time left to wait for it.
func (w *serverWait) patient(ctx workflow.Context) bool {
	return w.Outage != nil && w.waits && workflow.Now(ctx).Before(w.Until) && !w.steering.Concluding
}

// sleep waits between two tries.
func (w *serverWait) sleep(ctx workflow.Context, n int, failed error) error {
	pause := min(firstRetry<<min(n-1, 10), longestServerRetry)
	why := awayOf(failed).Why
	if w.waits = w.waits && why != ""; w.waits {
		w.reportOutage(ctx, n, pause, why)
	}
	if w.Outage == nil {
		return workflow.Sleep(ctx, pause)
	}
	hurried := w.steering.Concluding
	_, err := workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
		Timeout: pause, TimerOptions: workflow.TimerOptions{Summary: "retry of server " + w.server},
	}, func() bool { return w.steering.Concluding != hurried })
	return err
}

// reportOutage reports the wait in the agent's status, and to its parents once the wait is long.
func (w *serverWait) reportOutage(ctx workflow.Context, n int, pause time.Duration, why string) {
	if w.Outage == nil {
		w.Outage = &Outage{
			Agent: w.in.Agent.Name, Execution: w.in.Ref.Execution, Server: w.server, Provider: "server " + w.server,
			ErrorType: activities.ErrorServerUnavailable, Since: w.since,
			Until: w.since.Add(cmp.Or(w.in.Agent.Timeouts.Tool.D(), defaultTool)),
		}
	}
	w.Error, w.Tries, w.Next = clip.Text(why, 200), n, workflow.Now(ctx).Add(pause)
	if n < serverTries {
		return
	}
	if !slices.Contains(w.servers.calls, w.Outage) {
		w.servers.calls = append(w.servers.calls, w.Outage)
	}
	w.note(ctx, "waiting for server "+w.server+": "+w.Error)
	w.waitReporter.changed()
}

// end removes the wait from the status.
func (w *serverWait) end(ctx workflow.Context) {
	n := slices.Index(w.servers.calls, w.Outage)
	if w.Outage == nil || n < 0 {
		return
	}
	w.servers.calls = slices.Delete(w.servers.calls, n, n+1)
	w.approvals.noteCalls(ctx)
	w.waitReporter.changed()
}
