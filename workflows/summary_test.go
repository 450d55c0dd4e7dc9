package workflows

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// summed is a plan whose investigation gets a summary.
func summed(stages ...[]string) plan.Plan {
	p := planOf(stages...)
	p.Summary = &plan.Stage{Name: plan.SummaryName, SuccessPolicy: plan.SuccessAny, Agents: []plan.Agent{
		{Name: "Sum", Type: "exec_summary", MaxIterations: 1, Providers: []plan.Provider{{Model: "m"}}},
	}}
	return p
}

const summing = plan.SummaryName + "/Sum"

func TestExecutiveSummary(t *testing.T) {
	t.Parallel()
	refused := temporal.NewNonRetryableApplicationError("refused", "CredentialsRefused", nil)
	answers := func(failing string) func(activities.GenerateIn) (activities.GenerateOut, error) {
		return func(in activities.GenerateIn) (activities.GenerateOut, error) {
			if in.Ref.Execution == failing {
				return activities.GenerateOut{}, refused
			}
			return say("x"), nil
		}
	}
	tests := []struct {
		name, failing        string
		status               agent.Status
		stages, summary, why string
	}{
		{"of what has completed", "", agent.StatusCompleted, "completed,completed,completed", summing, ""},
		{"that fails", summing, agent.StatusCompleted, "completed,completed,failed", "", "Sum failed: refused"},
		{"of what has failed later", "s2/A", agent.StatusFailed, "completed,failed,completed", summing, ""},
		{"of nothing", "s1/A", agent.StatusFailed, "failed,skipped", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := &fake{plan: summed([]string{"default"}, []string{"default"}), model: answers(tt.failing)}
			got := investigate(t, newEnv(t, f))
			in := f.finished[0]
			if got.Status != tt.status || statuses(got) != tt.stages || in.Summary != tt.summary || got.SummaryError != tt.why ||
				in.Envelope.SummaryError != tt.why {
				t.Errorf("got %s, %s, summary %q, %q", got.Status, statuses(got), in.Summary, got.SummaryError)
			}
			for _, source := range in.Results {
				if source.Execution == summing {
					t.Error("the summary passes for the report")
				}
			}
		})
	}
}

func TestSummaryKnowsTheResultsAndNoBounds(t *testing.T) {
	t.Parallel()
	f := &fake{plan: summed([]string{"default"}, []string{"default"})}
	investigate(t, newEnv(t, f))
	last := f.generated[len(f.generated)-1]
	want := []activities.Source{{Stage: "s1", Execution: "s1/A"}, {Stage: "s2", Execution: "s2/A"}}
	if diff := cmp.Diff(want, last.Prior); diff != "" || !last.Reserve || last.Ref.Stage != plan.SummaryStage {
		t.Errorf("reserve %v, stage %d, prior (-want +got):\n%s", last.Reserve, last.Ref.Stage, diff)
	}
}

func TestWhoCancelsGetsNoSummary(t *testing.T) {
	t.Parallel()
	f := &fake{plan: summed([]string{"default"}, []string{"default"}), model: script(say("x"), ask("slow"))}
	env := newEnv(t, f)
	env.OnActivity(f.CallTool, mock.Anything, mock.Anything).After(time.Hour).Return(activities.CallToolOut{}, nil)
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)
	got := investigate(t, env)
	if got.Status != agent.StatusCancelled || len(f.finished[0].Results) != 1 || f.finished[0].Summary != "" || len(f.generated) != 2 {
		t.Errorf("got %+v after %d calls", got, len(f.generated))
	}
}
