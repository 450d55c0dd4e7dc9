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
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/plan"
)

// listing tracks the tool servers that are being asked for their tools while the agent works.
// The zero value asks no server.
type listing struct {
	pending []string            // names of the servers
	cancel  workflow.CancelFunc // gives all of them up; nil until the first is asked
	work    workflow.Context    // outlives a turn of a conversation, which may be shorter than a slow server
}

func (l *listing) idle() bool { return len(l.pending) == 0 }

// stop gives up the requests in flight without waiting for them. Call it when the workflow ends.
func (l *listing) stop() {
	if l.cancel != nil {
		l.cancel()
	}
}

// stopAndWait gives up the requests in flight and waits for their ends, so that the workflow can
// continue as new. The next run asks the same servers again.
func (l *listing) stopAndWait(ctx workflow.Context) error {
	l.stop()
	return workflow.Await(ctx, l.idle)
}

// versionBoundListing marks the change that bounds an agent's wait for its tool servers to a few seconds.
const versionBoundListing = "2026-11-25-bound-listing"

// boundsListing reports whether the agent waits only a few seconds for its tool servers. It does not if its investigation was
// resolved before LevelListing. It does not either if a worker of the previous release has already begun to list: during
// an upgrade, such a worker may run the first workflow task of an agent that a newer worker has resolved.
func (r iteratingRun) boundsListing(ctx workflow.Context) bool {
	return r.in.Level >= activities.LevelListing && len(r.in.Agent.Servers) > 0 &&
		workflow.GetVersion(ctx, versionBoundListing, workflow.DefaultVersion, 1) != workflow.DefaultVersion
}

// listTools keeps the store's catalogues of the agent's servers up to date. The first time, it asks all of
// them and waits for at most firstListing. Afterwards it asks those without a catalogue again, at most once
// per relistAfter, while the model works. Generate tells the model which servers have no catalogue.
func (r iteratingRun) listTools(ctx workflow.Context) {
	if !r.boundsListing(ctx) {
		r.listAll(ctx)
		return
	}
	first, servers := !r.state.Listed, r.in.Agent.Servers
	if !first {
		if servers = r.unlisted(); len(servers) == 0 || workflow.Now(ctx).Sub(r.state.ListedAt) < relistAfter {
			return
		}
	}
	var asked []string
	for _, server := range servers {
		if !slices.Contains(r.listing.pending, server.Name) {
			asked = append(asked, server.Name)
			r.startListing(ctx, server, first)
		}
	}
	r.state.Listed = true
	if !first || len(asked) == 0 {
		return
	}
	r.note(ctx, "listing tools")
	options := workflow.AwaitOptions{Timeout: firstListing, TimerOptions: workflow.TimerOptions{Summary: "tools of servers"}}
	_, _ = workflow.AwaitWithOptions(ctx, options, func() bool {
		return !slices.ContainsFunc(asked, func(name string) bool { return slices.Contains(r.listing.pending, name) })
	})
}

// toolsArrive is for an agent that ended its work without the tools of any server. If there is a catalogue by now, it
// returns true. Otherwise it waits for the first one, for at most lastListing, and reports whether it has come.
func (r iteratingRun) toolsArrive(ctx workflow.Context) bool {
	without := func() bool { return len(r.unlisted()) == len(r.in.Agent.Servers) }
	if r.turns || !r.boundsListing(ctx) {
		return false
	}
	if r.listing.idle() || !without() {
		return !without()
	}
	r.note(ctx, "listing tools")
	options := workflow.AwaitOptions{Timeout: lastListing, TimerOptions: workflow.TimerOptions{Summary: "tools of servers"}}
	_, _ = workflow.AwaitWithOptions(ctx, options, func() bool { return !without() || r.listing.idle() })
	return !without()
}

// startListing asks one server for its tools and does not wait for the answer.
func (r iteratingRun) startListing(ctx workflow.Context, server plan.ServerSkeleton, first bool) {
	l := &r.listing
	if l.cancel == nil {
		work, _ := workflow.NewDisconnectedContext(ctx)
		l.work, l.cancel = workflow.WithCancel(work)
	}
	named := func(name string) bool { return name == server.Name }
	l.pending = append(l.pending, server.Name)
	if !slices.Contains(r.state.Unlisted, server.Name) {
		r.state.Unlisted = append(r.state.Unlisted, server.Name)
	}
	workflow.Go(l.work, func(ctx workflow.Context) {
		listed := r.listBeside(ctx, server, first)
		l.pending = slices.DeleteFunc(l.pending, named)
		r.state.ListedAt = workflow.Now(ctx)
		if listed {
			r.state.Unlisted = slices.DeleteFunc(r.state.Unlisted, named)
		}
	})
}

