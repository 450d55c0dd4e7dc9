package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/spell"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool"
)

// askedWithin limits the check of a request's tools with their servers.
const askedWithin = 30 * time.Second

// unknownTools returns an error for each tool that a request names and its server lacks. It uses the server's last offer
// where possible. It asks a server that is unknown or may have changed. Servers that cannot be asked here are left to
// the agents, who are told.
func (a resolver) unknownTools(ctx context.Context, investigation string, asked agent.MCP, p plan.Plan) (unknown []error, err error) {
	asking, cancel := context.WithTimeout(ctx, askedWithin)
	defer cancel()
	for n, s := range asked.Servers {
		names := s.ToolNames()
		if len(names) == 0 {
			continue
		}
		last, err := a.Transcripts.LastOffer(ctx, s.Name)
		if err != nil {
			return nil, err
		}
		offered := toolNames(last.Tools)
		missing := func(name string) bool { return !slices.Contains(offered, name) }
		if server, here := serverHere(p, s.Name); here && slices.ContainsFunc(names, missing) {
			if activity.GetInfo(ctx).IsLocalActivity { // a server may take longer to start than a workflow task
				return nil, job.Cannot(ctx, errors.New("the servers must be asked for their tools, which can take longer than a workflow task"))
			}
			if now := a.ask(asking, server, investigation); len(now) > 0 {
				offered = now
			}
		}
		for m, name := range names {
			if len(offered) > 0 && missing(name) {
				const text = "mcp.servers[%d].tools[%d]: the MCP server %q has no tool %q%s"
				unknown = append(unknown, fmt.Errorf(text, n, m, s.Name, name, spell.DidYouMean(name, offered)))
			}
		}
	}
	return unknown, nil
}

// ask lists the tools that a server has now; none if it does not answer.
func (a resolver) ask(ctx context.Context, server plan.Server, session string) []string {
	specs, err := a.Servers.List(ctx, server, session)
	if a.Sessions != nil {
		a.Sessions.End(session)
	}
	if err != nil {
		a.Logger.Warn("a server could not list the tools that a request names", "server", server.Name, "error", err)
	}
	return toolNames(specs)
}

// serverHere returns a server of a plan that any worker can ask.
func serverHere(p plan.Plan, name string) (plan.Server, bool) {
	for _, stage := range p.Stages {
		for _, agent := range stage.All() {
			for _, s := range agent.Servers {
				if s.Name == name && s.TaskQueue == "" {
					return s, true
				}
			}
		}
	}
	return plan.Server{}, false
}

func toolNames(specs []tool.Spec) (names []string) {
	for _, spec := range specs {
		names = append(names, spec.Name)
	}
	return names
}

// refuseSame refuses an investigation if another one with the same fingerprint is running, or completed within a time.
// Callers that use the fingerprint as the workflow id get here only after the other one has completed. Others may choose
// their own workflow ids.
func (a resolver) refuseSame(ctx context.Context, r record.Investigation, within time.Duration) error {
	if r.Fingerprint == "" {
		return nil
	}
	same, err := a.Records.Same(ctx, r, r.StartedAt.Add(-within))
	if err != nil {
		return err
	}
	for _, other := range same {
		state := string(other.Status)
		if other.EndedAt == nil {
			end, err := a.Runs.Ending(ctx, other.WorkflowID, other.RunID)
			switch {
			case errors.Is(err, record.ErrNotFound) || err == nil && end.EndedAt != nil:
				continue // terminated, but not recorded yet
			case err != nil:
				return err
			}
			state = "running"
		}
		const text = `%s has the same fingerprint (%s) and is %s. Use that investigation, or set "again": true`
		return refusal(fmt.Errorf(text, other.ID, r.Fingerprint, state))
	}
	return nil
}
