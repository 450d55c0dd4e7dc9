package workflows

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
)

// listing tracks the tool servers that are being asked for their tools while the agent works.
// The zero value asks no server.
type listing struct {
	pending []string                     // names of the servers
	cancel  workflow.CancelFunc          // gives all of them up; nil until the first is asked
	work    workflow.Context             // outlives a turn of a conversation, which may be shorter than a slow server
	why     map[string]record.NotChecked // by server
	waiting bool                         // the agent waits for them, instead of working
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

// boundsListing reports whether the agent's wait for its tool servers is bounded, and it asks slow ones while it works. The wait is
// unbounded for investigations that were resolved before LevelListing, and for agents that began on a worker of that time.
func (r iteratingRun) boundsListing(ctx workflow.Context) bool {
	return r.awaitsServers(ctx) || r.in.Level >= activities.LevelListing && len(r.in.Agent.Servers) > 0 &&
		workflow.GetVersion(ctx, versionBoundListing, workflow.DefaultVersion, 1) != workflow.DefaultVersion
}

// listTools keeps the store's catalogues of the agent's servers up to date. The first time, it asks all of
// them and waits until each has listed its tools, cannot, or has had its time to start. Afterwards it asks those without a
// catalogue again, at most once per relistAfter, while the model works. Generate tells the model which servers have no
// catalogue.
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
	awaits, longest := r.awaitsServers(ctx), firstListing
	if awaits {
		longest = r.startup() + startSlack
	}
	r.listing.waiting = true
	options := workflow.AwaitOptions{Timeout: longest, TimerOptions: workflow.TimerOptions{Summary: "tools of servers"}}
	_, _ = workflow.AwaitWithOptions(ctx, options, func() bool {
		return awaits && r.steering.Concluding ||
			!slices.ContainsFunc(asked, func(name string) bool { return slices.Contains(r.listing.pending, name) })
	})
	r.endWait()
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
	awaits := first && r.awaitsServers(ctx)
	workflow.Go(l.work, func(ctx workflow.Context) {
		var listed bool
		if awaits {
			listed = r.awaitStart(ctx, server)
		} else {
			listed = r.listBeside(ctx, server, first)
		}
		l.pending = slices.DeleteFunc(l.pending, named)
		r.state.ListedAt = workflow.Now(ctx)
		if listed {
			r.state.Unlisted = slices.DeleteFunc(r.state.Unlisted, named)
		}
	})
}

// listBeside puts one server's catalogue into the store, and reports whether it has tools.
func (r iteratingRun) listBeside(ctx workflow.Context, server plan.ServerSkeleton, first bool) (listed bool) {
	var out activities.ListToolsOut
	local := first
	run := func(last bool) (err error) {
		out, err = r.requestList(ctx, activities.ListToolsIn{Ref: r.in.Ref, Server: server.Name, Last: last}, server, local)
		local = false
		return err
	}
	var err error
	if first {
		err = tried(ctx, run)
	} else {
		err = run(true) // relistAfter is the wait between attempts
	}
	return r.noteListing(ctx, server.Name, out, err)
}

// requestList asks a server for its tools once. Only an agent's first request may be a local activity: the workflow task, and
// the model call that it starts, would wait for others.
func (r iteratingRun) requestList(
	ctx workflow.Context, in activities.ListToolsIn, server plan.ServerSkeleton, first bool,
) (out activities.ListToolsOut, err error) {
	regular := listOptions(ctx, r.in.Agent.Timeouts, server)
	options := workflow.GetActivityOptions(regular)
	options.WaitForCancellation = true // stopAndWait waits for the activity
	regular = workflow.WithActivityOptions(regular, options)
	if first && server.TaskQueue == "" {
		err = step{activity: act.ListTools, in: in, summary: "tools of " + server.Name, within: listWithin}.run(regular, &out)
	} else {
		err = workflow.ExecuteActivity(regular, act.ListTools, in).Get(ctx, &out)
	}
	return out, err
}

// listAll waits for every server's catalogue. Only runs that began before LevelListing use it, and tool plans that began
// before versionAwaitServers.
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

// versionAwaitServers marks the change that makes an agent wait for tool servers that start.
const versionAwaitServers = "2026-11-28-await-servers"

// awaitsServers reports whether the agent waits for its tool servers to start before it begins. Otherwise it began on an
// older worker.
func (r iteratingRun) awaitsServers(ctx workflow.Context) bool {
	return r.in.Level >= activities.LevelListing && len(r.in.Agent.Servers) > 0 &&
		workflow.GetVersion(ctx, versionAwaitServers, workflow.DefaultVersion, 1) != workflow.DefaultVersion
}

// startup is how long the agent waits for a tool server to start.
func (r iteratingRun) startup() time.Duration {
	return min(cmp.Or(r.in.Agent.Timeouts.Startup.D(), defaultStartup), maxStartup)
}

// serverStart is the wait for a tool server until it lists its tools for the first time.
type serverStart struct {
	iteratingRun
	server plan.ServerSkeleton
	begun  time.Time
	left   time.Duration // for further tries; time without a worker does not count
	failed int           // tries that did not fail for lack of time
	shown  *Outage       // nil until the wait is shown
}

