package plan_test

import (
	"testing"

	"github.com/inquest-dev/inquest/internal/plan"
)

// TestAttach checks that all agents of all stages, including sub-agents, read the request's data in pages.
func TestAttach(t *testing.T) {
	t.Parallel()
	digger := plan.Agent{Name: "Digger", Orchestrator: &plan.Orchestrator{Agents: []plan.Agent{{Name: "Logs"}}}}
	lead := plan.Agent{Name: "Lead", Orchestrator: &plan.Orchestrator{Agents: []plan.Agent{digger}}}
	p := plan.Plan{
		Stages:  []plan.Stage{{Agents: []plan.Agent{lead}, Synthesis: &plan.Agent{Name: "Joiner"}, Review: &plan.Agent{Name: "Reviewer"}}},
		Summary: &plan.Stage{Agents: []plan.Agent{{Name: "Summer"}}},
	}
	p.Attach()
	for _, s := range p.AllStages() {
		for _, a := range s.All() {
			if !a.Attached {
				t.Errorf("%s has the data whole", a.Name)
			}
		}
	}
}
