package workflows

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
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

// settle gives up the requests in flight and waits for their ends, so that the workflow can
// continue as new. The next run asks the same servers again.
func (l *listing) settle(ctx workflow.Context) error {
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
	options.WaitForCancellation = true // settle waits for the activity
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
