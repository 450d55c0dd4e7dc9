package faults

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"go.temporal.io/sdk/testsuite"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// BenchmarkOwnTools is 50 agents at once that each make 20 memory calls in a
// reply, through the activity and the real store. The replies are written before.
func BenchmarkOwnTools(b *testing.B) {
	const agents, calls = 50, 20
	s := openStore(b)
	crowd := make([]bystander, agents)
	for n := range crowd {
		crowd[n] = newBystander(b, newRun(s, fmt.Sprintf("bench-%d", n), 1, profiles[0]))
	}
	iteration := 0
	for b.Loop() {
		iteration++
		b.StopTimer()
		for _, one := range crowd {
			one.reply(b, iteration, calls)
		}
		b.StartTimer()
		var all sync.WaitGroup
		for _, one := range crowd {
			all.Go(func() { one.call(b, iteration, calls) })
		}
		all.Wait()
	}
	saved, err := s.ExportMemory(b.Context(), crowd[0].plan.Stages[0].Agents[0].Definition)
	if err != nil || len(saved.Archival) != iteration*calls/4 {
		b.Errorf("%d entries after %d replies: %v", len(saved.Archival), iteration, err)
	}
	b.ReportMetric(float64(b.N*agents*calls)/b.Elapsed().Seconds(), "calls/s")
}

// environmentRun is the run id that the environment gives to activities.
const environmentRun = "default-test-run-id"

// bystander is an agent whose activities are run by hand.
type bystander struct {
	*run
	env *testsuite.TestActivityEnvironment
	act *activities.Activities
	ref activities.Ref
}

func newBystander(b *testing.B, r *run) bystander {
	r.employ(newWorker(rowOf(b, "memgpt"), "A", r.id))
	body, err := json.Marshal(r.plan)
	if err != nil {
		b.Fatal(err)
	}
	hash, err := r.store.PutBlob(b.Context(), body)
	if err != nil {
		b.Fatal(err)
	}
	var suite testsuite.WorkflowTestSuite
	one := bystander{run: r, env: suite.NewTestActivityEnvironment(), act: r.activities()}
	one.env.RegisterActivity(one.act)
	one.ref = activities.Ref{Investigation: r.investigation(), Execution: "work/A", Plan: hash}
	return one
}

// reply writes what the model has said.
func (o bystander) reply(b *testing.B, iteration, calls int) {
	body := transcript.Body{}
	for n := range calls {
		call := []agent.ToolCall{
			{Name: agent.ToolCoreMemoryAppend, Arguments: `{"label":"scratch","content":"the pool of payments has twenty connections"}`},
			{Name: agent.ToolCoreMemoryReplace, Arguments: `{"label":"scratch","old_content":"the pool of payments has twenty connections","new_content":""}`},
			{Name: agent.ToolArchivalMemoryInsert, Arguments: `{"content":"The pool of payments was exhausted because a retry leaked its connections."}`},
			{Name: agent.ToolArchivalMemorySearch, Arguments: `{"query":"redis eviction"}`},
		}[n%4]
		body.Calls = append(body.Calls, transcript.Call{ID: fmt.Sprint(n), Name: call.Name, Arguments: call.Arguments, Own: true})
	}
	step := transcript.Step{Scope: o.scope("work/A"), Writer: transcript.Writer{RunID: environmentRun, ActivityID: "1"}, Rows: []transcript.Row{
		{Key: transcript.Key{Iteration: iteration}, Kind: transcript.KindReply, Body: body},
	}}
	if _, err := o.store.Append(b.Context(), step); err != nil {
		b.Fatal(err)
	}
}

func (o bystander) call(b *testing.B, iteration, calls int) {
	in := activities.CallOwnToolsIn{Ref: o.ref, Iteration: iteration}
	for n := range calls {
		in.Calls = append(in.Calls, n)
	}
	if _, err := o.env.ExecuteActivity(o.act.CallOwnTools, in); err != nil {
		b.Error(err)
	}
}
