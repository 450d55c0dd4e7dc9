package plan_test

import (
	"testing"

	"github.com/inquest-dev/inquest/internal/plan"
)

// TestRepeatsNeedANewerProgram: an older program would make the calls that a plan refuses. It may run a plan that asks, because it
// made such calls without asking before. It would also take the verdict of a check for a summary.
func TestRepeatsNeedANewerProgram(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		config plan.ToolConfig
		newer  bool
	}{
		"no rule": {plan.ToolConfig{}, false},
		"asks":    {plan.ToolConfig{Repeats: plan.RepeatsAsk}, false},
		"refuses": {plan.ToolConfig{Repeats: plan.RepeatsDeny}, true},
		"refuses for a tool": {plan.ToolConfig{Repeats: plan.RepeatsAsk, Permissions: map[string]plan.Permission{
			"x.t": {Repeats: plan.RepeatsDeny},
		}}, true},
	} {
		p := plan.Plan{Stages: []plan.Stage{{Agents: []plan.Agent{{Tools: tt.config}}}}}.Versioned()
		const refusing = 6
		if newer := p.Version == refusing; newer != tt.newer {
			t.Errorf("%s: the plan has version %d", name, p.Version)
		}
	}
	if p := (plan.Plan{Check: true}).Versioned(); p.Version != 7 {
		t.Errorf("a check: the plan has version %d", p.Version)
	}
}
