package route_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/route"
)

func TestEqual(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{`1`, `1.0`, true}, {`1e2`, `100`, true}, {`0.1`, `0.10`, true}, {`1`, `"1"`, false}, {`true`, `true`, true},
		{`9007199254740993`, `9007199254740992`, false}, {`null`, `null`, true}, {`null`, `false`, false}, {`"a"`, `"\u0061"`, true},
		{`{"a":[1,{"b":2}]}`, `{"a":[1.0,{"b":2e0}]}`, true}, {`{"a":1,"b":2}`, `{"b":2,"a":1}`, true}, {`{"a":1}`, `{"a":1,"b":null}`, false},
		{`[1,2]`, `[2,1]`, false}, {`[]`, `{}`, false}, {`{}`, `null`, false}, {`1e999999999`, `1e999999999`, true}, {`1e999999999`, `2e999999999`, false},
		{``, ``, false}, {`{`, `{`, false},
	} {
		if got := route.Equal(json.RawMessage(tt.a), json.RawMessage(tt.b)); got != tt.want {
			t.Errorf("%s and %s: %t", tt.a, tt.b, got)
		}
	}
}

func FuzzEqual(f *testing.F) {
	f.Add(`{"a":1}`, `{"a":1.0}`)
	f.Fuzz(func(t *testing.T, a, b string) {
		if route.Equal(json.RawMessage(a), json.RawMessage(b)) != route.Equal(json.RawMessage(b), json.RawMessage(a)) {
			t.Error("not symmetric")
		}
	})
}

func stage(name string, routing agent.Routing) agent.StageSkeleton {
	return agent.StageSkeleton{Name: name, Routing: routing}
}

func rule(key, value, target string) agent.Rule {
	return agent.Rule{Condition: key, Value: json.RawMessage(value), Target: target}
}

// walk runs a chain; results say, by stage, how its first, second, … run ends.
func walk(c route.Chain, results map[string][]route.Result) (trace string, end agent.EndReason) {
	w := route.Walk{Chain: c, State: &route.State{}}
	runs := map[string]int{}
	var steps []string
	for {
		started := w.Start()
		if len(started) == 0 {
			return strings.Join(steps, " "), w.End
		}
		var names []string
		for _, n := range started {
			names = append(names, c.Stages[n].Name)
		}
		steps = append(steps, strings.Join(names, "+"))
		for _, n := range started {
			name := c.Stages[n].Name
			r := route.Result{Outcome: agent.OutcomeSuccess}
			if list := results[name]; runs[name] < len(list) {
				r = list[runs[name]]
			}
			runs[name]++
			if ask := w.Finish(n, r); ask != "" {
				steps = append(steps, string(ask)+"?")
				w.Resume(n, "")
			}
		}
	}
}

func says(key, value string) route.Result {
	return route.Result{Outcome: agent.OutcomeSuccess, Fields: map[string]json.RawMessage{key: json.RawMessage(value)}}
}

func ends(outcome agent.Outcome) route.Result { return route.Result{Outcome: outcome} }

