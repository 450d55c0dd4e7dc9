package workflows

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
)

// TestActsOnOneWorkflow: a person's pause is in the audit trail once, for the investigation or for the one workflow that
// received it. Signals that workflows forward to their children are not acts of people.
func TestActsOnOneWorkflow(t *testing.T) {
	t.Parallel()
	const id = "default-test-workflow-id:"
	for name, tt := range map[string]struct {
		workflow string
		level    activities.Level
		want     []string
	}{
		"the investigation": {"", activities.LevelDirect, []string{"paused by Ada", "resumed by Ada"}},
		"a stage":           {id + "/s1", activities.LevelDirect, []string{"paused by Ada at s1", "resumed by Ada at s1"}},
		"an agent":          {id + "/s1/A", activities.LevelDirect, []string{"paused by Ada at s1/A", "resumed by Ada at s1/A"}},
		"a sub-agent": {id + "/s1/A/Logs-1", activities.LevelDirect,
			[]string{"paused by Ada at s1/A/Logs-1", "resumed by Ada at s1/A/Logs-1"}},
		"an agent, as it was":  {id + "/s1/A", activities.LevelActs, nil},
		"the whole, as it was": {"", activities.LevelActs, []string{"paused by Ada", "resumed by Ada"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{plan: leading(), level: tt.level}
			f.model = cast(map[string]func(activities.GenerateIn) (activities.GenerateOut, error){
				"s1/A": script(dispatch("Logs"), say("I wait"), say("done"), say("done")),
			})
			env := newEnv(t, f)
			f.slow("s1/A/Logs-1")(env)
			for n, signal := range []string{SignalPause, SignalResume} {
				env.RegisterDelayedCallback(func() {
					if tt.workflow == "" {
						env.SignalWorkflow(signal, By{By: "Ada"})
					} else if err := env.SignalWorkflowByID(tt.workflow, signal, By{By: "Ada"}); err != nil {
						t.Error(err)
					}
				}, time.Duration(5+n)*time.Minute)
			}
			if got := investigated(t, env); got.Status != agent.StatusCompleted || len(got.Undelivered) > 0 {
				t.Errorf("%+v", got)
			}
			var acts []string
			for _, act := range f.untilNow().acts {
				acts = append(acts, strings.TrimSuffix(fmt.Sprintf("%s by %s at %s", act.What, act.Who, act.Execution), " at "))
			}
			if diff := cmp.Diff(tt.want, acts); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
