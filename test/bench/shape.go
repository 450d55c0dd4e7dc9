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
	nameHand    = "by hand"
)

var workloadNames = []string{nameInquest, nameShape, nameLoop, nameHand}

// bareQueue is the task queue of the baselines and of the loop by hand.
const bareQueue = "bench-bare"

// step is an activity that does nothing, with a little in and out, for as long as it is told.
func step(_ context.Context, in stepIn) (stepOut, error) {
	time.Sleep(in.Takes)
	return stepOut{Done: in.Step}, nil
}

type stepIn struct {
	Of    string        `json:"of"`
	Step  string        `json:"step"`
	Takes time.Duration `json:"takes,omitempty"`
}

type stepOut struct {
	Done string `json:"done"`
}

// bareIn is what a baseline is given: how long what stands for a model call takes.
type bareIn struct {
	ID    string        `json:"id"`
	Takes time.Duration `json:"takes,omitempty"`
}

func registerBare(w worker.Worker, h *hand) {
	for _, wf := range []any{loop, shapeInvestigation, shapeStage, shapeAgent, byHand} {
		w.RegisterWorkflow(wf)
	}
	w.RegisterActivity(step)
	w.RegisterActivity(h)
}

// loop is what a bare Temporal program makes of 20 steps.
func loop(ctx workflow.Context, in bareIn) error {
	for n := range short.steps() {
		takes := in.Takes
		if n%2 == 1 { // a tool call
			takes = 0
		}
		if err := begin(ctx, in.ID, fmt.Sprint("step ", n), takes).Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// shapeInvestigation, shapeStage and shapeAgent run the activities that an
// investigation with one stage and one agent runs, in the same order.
func shapeInvestigation(ctx workflow.Context, in bareIn) error {
	if err := begin(ctx, in.ID, "resolve", 0).Get(ctx, nil); err != nil {
		return err
	}
	if err := workflow.ExecuteChildWorkflow(child(ctx, in.ID+"/"+stageName), shapeStage, in).Get(ctx, nil); err != nil {
		return err
	}
	return begin(ctx, in.ID, "finish", 0).Get(ctx, nil)
}

func shapeStage(ctx workflow.Context, in bareIn) error {
	agent := child(ctx, in.ID+"/"+stageName+"/"+agentName)
	if err := workflow.ExecuteChildWorkflow(agent, shapeAgent, in).Get(ctx, nil); err != nil {
		return err
	}
	return begin(ctx, in.ID, "save stage", 0).Get(ctx, nil)
}

func shapeAgent(ctx workflow.Context, in bareIn) error {
	if err := begin(ctx, in.ID, "list tools", 0).Get(ctx, nil); err != nil {
		return err
	}
	for n := range short.modelCalls {
		if err := begin(ctx, in.ID, fmt.Sprint("generate ", n), in.Takes).Get(ctx, nil); err != nil {
			return err
		}
		var calls []workflow.Future
		for c := range short.callsOf(n) {
			calls = append(calls, begin(ctx, in.ID, fmt.Sprint("call ", n, ".", c), 0))
		}
		for _, call := range calls {
			if err := call.Get(ctx, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func begin(ctx workflow.Context, id, name string, takes time.Duration) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	return workflow.ExecuteActivity(ctx, step, stepIn{Of: id, Step: name, Takes: takes})
}

func child(ctx workflow.Context, id string) workflow.Context {
	return workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: id})
}

// bare is a baseline.
type bare struct {
	client   client.Client
	called   string
	workflow func(workflow.Context, bareIn) error
	children []string // what comes after the id in those of its children
}

func (b bare) name() string { return b.called }

func (b bare) run(ctx context.Context, id string, takes time.Duration) ([]string, error) {
	options := client.StartWorkflowOptions{ID: id, TaskQueue: bareQueue, WorkflowTaskTimeout: workflows.WorkflowTaskTimeout}
	run, err := b.client.ExecuteWorkflow(ctx, options, b.workflow, bareIn{id, takes})
	if err != nil {
		return nil, err
	}
	ids := []string{id}
	for _, c := range b.children {
		ids = append(ids, id+c)
	}
	return ids, run.Get(ctx, nil)
}