// listBeside puts one server's catalogue into the store, and reports whether it has tools. Only the first
// attempt may be a local activity: the workflow task, and the model call that it starts, would wait for others.
func (r iteratingRun) listBeside(ctx workflow.Context, server plan.ServerSkeleton, first bool) (listed bool) {
	var out activities.ListToolsOut
	regular := listOptions(ctx, r.in.Agent.Timeouts, server)
	options := workflow.GetActivityOptions(regular)
	options.WaitForCancellation = true // stopAndWait waits for the activity
	regular = workflow.WithActivityOptions(regular, options)
	local := first && server.TaskQueue == ""
	run := func(last bool) error {
		in := activities.ListToolsIn{Ref: r.in.Ref, Server: server.Name, Last: last}
		if local {
			local = false
			return step{activity: act.ListTools, in: in, summary: "tools of " + server.Name, within: listWithin}.run(regular, &out)
		}
		return workflow.ExecuteActivity(regular, act.ListTools, in).Get(ctx, &out)
	}
	var err error
	if first {
		err = tried(ctx, run)
	} else {
		err = run(true) // relistAfter is the wait between attempts
	}
	if err != nil && ctx.Err() == nil {
		workflow.GetLogger(ctx).Warn("tools not listed", "server", server.Name, "error", err)
	}
	return err == nil && out.Error == ""
}

// listAll waits for every server's catalogue. Agents that ask no model use it, because the calls of a tool plan
// need their tools, and so do runs that began before LevelListing.
func (r iteratingRun) listAll(ctx workflow.Context) {
	servers := r.in.Agent.Servers
	if r.state.Listed {
		if servers = r.unlisted(); len(servers) == 0 || workflow.Now(ctx).Sub(r.state.ListedAt) < relistAfter {
			return
		}
	}
	r.note(ctx, "listing tools")
	r.state.Listed, r.state.ListedAt, r.state.Unlisted = true, workflow.Now(ctx), nil
	group := workflow.NewWaitGroup(ctx)
	missing := make([]bool, len(servers))
	for i, server := range servers {
		group.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer group.Done()
			missing[i] = !r.list(ctx, server)
		})
	}
	group.Wait(ctx)
	for i, server := range servers {
		if missing[i] {
			r.state.Unlisted = append(r.state.Unlisted, server.Name)
		}
	}
}

// list puts one server's catalogue into the store, and reports whether it has tools.
func (r iteratingRun) list(ctx workflow.Context, server plan.ServerSkeleton) (listed bool) {
	var out activities.ListToolsOut
	err := tried(ctx, func(last bool) error {
		in := activities.ListToolsIn{Ref: r.in.Ref, Server: server.Name, Last: last}
		regular := listOptions(ctx, r.in.Agent.Timeouts, server)
		if server.TaskQueue != "" {
			return workflow.ExecuteActivity(regular, act.ListTools, in).Get(ctx, &out)
		}
		return step{activity: act.ListTools, in: in, summary: "tools of " + server.Name, within: listWithin}.run(regular, &out)
	})
	if err != nil && ctx.Err() == nil {
		workflow.GetLogger(ctx).Warn("tools not listed", "server", server.Name, "error", err)
	}
	return err == nil && out.Error == ""
}

// unlisted returns the servers without a catalogue.
func (r iteratingRun) unlisted() (out []plan.ServerSkeleton) {
	for _, server := range r.in.Agent.Servers {
		if slices.Contains(r.state.Unlisted, server.Name) {
			out = append(out, server)
		}
	}
	return out
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
	why := awayOf(failed)
	if w.waits = w.waits && why != ""; w.waits {
		w.reportOutage(ctx, n, pause, why)
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

// awayOf returns why a tool server is unavailable, if it may be back soon, and otherwise an empty string.
func awayOf(err error) string {
	var said activities.ServerAway
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok && failed.HasDetails() {
		_ = failed.Details(&said) // other errors have no such details
	}
	return said.Why
}