func TestWalk(t *testing.T) {
	t.Parallel()
	abc := []agent.StageSkeleton{stage("a", agent.Routing{}), stage("b", agent.Routing{}), stage("c", agent.Routing{})}
	loop := []agent.StageSkeleton{
		stage("plan", agent.Routing{}), stage("do", agent.Routing{ErrorNext: "report"}),
		stage("judge", agent.Routing{Rules: []agent.Rule{rule("ok", `false`, "do")}, LoopTarget: "plan", DefaultNext: "report"}),
		stage("other", agent.Routing{}), stage("report", agent.Routing{}),
	}
	graph := []agent.StageSkeleton{
		stage("a", agent.Routing{}), stage("b", agent.Routing{ErrorNext: "end"}), stage("c", agent.Routing{Requires: []string{"a", "b"}}),
		stage("d", agent.Routing{Requires: []string{"a", "b"}, JoinAny: true}), stage("e", agent.Routing{After: []string{"c"}, Rules: []agent.Rule{rule("again", `true`, "c")}}),
	}
	soft := slices.Clone(graph)
	soft[1].Routing.ErrorNext = "b" // once more
	tests := []struct {
		name    string
		chain   route.Chain
		results map[string][]route.Result
		want    string
		end     agent.EndReason
	}{
		{"in order", route.Chain{Stages: abc}, nil, "a b c", agent.EndCompleted},
		{"fails", route.Chain{Stages: abc}, map[string][]route.Result{"b": {{Outcome: agent.OutcomeError, Failure: agent.EndLLMFailed}}}, "a b", agent.EndLLMFailed},
		{"terminates", route.Chain{Stages: abc}, map[string][]route.Result{"a": {ends(agent.OutcomeTerminate)}}, "a", agent.EndCompleted},
		{"skips and is partial", route.Chain{Stages: abc}, map[string][]route.Result{"a": {ends(agent.OutcomeSkip)}, "b": {ends(agent.OutcomePartial)}}, "a b c", agent.EndCompleted},
		{"an outcome of its own", route.Chain{Stages: abc}, map[string][]route.Result{"a": {ends("odd")}}, "a b c", agent.EndCompleted},
		{"asks", route.Chain{Stages: abc}, map[string][]route.Result{"b": {ends(agent.OutcomeClarify), ends(agent.OutcomeConfirm)}}, "a b clarification? b confirmation? b c", agent.EndCompleted},
		{"a loop without a target", route.Chain{Stages: abc}, map[string][]route.Result{"b": {ends(agent.OutcomeReplan)}}, "a b", agent.EndPolicyViolation},
		{"default next", route.Chain{Stages: loop}, nil, "plan do judge report", agent.EndCompleted},
		{"a rule", route.Chain{Stages: loop}, map[string][]route.Result{"judge": {says("ok", `false`)}}, "plan do judge do judge report", agent.EndCompleted},
		{"a loop", route.Chain{Stages: loop}, map[string][]route.Result{"judge": {ends(agent.OutcomeLoopBack)}}, "plan do judge plan do judge report", agent.EndCompleted},
		{"error next", route.Chain{Stages: loop}, map[string][]route.Result{"do": {ends(agent.OutcomeError)}}, "plan do report", agent.EndCompleted},
		{"too many passes", route.Chain{Stages: loop, Bounds: agent.Bounds{MaxPasses: 2}}, map[string][]route.Result{"judge": {says("ok", `false`), says("ok", `false`)}}, "plan do judge do judge", agent.EndMaxPasses},
		{"too many hops", route.Chain{Stages: loop, Bounds: agent.Bounds{MaxHops: 3}}, nil, "plan do judge", agent.EndMaxHops},
		{"an edge too often", route.Chain{Stages: loop, Bounds: agent.Bounds{Edges: []agent.EdgeLimit{{From: "judge", To: "do", Max: 1}}}}, map[string][]route.Result{"judge": {says("ok", `false`), says("ok", `false`)}}, "plan do judge do judge", agent.EndMaxLoop},
		{"a graph", route.Chain{Stages: graph}, nil, "a+b c+d e", agent.EndCompleted},
		{"a graph goes back", route.Chain{Stages: graph}, map[string][]route.Result{"e": {says("again", `true`)}}, "a+b c+d e c e", agent.EndCompleted},
		{"a graph tries again", route.Chain{Stages: soft}, map[string][]route.Result{"b": {ends(agent.OutcomeError)}}, "a+b b+d c e", agent.EndCompleted},
		{"a graph ends", route.Chain{Stages: graph}, map[string][]route.Result{"b": {ends(agent.OutcomeError)}}, "a+b", agent.EndCompleted},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			trace, end := walk(tt.chain, tt.results)
			if diff := cmp.Diff([]string{tt.want, string(tt.end)}, []string{trace, string(end)}); diff != "" {
				t.Errorf("way and end (-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever the graph and the outcomes: a walk ends, within its bounds, for a
// reason of the list, and its state survives being written down at every step.
func TestWalksEnd(t *testing.T) {
	t.Parallel()
	outcomes := rapid.SampledFrom([]agent.Outcome{
		agent.OutcomeSuccess, agent.OutcomePartial, agent.OutcomeSkip, agent.OutcomeError, agent.OutcomeClarify, agent.OutcomeConfirm,
		agent.OutcomeTerminate, agent.OutcomeReplan, agent.OutcomeLoopBack, "odd",
	})
	reasons := []agent.EndReason{
		agent.EndCompleted, agent.EndToolFailed, agent.EndMaxPasses, agent.EndMaxHops, agent.EndMaxLoop, agent.EndPolicyViolation,
	}
	rapid.Check(t, func(t *rapid.T) {
		c := route.Chain{Bounds: agent.Bounds{MaxPasses: rapid.IntRange(1, 4).Draw(t, "passes"), MaxHops: rapid.IntRange(1, 30).Draw(t, "hops")}}
		n := rapid.IntRange(1, 6).Draw(t, "stages")
		name := func(i int) string { return fmt.Sprintf("s%d", i) }
		graph := rapid.Bool().Draw(t, "graph")
		for i := range n {
			target := rapid.SampledFrom([]string{"", name(rapid.IntRange(0, n-1).Draw(t, "to")), agent.TargetEnd, agent.TargetClarification})
			routing := agent.Routing{DefaultNext: target.Draw(t, "next"), ErrorNext: target.Draw(t, "error"), LoopTarget: target.Draw(t, "loop")}
			if to := target.Draw(t, "rule"); to != "" {
				routing.Rules = []agent.Rule{rule("x", `1`, to)}
			}
			if graph && i > 0 && rapid.Bool().Draw(t, "requires") {
				routing.Requires = []string{name(rapid.IntRange(0, i-1).Draw(t, "of"))}
				routing.JoinAny = rapid.Bool().Draw(t, "any")
			}
			c.Stages = append(c.Stages, stage(name(i), routing))
		}
		state := &route.State{}
		var running []int
		for steps := 0; ; steps++ {
			if steps > 200 {
				t.Fatalf("it does not end: %+v", *state)
			}
			state = rewritten(t, state)
			w := route.Walk{Chain: c, State: state}
			running = append(running, w.Start()...)
			if len(running) == 0 {
				break
			}
			i := rapid.IntRange(0, len(running)-1).Draw(t, "ends")
			stage := running[i]
			running = slices.Delete(running, i, i+1)
			result := route.Result{Outcome: outcomes.Draw(t, "outcome")}
			if rapid.Bool().Draw(t, "says x") {
				result.Fields = map[string]json.RawMessage{"x": json.RawMessage(`1.0`)}
			}
			if w.Finish(stage, result) != "" {
				w.Resume(stage, "")
			}
		}
		if !slices.Contains(reasons, state.End) || state.Hops > c.Bounds.MaxHops || state.Pass+1 > c.Bounds.MaxPasses {
			t.Fatalf("ended with %+v", *state)
		}
	})
}

func rewritten(t *rapid.T, state *route.State) *route.State {
	body, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	var out route.State
	if err := json.Unmarshal(body, &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*state, out); diff != "" {
		t.Fatal(diff)
	}
	return &out
}
