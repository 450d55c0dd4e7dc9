package fork_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/fork"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// asked gives calls of a journal their own arguments, by the rows of their results.
func (j journal) asked(arguments map[int]string) journal {
	for row, text := range arguments { // any order: each is another row
		call := *j[row-1].Call
		call.Arguments = text
		j[row-1].Call = &call
	}
	return j
}

// Without a result, each agent shares what comes before the first reply that had read it or the result of an equal call, also in another
// spelling. What can rest on it is not shared.
func TestResultsThatAreLeftOut(t *testing.T) {
	t.Parallel()
	part := func(iterations int) plan.ForkPart { return plan.ForkPart{Iterations: iterations} }
	ended := plan.ForkPart{Iterations: 2, Ended: true}
	for name, test := range map[string]struct {
		arguments map[int]string
		row       string
		at        string
		left      []int64
		given     []int64
		parts     map[string]plan.ForkPart
	}{
		"one agent's": {
			map[int]string{3: `{"n":1}`}, "3", "7", []int64{3}, []int64{3},
			map[string]plan.ForkPart{"collect/Logs": part(1), "collect/Metrics": ended},
		},
		"by the call's ID": {
			map[int]string{3: `{"n":1}`}, "collect/Logs/1/0", "7", []int64{3}, []int64{3},
			map[string]plan.ForkPart{"collect/Logs": part(1), "collect/Metrics": ended},
		},
		"two agents'": {
			map[int]string{3: `{"a":1,"b":2}`, 5: `{"b": "2", "a": 1}`, 6: `{"a":2}`}, "5", "7", []int64{3, 5}, []int64{3, 5},
			map[string]plan.ForkPart{"collect/Logs": part(1), "collect/Metrics": part(1)},
		},
		"one of two calls of a reply": {
			map[int]string{6: `{"n":1}`}, "6", "9", []int64{6}, []int64{6},
			map[string]plan.ForkPart{"collect/Logs": ended, "collect/Metrics": part(1)},
		},
		"of a dispatched agent": {
			map[int]string{14: `{"n":1}`}, "14", "11", []int64{14}, nil,
			map[string]plan.ForkPart{"collect/Logs": ended, "collect/Metrics": ended, "collect/Join": {Iterations: 1, Ended: true}},
		},
		"also of a dispatched agent": {
			map[int]string{14: `{"n":1}`, 3: `{"n":1}`}, "14", "7", []int64{3, 14}, []int64{3},
			map[string]plan.ForkPart{"collect/Logs": part(1), "collect/Metrics": ended},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := rows().asked(test.arguments)
			f, texts, err := fork.Cut(chain, all, agent.Fork{LeaveOut: []string{test.row}, Tools: agent.ForkTape})
			if err != nil {
				t.Fatal(err)
			}
			var given []int64
			for _, g := range f.Given {
				given = append(given, g.Row)
				if texts[g.Row] != "This result is not available." {
					t.Errorf("row %d is replaced by %q", g.Row, texts[g.Row])
				}
			}
			left := []plan.LeftOut{{Tool: "read", Rows: test.left}}
			if diff := cmp.Diff(left, f.LeftOut) + cmp.Diff(test.given, given) + cmp.Diff(test.parts, f.Parts); diff != "" || f.At != test.at {
				t.Errorf("at %s: %s", f.At, diff)
			}
			for _, r := range fork.Record(all, f) {
				if f.LeavesOut(r.Row) {
					t.Errorf("the tape has row %d", r.Row)
				}
			}
			changes := strings.Join(f.Changes(), "; ")
			if want := fmt.Sprintf("no results of read (rows %s)", plan.RowList(test.left)); changes != want {
				t.Errorf("changes: %s, want %s", changes, want)
			}
		})
	}
}

