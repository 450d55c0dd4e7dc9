package workflows

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
)

// judged is a plan whose investigation is scored.
func judged(stages ...[]string) plan.Plan {
	p := planOf(stages...)
	p.Scoring = &plan.Stage{Name: plan.ScoringName, SuccessPolicy: plan.SuccessAny, Agents: []plan.Agent{
		{Name: "Judge", Type: "scoring", MaxIterations: 1, Providers: []plan.Provider{{Model: "m"}}},
	}}
	return p
}

// judgement answers a judge by script, and other agents as usual.
func judgement(replies ...activities.GenerateOut) func(activities.GenerateIn) (activities.GenerateOut, error) {
	next := script(replies...)
	return func(in activities.GenerateIn) (activities.GenerateOut, error) {
		if in.Ref.Stage == plan.ScoringStage {
			return next(in)
		}
		return say("x"), nil
	}
}

func score(t *testing.T, env *testsuite.TestWorkflowEnvironment) (out record.Score) {
	t.Helper()
	env.ExecuteWorkflow(TypeScoring, ScoringInput{Investigation: "inv", By: "Ada"})
	if failed, ok := errors.AsType[*temporal.ApplicationError](env.GetWorkflowError()); ok && failed.HasDetails() {
		if err := failed.Details(&out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	if err := env.GetWorkflowError(); err == nil && env.GetWorkflowResult(&out) != nil {
		t.Fatal("no result")
	}
	return out
}

func TestScoring(t *testing.T) {
	t.Parallel()
	scored, nothing := say("good"), say("nothing")
	scored.Scored = true
	tests := []struct {
		name    string
		replies []activities.GenerateOut
		inputs  string
		status  agent.Status
		why     string
	}{
		{"at once", []activities.GenerateOut{scored, nothing}, ",missing", agent.StatusCompleted, ""},
		{"after reminders, one of them for an empty reply", []activities.GenerateOut{nothing, empty, scored, nothing}, ",score,score,missing",
			agent.StatusCompleted, ""},
		{"never", []activities.GenerateOut{nothing}, ",score,score,score,score,score", agent.StatusFailed,
			"none of 6 replies ended with a score"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := &fake{plan: judged(), model: judgement(tt.replies...)}
			got := score(t, newEnv(t, f))
			if got.Status != tt.status || got.Error != tt.why || f.inputs() != tt.inputs || len(f.scored) != 1 {
				t.Errorf("got %+v, asked %q, saved %d times", got, f.inputs(), len(f.scored))
			}
			first := f.generated[0]
			if !first.Reserve || len(first.Prior) != 1 || f.scored[0].Judge.Iterations != len(f.generated) {
				t.Errorf("the first call: %+v; saved %+v", first, f.scored[0])
			}
		})
	}
}

// TestScoreWithoutMissingTools: the score stands although the second question is unanswered.
func TestScoreWithoutMissingTools(t *testing.T) {
	t.Parallel()
	scored := say("good")
	scored.Scored = true
	f := &fake{plan: judged()}
	f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
		if in.Iteration > 1 {
			return activities.GenerateOut{}, temporal.NewNonRetryableApplicationError("refused", "CredentialsRefused", nil)
		}
		return scored, nil
	}
	got := score(t, newEnv(t, f))
	if got.Status != agent.StatusCompleted || got.Score == nil || got.Error != "the judge did not say which tools were missing: refused" {
		t.Errorf("got %+v", got)
	}
}

