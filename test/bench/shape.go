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
	nameOwn     = "own shape"
	nameHand    = "by hand"
)

var workloadNames = []string{nameInquest, nameShape, nameOwn, nameLoop, nameHand}

// bareQueue is the task queue of the baselines and of the loop by hand.
const bareQueue = "bench-bare"

// step is an activity that does nothing for the given duration, with small input and output.
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

// bareIn is the input of a baseline: how long a simulated model call takes.
type bareIn struct {
	ID    string        `json:"id"`
	Takes time.Duration `json:"takes,omitempty"`
	// Local runs as local activities the steps that Inquest runs within the workflow task.
	Local bool `json:"local,omitempty"`
}

func registerBare(w worker.Worker, h *hand) {
	for _, wf := range []any{loop, shapeInvestigation, shapeStage, shapeAgent, byHand} {
		w.RegisterWorkflow(wf)
	}
	w.RegisterActivity(step)
	w.RegisterActivity(h)
}

// loop is a plain Temporal program with 20 steps.
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

// shapeInvestigation, shapeStage and shapeAgent run the same activities in the same order as an investigation
// with one stage and one agent: all of them, or as many as Inquest needs.
func shapeInvestigation(ctx workflow.Context, in bareIn) error {
	if err := beginQuick(ctx, in, "resolve").Get(ctx, nil); err != nil {
		return err
	}
	if err := workflow.ExecuteChildWorkflow(child(ctx, in.ID+"/"+stageName), shapeStage, in).Get(ctx, nil); err != nil {
		return err
	}
	return beginQuick(ctx, in, "finish").Get(ctx, nil)
}

func shapeStage(ctx workflow.Context, in bareIn) error {
	agent := child(ctx, in.ID+"/"+stageName+"/"+agentName)
	if err := workflow.ExecuteChildWorkflow(agent, shapeAgent, in).Get(ctx, nil); err != nil {
		return err
	}
	return beginQuick(ctx, in, "save stage").Get(ctx, nil)
}

func shapeAgent(ctx workflow.Context, in bareIn) error {
	if err := beginQuick(ctx, in, "list tools").Get(ctx, nil); err != nil {
		return err
	}
	for n := range short.modelCalls {
		if err := begin(ctx, in.ID, fmt.Sprint("generate ", n), in.Takes).Get(ctx, nil); err != nil {
			return err
		}
		var calls []workflow.Future
		for c := range short.callsOf(n) {
			calls = append(calls, beginQuick(ctx, in, fmt.Sprint("call ", n, ".", c)))
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

// beginQuick starts an activity that only uses the store, or calls a tool that is known to be quick.
func beginQuick(ctx workflow.Context, in bareIn, name string) workflow.Future {
	if !in.Local {
		return begin(ctx, in.ID, name, 0)
	}
	ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: time.Minute})
	return workflow.ExecuteLocalActivity(ctx, step, stepIn{Of: in.ID, Step: name})
}

func child(ctx workflow.Context, id string) workflow.Context {
	return workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: id})
}

// bare is a baseline.
type bare struct {
	client   client.Client
	called   string
	workflow func(workflow.Context, bareIn) error
	children []string // suffixes of its children's IDs
	local    bool     // see bareIn
}

func (b bare) name() string { return b.called }

func (b bare) run(ctx context.Context, id string, takes time.Duration) ([]string, error) {
	options := client.StartWorkflowOptions{ID: id, TaskQueue: bareQueue, WorkflowTaskTimeout: workflows.WorkflowTaskTimeout}
	run, err := b.client.ExecuteWorkflow(ctx, options, b.workflow, bareIn{id, takes, b.local})
	if err != nil {
		return nil, err
	}
	ids := []string{id}
	for _, c := range b.children {
		ids = append(ids, id+c)
	}
	return ids, run.Get(ctx, nil)
}
