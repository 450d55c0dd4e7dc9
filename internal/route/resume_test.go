package route_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/route"
)

// TestResume records the stages that start after each step. "a:outcome" ends a stage. "a>b" answers the question of
// stage a and continues at stage b; "a>" continues at stage a itself.
func TestResume(t *testing.T) {
	t.Parallel()
	line := []plan.StageSkeleton{stage("a", plan.Routing{}), stage("b", plan.Routing{}), stage("c", plan.Routing{})}
	graph := []plan.StageSkeleton{
		stage("a", plan.Routing{LoopTarget: "a"}), stage("b", plan.Routing{}), stage("c", plan.Routing{Requires: []string{"b"}}),
		stage("d", plan.Routing{Requires: []string{"c"}}), stage("e", plan.Routing{After: []string{"a"}}),
	}
	for _, tt := range []struct {
		name   string
		stages []plan.StageSkeleton
		steps  string
		want   string // the stages that start at first and after each step
		end    agent.EndReason
	}{
		{"in order, at itself", line, "a:success b:clarify b> b:success c:success", "a b - b c -", agent.EndCompleted},
		{"in order, before", line, "a:success b:clarify b>a a:success", "a b - a b", ""},
		{"in order, further on", line, "a:clarify a>c c:success", "a - c -", agent.EndCompleted},
		{"in a graph, at itself", graph, "b:clarify b> b:success", "a+b - b c", ""},
		{"in a graph, at what waits for it", graph, "a:success e:success b:clarify b>c c:success d:success",
			"a+b e - - c d -", agent.EndCompleted},
		{"in a graph, at what it waits for", graph, "b:success c:clarify c>b b:success c:success", "a+b c - b c d", ""},
		{"in a graph, elsewhere", graph, "a:success e:success b:clarify b>a a:success", "a+b e - - a+c e", ""},
		{"in a graph, at what runs", graph, "b:clarify b>a a:success", "a+b - c e", ""},
		{"in a graph, at what asks", graph, "b:clarify a:confirm b>a a> a:success", "a+b - - c a e", ""},
		{"when another has jumped", graph, "b:clarify a:loop_back b> a:success", "a+b - - a+b e", ""},
		{"when another has jumped, elsewhere", graph, "b:clarify a:loop_back b>c", "a+b - - a+c", ""},
		{"when another has ended it", graph, "b:clarify a:terminate b>", "a+b - - -", agent.EndCompleted},
		{"the other asks when it has ended", graph, "b:terminate a:clarify", "a+b - -", agent.EndCompleted},
		{"the other jumps when it has ended", graph, "a:loop_back b:terminate", "a+b - -", agent.EndCompleted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := route.Walk{Chain: route.Chain{Stages: tt.stages}, State: &route.State{}}
			got := []string{started(w)}
			for step := range strings.FieldsSeq(tt.steps) {
				if from, to, answers := strings.Cut(step, ">"); answers {
					w.Resume(numbered(w, from), to)
				} else {
					from, outcome, _ := strings.Cut(step, ":")
					w.Finish(numbered(w, from), ends(agent.Outcome(outcome)))
				}
				got = append(got, started(w))
			}
			if diff := cmp.Diff([]string{tt.want, string(tt.end)}, []string{strings.Join(got, " "), string(w.End)}); diff != "" {
				t.Errorf("starts and end (-want +got):\n%s", diff)
			}
		})
	}
}

// started starts the ready stages and returns their names, or "-" for none.
func started(w route.Walk) string {
	var names []string
	for _, n := range w.Start() {
		names = append(names, w.Chain.Stages[n].Name)
	}
	if names == nil {
		return "-"
	}
	return strings.Join(names, "+")
}

func numbered(w route.Walk, name string) int {
	for n, s := range w.Chain.Stages {
		if s.Name == name {
			return n
		}
	}
	return -1
}