// TestScoresAreListed: Temporal lists scores by subject and result if the attributes are registered. Unregistered ones would
// fail the workflow task forever.
func TestScoresAreListed(t *testing.T) {
	t.Parallel()
	scored := say("good")
	scored.Scored = true
	for _, tt := range []struct {
		listed bool
		reply  activities.GenerateOut
		want   []string
	}{
		{true, scored, []string{"chain completed 87"}},
		{true, say("nothing"), []string{"chain failed"}},
		{false, scored, nil},
	} {
		f := &fake{plan: judged(), model: judgement(tt.reply), listed: tt.listed}
		env := newEnv(t, f)
		var shown []string
		env.OnUpsertTypedSearchAttributes(mock.Anything).Return(nil).Run(func(args mock.Arguments) {
			all := args.Get(0).(temporal.SearchAttributes)
			chain, _ := all.GetKeyword(attributeChain)
			status, _ := all.GetKeyword(attributeStatus)
			words := []string{chain, status}
			if points, ok := all.GetInt64(attributeScore); ok {
				words = append(words, fmt.Sprint(points))
			}
			shown = append(shown, strings.Join(words, " "))
		})
		score(t, env)
		if diff := cmp.Diff(tt.want, shown); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

// TestScoringLearns: an agent learns after the score is there. Its failure is recorded and does not fail the scoring.
func TestScoringLearns(t *testing.T) {
	t.Parallel()
	scored := say("good")
	scored.Scored = true
	for name, tt := range map[string]struct {
		judge  activities.GenerateOut
		fails  bool
		status agent.Status
	}{
		"learned":    {scored, false, agent.StatusCompleted},
		"failed":     {scored, true, agent.StatusFailed},
		"not scored": {say("nothing"), false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{plan: judged(), learns: []activities.SaveLearningsIn{}}
			f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
				if in.Ref.Stage == plan.ScoringStage {
					return tt.judge, nil
				}
				if len(f.scored) != 1 {
					t.Error("it learns before the score is saved")
				}
				if tt.fails {
					return activities.GenerateOut{}, temporal.NewNonRetryableApplicationError("refused", "CredentialsRefused", nil)
				}
				return say("{}"), nil
			}
			got := score(t, newEnv(t, f))
			if (got.Score != nil) != (tt.status != "") || len(f.learns) != min(len(tt.status), 1) {
				t.Fatalf("got %+v, learned %+v", got, f.learns)
			}
			if tt.status != "" && (f.learns[0].Reflector.Status != tt.status || got.Status != agent.StatusCompleted) {
				t.Errorf("got %+v, learned %+v", got, f.learns[0])
			}
		})
	}
}

func TestScoringIsCancelled(t *testing.T) {
	t.Parallel()
	f := &fake{plan: judged(), model: judgement(say("nothing"))}
	env := newEnv(t, f)
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(SignalPause, nil) }, 0)
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)
	score(t, env)
	if len(f.scored) != 1 || f.scored[0].Judge.Status != agent.StatusCancelled {
		t.Errorf("saved %+v", f.scored)
	}
}

// TestInvestigationIsJudged: an investigation is scored after it has completed, and stays completed even if scoring fails.
func TestInvestigationIsJudged(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		model  func(activities.GenerateIn) (activities.GenerateOut, error)
		status agent.Status
		scored int
	}{
		"completed": {judgement(say("no score")), agent.StatusCompleted, 1},
		"failed": {func(activities.GenerateIn) (activities.GenerateOut, error) {
			return activities.GenerateOut{}, temporal.NewNonRetryableApplicationError("refused", "CredentialsRefused", nil)
		}, agent.StatusFailed, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{plan: judged([]string{"default"}), model: tt.model}
			env := newEnv(t, f)
			var ids []string
			env.SetOnChildWorkflowStartedListener(func(info *workflow.Info, _ workflow.Context, _ converter.EncodedValues) {
				if info.WorkflowType.Name == TypeScoring {
					ids = append(ids, info.WorkflowExecution.ID)
				}
			})
			got := investigate(t, env)
			if got.Status != tt.status || len(got.Stages) != 1 || len(ids) != tt.scored {
				t.Errorf("got %+v, judged by %q", got, ids)
			}
			if len(ids) > 0 && ids[0] != got.ID+"-score" {
				t.Errorf("its id is %s", ids[0])
			}
		})
	}
}
