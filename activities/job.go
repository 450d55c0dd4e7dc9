package activities

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// job is an agent's activity: who it works for, and which attempt writes.
type job struct {
	*Activities
	ref    Ref
	plan   agent.Plan
	agent  agent.AgentPlan
	row    agent.Type
	writer transcript.Writer
}

func (a *Activities) job(ctx context.Context, ref Ref) (*job, error) {
	info := activity.GetInfo(ctx)
	j := &job{Activities: a, ref: ref}
	j.writer = transcript.Writer{RunID: info.WorkflowExecution.RunID, ActivityID: info.ActivityID}
	plan, err := a.plan(ctx, ref.Plan)
	if err != nil {
		return nil, err
	}
	var ok bool
	if j.agent, ok = plan.Agent(ref.Stage, ref.Agent); !ok {
		return nil, final(ErrorNotFound, fmt.Errorf("plan %s has no agent %d in stage %d", ref.Plan, ref.Agent, ref.Stage))
	}
	if j.row, ok = agent.LookupType(j.agent.Type); !ok {
		return nil, final(ErrorConfiguration, fmt.Errorf("agent %s has the type %q, which this worker does not know", j.agent.Name, j.agent.Type))
	}
	j.plan = plan
	return j, nil
}

// offered is what the agent may do with its tools, the same for offering and for
// executing. missing says which servers have none to offer, and why. It takes what
// catalogues returns.
func (j *job) offered(catalogues []tool.Catalogue, err error) (tools *tool.Set, missing map[string]string, _ error) {
	if err != nil {
		return nil, nil, fmt.Errorf("read tool catalogues: %w", err)
	}
	missing = map[string]string{}
	for _, server := range j.agent.Servers {
		missing[server.Name] = "its tools could not be listed"
	}
	for _, c := range catalogues {
		missing[c.Server] = c.Error
	}
	return j.Policy.Tools(j.row, j.agent, catalogues, j.Builtins.Specs(j.agent)), missing, nil
}

// catalogues are what the servers of the execution offer. They are read beside
// what the caller does until it asks for them.
func (j *job) catalogues(ctx context.Context) func() ([]tool.Catalogue, error) {
	var all []tool.Catalogue
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		all, err = j.cataloguesOf(ctx, j.ref.scope())
	}()
	return func() ([]tool.Catalogue, error) {
		<-done
		return all, err
	}
}

// queue is the task queue of a tool's server; "" is the main one.
func (j *job) queue(name string) string {
	server, _ := tool.Split(name)
	for _, s := range j.agent.Servers {
		if s.Name == server {
			return s.TaskQueue
		}
	}
	return ""
}

// keepAlive heartbeats until the function that it returns is called, so that a
// dead worker is noticed and a cancellation arrives. It says nothing about
// progress: a model's stream has an idle timeout, a tool a timeout of its own.
func keepAlive(ctx context.Context) (stop func()) {
	every := activity.GetInfo(ctx).HeartbeatTimeout / 4
	if every <= 0 {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ctx.Done():
				return
			case <-ticker.C:
				activity.RecordHeartbeat(ctx)
			}
		}
	}()
	return func() { close(done) }
}
