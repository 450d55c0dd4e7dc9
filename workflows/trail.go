package workflows

import (
	"strconv"
	"strings"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/audit"
)

// trail identifies the workflow in audit entries about signals sent directly to it. With the zero value it writes none.
// An investigation writes its entries together with its status instead.
type trail struct {
	investigation, plan string
	// execution is the agent's, or the stage's name.
	execution string
}

// trail returns the trail of a stage.
func (r *stageRun) trail() trail {
	if r.in.Level < activities.LevelDirect {
		return trail{}
	}
	return trail{r.in.Investigation, r.in.Plan, r.in.Stage.Name}
}

func (r *agentRun) trail() trail {
	if r.in.Level < activities.LevelDirect {
		return trail{}
	}
	return trail{r.in.Ref.Investigation, r.in.Ref.Plan, r.in.Ref.Execution}
}

// steered returns the audit entry for a handled signal.
func (s signal) steered() audit.Act {
	minutes := strings.TrimPrefix(strconv.Itoa(s.Minutes), "0")
	return audit.Act{What: steers[s.Name].act, Who: s.By, Detail: audit.Detail("stage", s.Stage, "agent", s.Agent, "minutes", minutes)}
}

// tell writes a signal to the audit trail in the background, so an unavailable store does not delay a resume.
// The store itself records guidance.
func (s *signals) tell(ctx workflow.Context, sig signal) {
	done := sig.steered()
	if s.trail == (trail{}) || sig.SentOn || sig.Late || done.What == "" || done.What == audit.Guided {
		return
	}
	s.direct++
	s.telling++
	done.Investigation, done.Execution, done.At, done.Key = s.trail.investigation, s.trail.execution, workflow.Now(ctx), strconv.Itoa(s.direct)
	workflow.Go(ctx, func(ctx workflow.Context) {
		defer func() { s.telling-- }()
		in := activities.TellIn{Plan: s.trail.plan, Acts: []audit.Act{done}}
		if err := storeStep(ctx, "the audit trail", act.Tell, in, nil); err != nil {
			workflow.GetLogger(ctx).Warn("an act is not in the audit trail", "act", done.What, "error", err)
		}
	})
}