// awaitStart asks a server for its tools until it has listed them, cannot be started, or has had its time, and reports
// whether it has listed them. The time that it has already taken for others counts: agents that begin later do not wait as
// long for a server that hangs.
func (r iteratingRun) awaitStart(ctx workflow.Context, server plan.ServerSkeleton) (listed bool) {
	s := &serverStart{iteratingRun: r, server: server, begun: workflow.Now(ctx), left: r.startup()}
	defer s.hide()
	for n := 1; ; n++ {
		within := min(firstStartTry<<min(n-1, 10), longestStartTry, s.left)
		in := activities.ListToolsIn{Ref: r.in.Ref, Server: server.Name, Within: plan.Duration(within)}
		in.Last = within == s.left || s.failed == serverTries-1 || r.steering.Concluding
		out, err := r.requestList(ctx, in, server, n == 1)
		if err == nil || in.Last || ctx.Err() != nil || !mayBeAsked(err) {
			return r.noteListing(ctx, server.Name, out, err)
		}
		away := awayOf(err)
		if away.Pending == 0 {
			if s.failed++; workflow.Sleep(ctx, firstRetry<<(s.failed-1)) != nil {
				return false
			}
			continue
		}
		limit := r.startup()
		if away.Running {
			limit = min(limit, runningStartup)
		}
		s.left = max(min(s.left-within, limit-away.Pending.D()), firstStartTry)
		s.show(ctx, n, away)
	}
}

// mayBeAsked reports whether a server that has not listed its tools may be asked again.
func mayBeAsked(err error) bool {
	errorType, _ := failure(err)
	return errorType == activities.ErrorServerUnavailable
}

// show shows the wait in the status, with the last line of the server's output, while the agent waits.
func (s *serverStart) show(ctx workflow.Context, tries int, away activities.ServerAway) {
	if !s.listing.waiting {
		return
	}
	if s.shown == nil {
		s.shown = &Outage{
			Agent: s.in.Agent.Name, Execution: s.in.Ref.Execution, Server: s.server.Name, Provider: "server " + s.server.Name,
			ErrorType: record.ServerStarting, Since: s.begun,
		}
		s.servers.calls = append(s.servers.calls, s.shown)
	}
	s.shown.Error, s.shown.Tries = "it is starting", tries
	if away.Running {
		s.shown.Error = "it has not listed its tools yet"
	}
	if away.Output != "" {
		s.shown.Error += ": " + clip.Line(away.Output, 200)
	}
	s.shown.Until = workflow.Now(ctx).Add(s.left)
	s.shown.Next = s.shown.Until
	s.note(ctx, "waiting for server "+s.server.Name+": "+s.shown.Error)
	s.waitReporter.changed()
}

// hide removes the wait from the status.
func (s *serverStart) hide() {
	if n := slices.Index(s.servers.calls, s.shown); n >= 0 {
		s.servers.calls = slices.Delete(s.servers.calls, n, n+1)
		s.waitReporter.changed()
	}
}

// endWait hides the waits of servers that the agent no longer waits for.
func (r iteratingRun) endWait() {
	r.listing.waiting = false
	starting := func(o *Outage) bool { return o.Starting() }
	if slices.ContainsFunc(r.servers.calls, starting) {
		r.servers.calls = slices.DeleteFunc(r.servers.calls, starting)
		r.waitReporter.changed()
	}
}

// unlistable is why a server has not listed its tools, for errors that are not the server's.
const unlistable = "its tools could not be listed"

// noteListing records why a server has not listed its tools, and reports whether it has.
func (r iteratingRun) noteListing(ctx workflow.Context, server string, out activities.ListToolsOut, err error) (listed bool) {
	missing := record.NotChecked{Server: server, Why: out.Error, Detail: out.Detail}
	if err != nil {
		_, missing.Detail = failure(err)
		if missing.Why = unlistable; ctx.Err() == nil {
			workflow.GetLogger(ctx).Warn("tools not listed", "server", server, "error", err)
		}
	}
	if r.listing.why == nil {
		r.listing.why = map[string]record.NotChecked{}
	}
	missing.Detail = clip.Line(missing.Detail, 300)
	r.listing.why[server] = missing
	return err == nil && out.Error == ""
}

// notChecked returns the servers whose tools the agent never had.
func (r *agentRun) notChecked() []record.NotChecked {
	if r.state.Usage.ModelCalls == 0 { // it has never got as far as using tools
		return iteratingRun{r}.missing()
	}
	return r.state.Missing
}

// missing returns the servers without a catalogue, with the reasons.
func (r iteratingRun) missing() (out []record.NotChecked) {
	for _, server := range r.unlisted() {
		one, known := r.listing.why[server.Name]
		if n := slices.IndexFunc(r.state.Missing, func(m record.NotChecked) bool { return m.Server == server.Name }); !known && n >= 0 {
			one = r.state.Missing[n] // from an earlier run
		}
		one.Server = server.Name
		out = append(out, one)
	}
	return out
}

// awayOf returns what an error of type ErrorServerUnavailable says of the server. It is zero for any other error.
func awayOf(err error) (away activities.ServerAway) {
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok && failed.HasDetails() {
		_ = failed.Details(&away) // other errors have no such details
	}
	return away
}
