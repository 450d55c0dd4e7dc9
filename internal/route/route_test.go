package route_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
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
		{`[1,2]`, `[2,1]`, false}, {`[]`, `{}`, false}, {`{}`, `null`, false}, {`1e999999999`, `1e999999999`, true},
		{`1e999999999`, `2e999999999`, false},
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

func stage(name string, routing plan.Routing) plan.StageSkeleton {
	return plan.StageSkeleton{Name: name, Routing: routing}
}

func rule(key, value, target string) plan.Rule {
	return plan.Rule{Condition: key, Value: json.RawMessage(value), Target: target}
}

// walk runs a chain. results gives, by stage, the results of its first, second, … run.
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
			if ask, gate := w.Finish(n, r); ask != "" {
				steps = append(steps, string(ask)+"?")
				if gate {
					w.Approve(n)
				} else {
					w.Resume(n, "")
				}
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
	abc := []plan.StageSkeleton{stage("a", plan.Routing{}), stage("b", plan.Routing{}), stage("c", plan.Routing{})}
	loop := []plan.StageSkeleton{
		stage("plan", plan.Routing{}), stage("do", plan.Routing{ErrorNext: "report"}),
		stage("judge", plan.Routing{Rules: []plan.Rule{rule("ok", `false`, "do")}, LoopTarget: "plan", DefaultNext: "report"}),
		stage("other", plan.Routing{}), stage("report", plan.Routing{}),
	}
	graph := []plan.StageSkeleton{
		stage("a", plan.Routing{}), stage("b", plan.Routing{ErrorNext: "end"}), stage("c", plan.Routing{Requires: []string{"a", "b"}}),
		stage("d", plan.Routing{Requires: []string{"a", "b"}, JoinAny: true}),
		stage("e", plan.Routing{After: []string{"c"}, Rules: []plan.Rule{rule("again", `true`, "c")}}),
	}
	soft := slices.Clone(graph)
	soft[1].Routing.ErrorNext = "b" // another use of the same edge
	after := slices.Clone(graph)
	after[4].Routing.After = []string{"b", "c"}
	limited := plan.Bounds{Edges: []plan.EdgeLimit{{From: "do", To: "judge", Max: 1}}}
	gate := func(on string) plan.Routing {
		return plan.Routing{DefaultNext: plan.TargetConfirmation, OnApprove: on}
	}
	gates := []plan.StageSkeleton{stage("plan", gate(plan.TargetNext)), stage("apply", gate("announce")), stage("undo", plan.Routing{}),
		stage("announce", gate(plan.TargetNext))}
	fails := []plan.StageSkeleton{stage("a", plan.Routing{ErrorNext: plan.TargetConfirmation, OnApprove: plan.TargetNext}),
		stage("b", plan.Routing{})}
	back := []plan.StageSkeleton{stage("a", plan.Routing{}), stage("b", gate("a"))}
	gated := []plan.StageSkeleton{stage("a", gate(plan.TargetNext)), stage("b", plan.Routing{}),
		stage("c", plan.Routing{Requires: []string{"a", "b"}})}
	tests := []struct {
		name    string
		chain   route.Chain
		results map[string][]route.Result
		want    string
		end     agent.EndReason
	}{
		{"gates", route.Chain{Stages: gates}, nil, "plan confirmation? apply confirmation? announce confirmation?", agent.EndCompleted},
		{"a gate whose stage asks itself", route.Chain{Stages: gates}, map[string][]route.Result{"plan": {ends(agent.OutcomeConfirm)}},
			"plan confirmation? plan confirmation? apply confirmation? announce confirmation?", agent.EndCompleted},
		{"a gate whose stage fails", route.Chain{Stages: fails}, map[string][]route.Result{"a": {ends(agent.OutcomeError)}},
			"a confirmation? a b", agent.EndCompleted},
		{"a gate whose stage has an outcome of its own", route.Chain{Stages: gates}, map[string][]route.Result{"plan": {ends("odd")}},
			"plan confirmation? plan confirmation? apply confirmation? announce confirmation?", agent.EndCompleted},
		{"a gate that leads back", route.Chain{Stages: back, Bounds: plan.Bounds{MaxPasses: 2}}, nil,
			"a b confirmation? a b confirmation?", agent.EndMaxPasses},
		{"a gate in a graph", route.Chain{Stages: gated}, nil, "a+b confirmation? c", agent.EndCompleted},
		{"in order", route.Chain{Stages: abc}, nil, "a b c", agent.EndCompleted},
		{"fails", route.Chain{Stages: abc}, map[string][]route.Result{"b": {{Outcome: agent.OutcomeError, Failure: agent.EndLLMFailed}}},
			"a b", agent.EndLLMFailed},
		{"terminates", route.Chain{Stages: abc}, map[string][]route.Result{"a": {ends(agent.OutcomeTerminate)}}, "a", agent.EndCompleted},
		{"skips and is partial", route.Chain{Stages: abc},
			map[string][]route.Result{"a": {ends(agent.OutcomeSkip)}, "b": {ends(agent.OutcomePartial)}}, "a b c", agent.EndCompleted},
		{"an outcome of its own", route.Chain{Stages: abc}, map[string][]route.Result{"a": {ends("odd")}}, "a b c", agent.EndCompleted},
		{"asks", route.Chain{Stages: abc}, map[string][]route.Result{"b": {ends(agent.OutcomeClarify), ends(agent.OutcomeConfirm)}},
			"a b clarification? b confirmation? b c", agent.EndCompleted},
		{"a loop without a target", route.Chain{Stages: abc}, map[string][]route.Result{"b": {ends(agent.OutcomeReplan)}}, "a b",
			agent.EndPolicyViolation},
		{"default next", route.Chain{Stages: loop}, nil, "plan do judge report", agent.EndCompleted},
		{"a rule", route.Chain{Stages: loop}, map[string][]route.Result{"judge": {says("ok", `false`)}},
			"plan do judge do judge report", agent.EndCompleted},
		{"a loop", route.Chain{Stages: loop}, map[string][]route.Result{"judge": {ends(agent.OutcomeLoopBack)}},
			"plan do judge plan do judge report", agent.EndCompleted},
		{"error next", route.Chain{Stages: loop}, map[string][]route.Result{"do": {ends(agent.OutcomeError)}},
			"plan do report", agent.EndCompleted},
		{"too many passes", route.Chain{Stages: loop, Bounds: plan.Bounds{MaxPasses: 2}},
			map[string][]route.Result{"judge": {says("ok", `false`), says("ok", `false`)}}, "plan do judge do judge", agent.EndMaxPasses},
		{"too many hops", route.Chain{Stages: loop, Bounds: plan.Bounds{MaxHops: 3}}, nil, "plan do judge", agent.EndMaxHops},
		{"an edge too often", route.Chain{Stages: loop, Bounds: plan.Bounds{Edges: []plan.EdgeLimit{{From: "judge", To: "do", Max: 1}}}},
			map[string][]route.Result{"judge": {says("ok", `false`), says("ok", `false`)}}, "plan do judge do judge", agent.EndMaxLoop},
		{"an implicit edge too often", route.Chain{Stages: loop, Bounds: limited}, map[string][]route.Result{"judge": {says("ok", `false`)}},
			"plan do judge do", agent.EndMaxLoop},
		{"a graph after an outcome of its own", route.Chain{Stages: after}, map[string][]route.Result{"b": {ends("odd")}},
			"a+b d+e", agent.EndCompleted},
		{"a graph in which nothing has succeeded", route.Chain{Stages: after}, map[string][]route.Result{"a": {ends("odd")}, "b": {ends("odd")}},
			"a+b e", agent.EndCompleted},
		{"a graph", route.Chain{Stages: graph}, nil, "a+b c+d e", agent.EndCompleted},
		{"a graph goes back", route.Chain{Stages: graph}, map[string][]route.Result{"e": {says("again", `true`)}},
			"a+b c+d e c e", agent.EndCompleted},
		{"a graph tries again", route.Chain{Stages: soft}, map[string][]route.Result{"b": {ends(agent.OutcomeError)}},
			"a+b b+d c e", agent.EndCompleted},
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
