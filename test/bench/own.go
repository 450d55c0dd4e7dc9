package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/testsuite"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// The built-in steps: the number of parallel agents, and of memory calls in each reply.
const (
	ownAgents = 50
	ownCalls  = 20
)

// ownEach are the calls of a reply, repeated in this order.
var ownEach = []agent.ToolCall{
	{Name: agent.ToolCoreMemoryAppend, Arguments: `{"label":"scratch","content":"payments has twenty connections"}`},
	{Name: agent.ToolCoreMemoryReplace, Arguments: `{"label":"scratch","old_content":"payments has twenty connections","new_content":""}`},
	{Name: agent.ToolArchivalMemoryInsert, Arguments: `{"content":"The pool of payments was exhausted: a retry leaked its connections."}`},
	{Name: agent.ToolArchivalMemorySearch, Arguments: `{"query":"redis eviction"}`},
}

// ownCall returns the n-th call of a reply, from 0.
func ownCall(n int) transcript.Call {
	call := ownEach[n%len(ownEach)]
	return transcript.Call{ID: fmt.Sprint(n), Name: call.Name, Arguments: call.Arguments, Own: true}
}

// runOwn measures memory calls through the activity and the real store, without Temporal and without a model:
// the replies with the calls are written beforehand. It compares them with writing as many rows.
func runOwn(ctx context.Context, sys *system, o options, result *report) error {
	crowd := make([]rememberer, ownAgents)
	for n := range crowd {
		var err error
		if crowd[n], err = newRememberer(ctx, sys, fmt.Sprint("own-", n)); err != nil {
			return err
		}
	}
	var took, rows time.Duration
	for reply := 1; reply <= o.rounds; reply++ {
		for _, r := range crowd {
			if err := r.reply(ctx, reply); err != nil {
				return err
			}
		}
		calls, err := together(crowd, func(r rememberer) error { return r.call(reply) })
		if err != nil {
			return err
		}
		alone, err := together(crowd, func(r rememberer) error { return r.write(ctx, reply) })
		if err != nil {
			return err
		}
		took, rows = took+calls, rows+alone
	}
	saved, err := sys.store.ExportMemory(ctx, crowd[0].agent)
	if err == nil && len(saved.Archival) != o.rounds*ownCalls/len(ownEach) {
		err = fmt.Errorf("%d entries are remembered after %d replies", len(saved.Archival), o.rounds)
	}
	result.OwnSteps = float64(o.rounds*ownAgents*ownCalls) / took.Seconds()
	result.OwnRatio = rows.Seconds() / took.Seconds()
	o.progressf("built-in steps: %.0f a second, %.2f of the rows that are written in that time", result.OwnSteps, result.OwnRatio)
	return err
}

// together returns how long all agents take to do something at the same time.
func together(crowd []rememberer, fn func(rememberer) error) (time.Duration, error) {
	begun := time.Now()
	var all sync.WaitGroup
	failures := make([]error, len(crowd))
	for n, r := range crowd {
		all.Go(func() { failures[n] = fn(r) })
	}
	all.Wait()
	return time.Since(begun), errors.Join(failures...)
}

// rememberer is an agent whose activity is called directly.
type rememberer struct {
	sys   *system
	agent string
	act   *activities.Activities
	env   *testsuite.TestActivityEnvironment
	ref   activities.Ref
}

// ownRun is the run ID that the test environment gives to activities.
const ownRun = "default-test-run-id"

func newRememberer(ctx context.Context, sys *system, name string) (rememberer, error) {
	r := rememberer{sys: sys, agent: name, act: &activities.Activities{
		Transcripts: sys.store, Memories: sys.store, Blobs: sys.store, Records: sys.store, Limits: sys.store,
		Builtins: memoryAlone{}, Validator: tool.NewValidator(), Policy: tool.NewPolicy(nil),
	}}
	p, err := sys.config.Plan(agent.Request{Chain: chainOwn})
	if err != nil {
		return r, err
	}
	p.Stages[0].Agents[0].Definition = name // a separate memory for each
	body, err := json.Marshal(p)
	if err != nil {
		return r, err
	}
	hash, err := sys.store.PutBlob(ctx, body)
	r.ref = activities.Ref{Investigation: name, Execution: stageName + "/Rememberer", Plan: hash}
	var suite testsuite.WorkflowTestSuite
	r.env = suite.NewTestActivityEnvironment()
	r.env.RegisterActivity(r.act)
	return r, err
}

// reply writes the model's reply to the store.
func (r rememberer) reply(ctx context.Context, iteration int) error {
	var body transcript.Body
	for n := range ownCalls {
		body.Calls = append(body.Calls, ownCall(n))
	}
	_, err := r.sys.store.Append(ctx, transcript.Step{
		Scope:  transcript.Scope{Investigation: r.ref.Investigation, Execution: r.ref.Execution},
		Writer: transcript.Writer{RunID: ownRun, ActivityID: "1"},
		Rows:   []transcript.Row{{Key: transcript.Key{Iteration: iteration}, Kind: transcript.KindReply, Body: body}},
	})
	return err
}

func (r rememberer) call(iteration int) error {
	in := activities.CallOwnToolsIn{Ref: r.ref, Iteration: iteration}
	for n := range ownCalls {
		in.Calls = append(in.Calls, n)
	}
	_, err := r.env.ExecuteActivity(r.act.CallOwnTools, in)
	return err
}

// write writes a row for each call of a reply, without making the calls.
func (r rememberer) write(ctx context.Context, iteration int) error {
	step := transcript.Step{
		Scope:  transcript.Scope{Investigation: r.ref.Investigation, Execution: stageName + "/Writer"},
		Writer: transcript.Writer{RunID: ownRun, ActivityID: "2"},
	}
	for n := range ownCalls {
		call := ownCall(n)
		body := transcript.Body{Text: "done", Call: &call}
		step.Rows = append(step.Rows, transcript.Row{Key: transcript.ResultKey(iteration, n), Kind: transcript.KindResult, Body: body})
	}
	_, err := r.sys.store.Append(ctx, step)
	return err
}

// memoryAlone offers only the memory's tools, which the store itself runs.
type memoryAlone struct{}

func (memoryAlone) Specs(plan.Agent) []tool.Spec { return memory.Specs() }

func (memoryAlone) Call(context.Context, plan.Agent, tool.Call) (tool.Result, error) {
	return tool.Result{}, errors.New("a tool was called that is not of the memory")
}
