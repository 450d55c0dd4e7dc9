package activities_test

import (
	"testing"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
)

// What has completed has a report. Where there is none, the record and the workflow
// say that it has failed, unless people ended it at a question.
func TestNothingWasFoundOut(t *testing.T) {
	t.Parallel()
	for end, want := range map[agent.EndReason]agent.EndReason{
		agent.EndCompleted: agent.EndNoReport, agent.EndMaxLLMCalls: agent.EndMaxLLMCalls, agent.EndDenied: "", agent.EndInterruptExpired: "",
	} {
		t.Run(string(end), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			value, err := b.env.ExecuteActivity(b.act.Finish, activities.FinishIn{Investigation: "inv", Status: agent.StatusCompleted, EndReason: end})
			var out activities.FinishOut
			if err != nil || value.Get(&out) != nil || out.Failed != want {
				t.Errorf("got %+v, %v", out, err)
			}
			status := agent.StatusCompleted
			if want != "" {
				status = agent.StatusFailed
			}
			if r, err := b.store.Investigation(t.Context(), "inv"); err != nil || r.Status != status || (r.Error != "") != (want != "") {
				t.Errorf("recorded %+v, %v", r, err)
			}
		})
	}
}
