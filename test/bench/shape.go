package main

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/workflows"
)

const (
	nameInquest = "inquest"
	nameShape   = "bare shape"
	nameLoop    = "bare loop"
)

// bareQueue is the baselines' task queue.
const bareQueue = "bench-bare"

// step is an activity that does nothing, with a little in and out.
func step(_ context.Context, in stepIn) (stepOut, error) { return stepOut{Done: in.Step}, nil }

type stepIn struct {
	Of   string `json:"of"`
	Step string `json:"step"`
}

type stepOut struct {
	Done string `json:"done"`
}

func registerBare(w worker.Worker) {
	for _, wf := range []any{loop, shapeInvestigation, shapeStage, shapeAgent} {
		w.RegisterWorkflow(wf)
	}
	w.RegisterActivity(step)
}

// loop is what a bare Temporal program makes of 20 steps.
func loop(ctx workflow.Context, id string) error {
	for n := range modelCalls + toolCalls {
		if err := begin(ctx, id, fmt.Sprint("step ", n)).Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// shapeInvestigation, shapeStage and shapeAgent run the activities that an
// investigation with one stage and one agent runs, in the same order.
func shapeInvestigation(ctx workflow.Context, id string) error {
	if err := begin(ctx, id, "resolve").Get(ctx, nil); err != nil {
		return err
	}
	if err := workflow.ExecuteChildWorkflow(child(ctx, id+"/"+stageName), shapeStage, id).Get(ctx, nil); err != nil {
		return err
	}
	return begin(ctx, id, "finish").Get(ctx, nil)
}

func shapeStage(ctx workflow.Context, id string) error {
	ctx = child(ctx, id+"/"+stageName+"/"+agentName)
	if err := workflow.ExecuteChildWorkflow(ctx, shapeAgent, id).Get(ctx, nil); err != nil {
		return err
	}
	return begin(ctx, id, "save stage").Get(ctx, nil)
}

func shapeAgent(ctx workflow.Context, id string) error {
	if err := begin(ctx, id, "list tools").Get(ctx, nil); err != nil {
		return err
	}
	for n := range modelCalls {
		if err := begin(ctx, id, fmt.Sprint("generate ", n)).Get(ctx, nil); err != nil {
			return err
		}
		var calls []workflow.Future
		for c := range callsOf(n) {
			calls = append(calls, begin(ctx, id, fmt.Sprint("call ", n, ".", c)))
		}
		for _, call := range calls {
			if err := call.Get(ctx, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func begin(ctx workflow.Context, id, name string) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	return workflow.ExecuteActivity(ctx, step, stepIn{Of: id, Step: name})
}

func child(ctx workflow.Context, id string) workflow.Context {
	return workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: id})
}

// bare is a baseline.
type bare struct {
	client   client.Client
	called   string
	workflow func(workflow.Context, string) error
	children []string // what comes after the id in those of its children
}

func (b bare) name() string { return b.called }

func (b bare) run(ctx context.Context, id string) ([]string, error) {
	options := client.StartWorkflowOptions{ID: id, TaskQueue: bareQueue, WorkflowTaskTimeout: workflows.WorkflowTaskTimeout}
	run, err := b.client.ExecuteWorkflow(ctx, options, b.workflow, id)
	if err != nil {
		return nil, err
	}
	ids := []string{id}
	for _, c := range b.children {
		ids = append(ids, id+c)
	}
	return ids, run.Get(ctx, nil)
}
