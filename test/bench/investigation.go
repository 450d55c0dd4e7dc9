package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/workflows"
)

// investigation is the workload that this is about.
type investigation struct {
	client client.Client
	scale  scale
	data   json.RawMessage
}

func newInvestigation(c client.Client, s scale) investigation {
	data, _ := json.Marshal(filler(s.data)) // a string always can be
	return investigation{client: c, scale: s, data: data}
}

func (investigation) name() string { return nameInquest }

func (v investigation) run(ctx context.Context, id string, _ time.Duration) ([]string, error) {
	run, err := v.start(ctx, id)
	if err != nil {
		return nil, err
	}
	var result workflows.InvestigationResult
	if err := run.Get(ctx, &result); err != nil {
		return nil, err
	}
	if u := result.Usage; result.Report != answer || u.ModelCalls != v.scale.modelCalls || u.ToolCalls != v.scale.toolCalls() {
		return nil, fmt.Errorf("investigation %s did not take its %d steps: %+v", id, v.scale.steps(), result)
	}
	stage := result.ID + "/" + stageName
	return []string{id, stage, stage + "/" + agentName}, nil
}

func (v investigation) start(ctx context.Context, id string) (client.WorkflowRun, error) {
	options := client.StartWorkflowOptions{ID: id, TaskQueue: workflows.TaskQueue, WorkflowTaskTimeout: workflows.WorkflowTaskTimeout}
	return v.client.ExecuteWorkflow(ctx, options, workflows.TypeInvestigation, agent.Request{Chain: v.scale.name, Data: v.data})
}
