package workflows

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/clip"
)

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
	*Outage // nil until the server is known to be away
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
	why := awayOf(failed)
	if w.waits = w.waits && why != ""; w.waits {
		w.tell(ctx, n, pause, why)
	}
	if w.Outage == nil {
		return workflow.Sleep(ctx, pause)
	}
	hurried := w.steering.Concluding
	_, err := workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
		Timeout: pause, TimerOptions: workflow.TimerOptions{Summary: "next try of server " + w.server},
	}, func() bool { return w.steering.Concluding != hurried })
	return err
}

// tell reports the wait in the agent's status, and to its parents once the wait is long.
func (w *serverWait) tell(ctx workflow.Context, n int, pause time.Duration, why string) {
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
	w.teller.changed()
}

// end removes the wait from the status.
func (w *serverWait) end(ctx workflow.Context) {
	n := slices.Index(w.servers.calls, w.Outage)
	if w.Outage == nil || n < 0 {
		return
	}
	w.servers.calls = slices.Delete(w.servers.calls, n, n+1)
	w.noteCalls(ctx)
	w.teller.changed()
}

// awayOf returns why a tool server is unavailable, if it may be back soon, and otherwise an empty string.
func awayOf(err error) string {
	var said activities.ServerAway
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok && failed.HasDetails() {
		_ = failed.Details(&said) // other errors have no such details
	}
	return said.Why
}
