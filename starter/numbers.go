package main

import (
	"context"
	"strings"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/workflows"
)

// withNumbers puts into the status of an investigation that runs what it has used so far:
// as the store says, or without one as the agents said when they were asked.
func (c *cli) withNumbers(ctx context.Context, status *workflows.Status, agents map[string]workflows.AgentStatus) error {
	known := false
	err := c.withStore(ctx, func(st *store.Store) (err error) {
		var r record.Investigation
		if r, known, err = saved(ctx, st, status.ID); err != nil || !known {
			return err
		}
		executions, err := st.Executions(ctx, r.ID)
		status.Usage = r.Usage
		number(status, executions)
		return err
	})
	for s := range status.Stages {
		for n := range status.Stages[s].Agents {
			a := &status.Stages[s].Agents[n]
			now, asked := agents[a.WorkflowID]
			a.Iterations = max(a.Iterations, now.Iteration)
			if asked && !known {
				a.Usage, status.Usage = now.Usage, status.Usage.Add(now.Usage)
			}
		}
	}
	return err
}

// number gives each agent of a status the numbers of its execution. An execution of a stage
// that runs may be of an agent that the status does not know yet: the one that joins the others' work.
func number(status *workflows.Status, executions []record.Execution) {
	for s := range status.Stages {
		stage := &status.Stages[s]
		for _, e := range executions {
			if e.Stage != stage.Name {
				continue
			}
			named := false
			for n := range stage.Agents {
				if a := &stage.Agents[n]; a.Name == agentName(e) {
					named, a.Iterations, a.Usage = true, e.Iterations, e.Usage
				}
			}
			if !named && !stage.Status.Closed() {
				stage.Agents = append(stage.Agents, summaryOf(e))
			}
		}
	}
}

// agentName is an agent's name in its stage: replicas have numbers.
func agentName(e record.Execution) string { return strings.TrimPrefix(e.Name, e.Stage+"/") }