// If the agent that had a result failed, the one that works on the results of the stage had read it.
func TestResultsOfAgentsThatFailed(t *testing.T) {
	t.Parallel()
	var j journal
	j.reply("collect/Metrics", 1, 0)      // 1
	j.reply("collect/Logs", 1, 1, "read") // 2, 3
	j.reply("collect/Join", 1, 0)         // 4
	f, texts, err := fork.Cut(chain, j, agent.Fork{LeaveOut: []string{"3"}, Tools: agent.ForkTape})
	want := map[string]plan.ForkPart{"collect/Metrics": {Iterations: 1, Ended: true}, "collect/Logs": {Iterations: 1, Stopped: true}}
	if diff := cmp.Diff(want, f.Parts); err != nil || diff != "" || f.At != "4" || texts[3] == "" || len(f.Given) != 1 {
		t.Errorf("%v, at %s, given %+v: %s", err, f.At, f.Given, diff)
	}
}

// A fork without a result begins before its agent dispatches others, because it cannot wait for those.
func TestResultsAfterADispatch(t *testing.T) {
	t.Parallel()
	j := rows()[:15]
	j.reply("fix/Lead", 2, 1, "look") // 16, 17
	j.reply("fix/Lead", 3, 0)         // 18
	f, _, err := fork.Cut(chain, j, agent.Fork{LeaveOut: []string{"17"}, Tools: agent.ForkTape})
	if err != nil || f.At != "11" || f.Part("fix/Lead").Iterations != 0 || f.Rows != 8 {
		t.Errorf("%v, at %s, %d rows: %+v", err, f.At, f.Rows, f.Parts)
	}
	first := journal{}
	first.reply("fix/Lead", 1, 1, agent.ToolDispatchAgent)
	first.reply("fix/Lead/Dig-1", 1, 1, "read") // 3, 4
	first.reply("fix/Lead/Dig-1", 2, 0)
	first.reply("fix/Lead", 2, 0)
	f, _, err = fork.Cut(chain, first, agent.Fork{LeaveOut: []string{"4"}, Tools: agent.ForkTape})
	if err != nil || f.Rows != 0 || f.At != "1" {
		t.Errorf("%v, at %s, %d rows", err, f.At, f.Rows)
	}
}

