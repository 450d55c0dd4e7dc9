package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/terminal"
	"github.com/inquest-dev/inquest/workflows"
)

// askEvery is how often an investigation is asked for its status.
const askEvery = time.Second

// resolved reports whether a worker has made a plan, and with it a record.
func (c *cli) resolved(ctx context.Context, t target) bool {
	var status workflows.Status
	return t.query(ctx, workflows.QueryStatus, &status) == nil && status.Chain != ""
}

// progress prints a line whenever a stage or an agent has come further, until
// the investigation has ended.
func (c *cli) progress(ctx context.Context, t target, closed <-chan struct{}) {
	last := map[string]string{}
	for ctx.Err() == nil && !isClosed(closed) {
		var status workflows.Status
		if t.query(ctx, workflows.QueryStatus, &status) == nil {
			for _, step := range steps(status, t.agents(ctx, status)) {
				if last[step.name] != step.text {
					last[step.name] = step.text
					fmt.Fprintln(c.out, terminal.CleanLine(step.text))
				}
			}
		}
		select {
		case <-ctx.Done():
		case <-closed:
		case <-time.After(askEvery):
		}
	}
}

// step is one line of progress.
type step struct{ name, text string }

func steps(status workflows.Status, agents map[string]workflows.AgentStatus) []step {
	var out []step
	for _, stage := range status.Stages {
		if stage.Status == agent.StatusPending {
			continue
		}
		out = append(out, step{stage.Name, fmt.Sprintf("stage %s: %s", stage.Name, stage.Status)})
		for _, a := range stage.Agents {
			name := stage.Name + "/" + a.Name
			out = append(out, step{name, name + ": " + strings.Join(present([]string{string(a.Status), doing(a, agents)}), " · ")})
		}
	}
	for _, a := range status.Waiting {
		out = append(out, step{callName(a), waitingLine(status.ID, a)})
	}
	for _, q := range status.Questions {
		out = append(out, step{q.ID, questionLine(status.ID, q)})
	}
	for _, o := range status.Outages {
		out = append(out, step{"trouble of " + o.Execution, outageLine(o)})
	}
	if status.Status == agent.StatusPaused {
		out = append(out, step{"", "paused: waiting for " + status.WaitingFor})
	}
	return out
}

// doing says how far an agent is.
func doing(a workflows.AgentSummary, agents map[string]workflows.AgentStatus) string {
	if now, ok := agents[a.WorkflowID]; ok {
		return fmt.Sprintf("iteration %d of %d · %s · %s", now.Iteration, now.MaxIterations, now.Doing, terminal.Usage(a.Usage))
	}
	if a.Status.Closed() || a.Iterations > 0 {
		return fmt.Sprintf("%s · %s", terminal.Count(a.Iterations, "iteration"), terminal.Usage(a.Usage))
	}
	return ""
}

// agents asks the agents that run what they do, by their workflow ids.
func (t target) agents(ctx context.Context, status workflows.Status) map[string]workflows.AgentStatus {
	out := map[string]workflows.AgentStatus{}
	for _, stage := range status.Stages {
		for _, a := range stage.Agents {
			var now workflows.AgentStatus
			if !a.Status.Closed() && a.WorkflowID != "" && query(ctx, t.client, a.WorkflowID, "", workflows.QueryStatus, &now) == nil {
				out[a.WorkflowID] = now
			}
		}
	}
	return out
}
