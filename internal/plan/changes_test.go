package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChanges(t *testing.T) {
	t.Parallel()
	agents := func(agents ...Agent) Plan { return Plan{Stages: []Stage{{Name: "dig", Agents: agents}}} }
	logs := Agent{Name: "logs", Instructions: "Read logs.", MaxIterations: 5, ToolIDs: []string{"x"}}
	logs.Providers = []Provider{{Name: "fast", Model: "a"}}
	other := logs
	other.Instructions, other.MaxIterations, other.ToolIDs = "Read all logs.", 9, []string{"x", "y"}
	other.Providers = []Provider{{Name: "fast", Model: "b"}}
	all := func(a Agent) any { // as in JSON
		changes, err := Changes(agents(Agent{Name: "first"}), agents(Agent{Name: "first"}, a))
		if err != nil || len(changes) != 2 { // the first names the members
			t.Fatal(changes, err)
		}
		return changes[1].B
	}
	for name, test := range map[string]struct {
		a, b Plan
		want []Change
	}{
		"same":                {a: agents(logs), b: agents(logs)},
		"of the installation": {a: Plan{Version: 1, Store: "a"}, b: Plan{Version: 2, Store: "b"}},
		"settings of an agent": {a: agents(logs), b: agents(other), want: []Change{
			{"stages[dig].agents[logs].instructions", "Read logs.", "Read all logs."},
			{"stages[dig].agents[logs].max_iterations", 5.0, 9.0},
			{"stages[dig].agents[logs].providers[fast].model", "a", "b"},
			{"stages[dig].agents[logs].tool_ids", []any{"x"}, []any{"x", "y"}},
		}},
		"set in one": {a: Plan{Chain: "c"}, b: Plan{Chain: "c", Runbook: "Look."}, want: []Change{{"runbook", nil, "Look."}}},
		"another one": {a: agents(Agent{Name: "k8s"}), b: agents(logs), want: []Change{
			{"stages[dig].agents", []string{"k8s"}, []string{"logs"}},
			{"stages[dig].agents[k8s]", all(Agent{Name: "k8s"}), nil}, {"stages[dig].agents[logs]", nil, all(logs)},
		}},
		"another order": {a: agents(logs, Agent{Name: "k8s"}), b: agents(Agent{Name: "k8s"}, logs), want: []Change{
			{"stages[dig].agents", []string{"logs", "k8s"}, []string{"k8s", "logs"}},
		}},
		"names that repeat": {a: agents(logs, logs), b: agents(logs), want: []Change{
			{"stages[dig].agents", []any{all(logs), all(logs)}, []any{all(logs)}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Changes(test.a, test.b)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