// Every error says why.
func TestResultsThatAreNotLeftOut(t *testing.T) {
	t.Parallel()
	last := rows()[:6]
	remembers := plan.Plan{Stages: []plan.Stage{{Name: "collect", Agents: []plan.Agent{{Name: "Logs", Type: "memgpt"}}}}}
	for name, test := range map[string]struct {
		plan plan.Plan
		rows journal
		row  string
		want string
	}{
		"unread": {chain, last, "6", "no reply had read row 3 (read of collect/Logs), 5 (read of collect/Metrics), 6"},
		"no result": {
			chain, rows(), "2", `no result of a tool has the row or call ID "2". Rows with results: 3 (read of collect/Logs), ` +
				"5 (read of collect/Metrics), 6 (read of collect/Metrics), 12 (dispatch_agent of fix/Lead), 14 (read of fix/Lead/Dig-1). " +
				"Others that can be left out: collect/Logs, collect/Metrics",
		},
		"only agent": {chain, rows(), "fix/Lead", "fix/Lead cannot be left out: stage fix would have no agent"},
		"not run":    {chain, rows()[:3], "collect/Metrics", "collect/Metrics cannot be left out: it did not run"},
		"useful agent": {
			chain, append(slices.Clone(rows()[:8]), rows()[9:]...), "collect/Logs",
			"collect/Logs cannot be left out: stage collect would fail, because no other agent had completed",
		},
		"last agent": {
			chain, rows()[:9], "collect/Logs", "no reply had read what collect/Logs had found, so a fork without it could begin nowhere",
		},
		"unknown":  {chain, rows(), "L7", `no result of a tool has the row or call ID "L7"`},
		"our tool": {chain, rows(), "12", "a tool of Inquest itself, and cannot be changed"},
		"a memory": {remembers, rows(), "3", "collect/Logs keeps a memory of its own, which may have what is left out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := fork.Cut(test.plan, test.rows, agent.Fork{LeaveOut: []string{test.row}, Tools: agent.ForkTape})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// Inputs are the calls whose results were read, with what their forks cost.
func TestInputs(t *testing.T) {
	t.Parallel()
	all := rows().asked(map[int]string{3: `{"n":1}`, 14: `{"n":2}`})
	for n := range all {
		if all[n].Kind == transcript.KindReply {
			all[n].Usage = &agent.Usage{ModelCalls: 1}
		}
	}
	refused := transcript.Body{Call: &transcript.Call{Name: "drop", Arguments: "{}"}, Result: transcript.Result{Refused: true}}
	all.add("fix#2/Lead", transcript.ResultKey(1, 0), transcript.KindResult, refused)
	unread := transcript.Body{Call: &transcript.Call{Name: "read", Arguments: `{"n":3}`}}
	all.add("fix#2/Lead", transcript.ResultKey(1, 1), transcript.KindResult, unread) // 22
	unknown := transcript.Body{Call: &transcript.Call{Name: "drop", Arguments: "{}"}, ErrorType: tool.ErrorOutcomeUnknown}
	all.add("fix#2/Lead", transcript.ResultKey(1, 2), transcript.KindResult, unknown)
	all.reply(":score/Judge", 1, 0)
	all[len(all)-1].Usage = &agent.Usage{ModelCalls: 100}
	calls := func(n int) agent.Usage { return agent.Usage{ModelCalls: n} }
	reads := func(rows ...int64) plan.LeftOut { return plan.LeftOut{Tool: "read", Rows: rows} }
	want := []fork.Input{
		{Name: "3", LeftOut: reads(3), Arguments: `{"n":1}`, From: 7, Again: calls(9)},
		{Name: "5", LeftOut: reads(5, 6), Arguments: "{}", From: 9, Again: calls(9)},
		{Name: "14", LeftOut: reads(14), Arguments: `{"n":2}`, From: 11, Again: calls(7)},
		{
			Name: "22", LeftOut: reads(22), Arguments: `{"n":3}`,
			Problem: "no reply had read row 22 (read of fix#2/Lead), so nothing would change without it",
		},
	}
	if diff := cmp.Diff(want, fork.Inputs(chain, all, fork.Results)); diff != "" {
		t.Error(diff)
	}
	for _, in := range want[:3] {
		f, _, err := fork.Cut(chain, all, agent.Fork{LeaveOut: []string{in.Name}, Tools: agent.ForkTape})
		if err != nil || f.At != fmt.Sprint(in.From) || fork.Again(f, all) != in.Again {
			t.Errorf("its fork: %v, at %s, %+v: %+v", err, f.At, fork.Again(f, all), in)
		}
	}
}

// Without an agent, those beside it share everything, and those that work on its results nothing.
func TestAgentsThatAreLeftOut(t *testing.T) {
	t.Parallel()
	all := rows()
	for n := range all {
		if all[n].Kind == transcript.KindReply {
			all[n].Usage = &agent.Usage{ModelCalls: 1}
		}
	}
	want := []fork.Input{
		{Name: "collect/Logs", LeftOut: plan.LeftOut{Agent: "collect/Logs"}, From: 10, Again: agent.Usage{ModelCalls: 8}},
		{Name: "collect/Metrics", LeftOut: plan.LeftOut{Agent: "collect/Metrics"}, From: 10, Again: agent.Usage{ModelCalls: 8}},
		{
			Name: "fix/Lead", LeftOut: plan.LeftOut{Agent: "fix/Lead"},
			Problem: "fix/Lead cannot be left out: stage fix would have no agent",
		},
	}
	if diff := cmp.Diff(want, fork.Inputs(chain, all, fork.Agents)); diff != "" {
		t.Error(diff)
	}
	p := chain
	f, _, err := fork.Cut(p, all, agent.Fork{LeaveOut: []string{"collect/Logs"}, Tools: agent.ForkTape})
	if err != nil {
		t.Fatal(err)
	}
	p.Fork = &f
	fork.Apply(&p)
	parts := map[string]plan.ForkPart{"collect/Metrics": {Iterations: 2, Ended: true}}
	agents := []plan.Agent{{Name: "Metrics"}}
	diff := cmp.Diff(parts, f.Parts) + cmp.Diff(agents, p.Stages[0].Agents) + cmp.Diff([]string{"no agent collect/Logs"}, f.Changes())
	if diff != "" || f.At != "10" || len(fork.Record(all, f)) != 4 {
		t.Errorf("at %s, %d recorded results: %s", f.At, len(fork.Record(all, f)), diff)
	}
	without := slices.DeleteFunc(rows(), func(e transcript.Entry) bool { return e.Execution == "collect/Logs" })
	again, _, err := fork.Cut(p, without, agent.Fork{At: "fix"})
	if diff := cmp.Diff([]plan.LeftOut{{Agent: "collect/Logs", Earlier: true}}, again.LeftOut); err != nil || diff != "" {
		t.Errorf("a fork of the fork: %v: %s", err, diff)
	}
	if len(chain.Stages[0].Agents) != 2 {
		t.Error("the plan of the other investigation changed")
	}
	f, texts, err := fork.Cut(chain, all, agent.Fork{LeaveOut: []string{"collect/Logs", "5"}, Tools: agent.ForkTape})
	parts = map[string]plan.ForkPart{"collect/Metrics": {Iterations: 1}}
	if diff := cmp.Diff(parts, f.Parts); err != nil || diff != "" || f.At != "9" || len(texts) != 2 || len(f.Changes()) != 2 {
		t.Errorf("with a result: %v, at %s, %d texts, %q: %s", err, f.At, len(texts), f.Changes(), diff)
	}
}

// Without a learning, no agent that had it in its prompt shares a reply. Others do.
func TestLearningsThatAreLeftOut(t *testing.T) {
	t.Parallel()
	p := plan.Plan{
		Stages: []plan.Stage{{Name: "count", Agents: []plan.Agent{{Name: "Counter", Type: "llm"}}}},
		Memory: &plan.Memory{Shown: []plan.Learning{{ID: 7, Text: "The pool is small."}, {ID: 8}}},
	}
	p.Stages = append(p.Stages, chain.Stages...)
	var all journal
	all.reply("count/Counter", 1, 0) // 1
	for _, e := range rows() {
		e.Seq++
		all = append(all, e)
	}
	want := []fork.Input{
		{Name: "L7", LeftOut: plan.LeftOut{Learning: 7}, Text: "The pool is small.", From: 3},
		{Name: "L8", LeftOut: plan.LeftOut{Learning: 8}, From: 3},
	}
	if diff := cmp.Diff(want, fork.Inputs(p, all, fork.Memories)); diff != "" {
		t.Error(diff)
	}
	f, _, err := fork.Cut(p, all, agent.Fork{LeaveOut: []string{"L7", "L7"}, Tools: agent.ForkTape})
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]plan.ForkPart{"count/Counter": {Iterations: 1, Ended: true}}
	if diff := cmp.Diff(parts, f.Parts) + cmp.Diff([]string{"no learning L7"}, f.Changes()); diff != "" || f.At != "3" || f.Rows != 1 {
		t.Errorf("at %s, %d rows: %s", f.At, f.Rows, diff)
	}
	p.Fork = &f
	fork.Apply(&p)
	if diff := cmp.Diff([]plan.Learning{{ID: 8}}, p.Memory.Shown); diff != "" {
		t.Error(diff)
	}
	f, _, err = fork.Cut(p, all[1:], agent.Fork{At: "2", Tools: agent.ForkTape})
	if err != nil || f.Rows != 0 {
		t.Errorf("a fork with nothing but a tape: %v, %d rows", err, f.Rows)
	}
}
