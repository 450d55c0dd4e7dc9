package workflows

import (
	"cmp"
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/record"
)

// TypeScoring is the workflow type that scores an ended investigation.
const TypeScoring = "Scoring"

// ScoringID is the workflow ID that allows one scoring of an investigation at a time.
func ScoringID(investigation string) string { return investigation + "-score" }

// ScoringInput names the investigation to score.
type ScoringInput struct {
	Investigation string `json:"investigation"` // its id, not its workflow's
	By            string `json:"by,omitempty"`  // who requested it; empty: the chain
}

// Scoring scores an ended investigation (spec: pipeline, "Around the result"). It outlives the investigation
// that starts it, and its result does not change how that investigation ended.
func Scoring(ctx workflow.Context, in ScoringInput) (record.Score, error) {
	var begun activities.BeginScoreOut
	err := storeStep(ctx, "judged investigation", act.BeginScore, activities.BeginScoreIn(in), &begun)
	if err != nil {
		return record.Score{}, err
	}
	begun.Ref.Started = exact(workflow.Now(ctx))
	run := scoringRun{newAgentRun(AgentInput{
		Ref: begun.Ref, Agent: begun.Agent, PlanVersion: begun.PlanVersion, Prior: begun.Prior, Peers: begun.Peers, Reserve: true,
	})}
	started := workflow.Now(ctx)
	judge, _ := run.execute(ctx, run.loop) // the result says how it ended
	cleanup, _ := workflow.NewDisconnectedContext(ctx)
	var out record.Score
	save := activities.SaveScoreIn{N: begun.N, Judge: activities.ExecutionSummary{
		Ref: begun.Ref, Status: judge.Status, StopReason: judge.StopReason, Forced: judge.Forced,
		Iterations: judge.Iterations, Usage: judge.Usage, Error: clip.Text(cmp.Or(judge.Error, judge.Partial), 500),
		Started: exact(started), Ended: exact(workflow.Now(ctx)),
	}}
	if err := storeStep(cleanup, "score", act.SaveScore, save, &out); err != nil {
		return out, err
	}
	if begun.SearchAttributes {
		showScore(cleanup, begun, out)
	}
	if begun.Learns && out.Score != nil && ctx.Err() == nil {
		learn(ctx, in.Investigation, begun.N)
	}
	return ending(out.Status, out, out.Error, judge.ErrorType)
}

var attributeScore = temporal.NewSearchAttributeKeyInt64(activities.AttributeScore)

func showScore(ctx workflow.Context, begun activities.BeginScoreOut, out record.Score) {
	shown := []temporal.SearchAttributeUpdate{
		attributeChain.ValueSet(begun.Chain), attributeAlertType.ValueSet(begun.AlertType), attributeStatus.ValueSet(string(out.Status)),
	}
	if out.Score != nil {
		shown = append(shown, attributeScore.ValueSet(int64(*out.Score)))
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, shown...); err != nil {
		workflow.GetLogger(ctx).Warn("search attributes not set", "error", err)
	}
}

// scoringRun is the work of a judge.
type scoringRun struct{ *agentRun }

// maxReminders bounds how often a judge is asked again for a score.
const maxReminders = 5

func (r scoringRun) loop(ctx workflow.Context) (AgentResult, error) {
	out, err := r.ask(ctx)
	for reminders := 0; err == nil && !out.Scored && reminders < maxReminders; reminders++ {
		out, err = r.ask(ctx, activities.Input{Kind: activities.InputScore})
	}
	if err != nil {
		return AgentResult{}, err
	}
	if !out.Scored {
		return r.failed(activities.ErrorInvalidOutput, fmt.Sprintf("none of %d replies ended with a score", 1+maxReminders)), nil
	}
	said := AgentResult{Status: agent.StatusCompleted, StopReason: agent.StopEndTurn, Outcome: agent.OutcomeSuccess, Preview: out.Preview}
	if _, err := r.ask(ctx, activities.Input{Kind: activities.InputMissing}); err != nil {
		if ctx.Err() != nil {
			return AgentResult{}, err
		}
		_, message := failure(err)
		said.Partial = "the judge did not say which tools were missing: " + message // the score is kept
	}
	return said, nil
}

// ask makes one call to the judge.
func (r scoringRun) ask(ctx workflow.Context, inputs ...activities.Input) (activities.GenerateOut, error) {
	if err := r.awaitResume(ctx); err != nil {
		return activities.GenerateOut{}, err
	}
	r.state.Inputs = append(r.state.Inputs, inputs...)
	return r.generate(ctx, false)
}

// score starts the scoring of a completed investigation, if its chain asks for it. It waits only for the start.
func (r *investigationRun) score(ctx workflow.Context) {
	if r.state.Resolved.Skeleton.Scoring == nil || r.result.Status != agent.StatusCompleted {
		return
	}
	judge := workflow.ExecuteChildWorkflow(scoringOptions(ctx, ScoringID(r.id)), Scoring, ScoringInput{Investigation: r.id})
	if err := judge.GetChildWorkflowExecution().Get(ctx, nil); err != nil { // a person may have started it at the same moment
		workflow.GetLogger(ctx).Warn("scoring was not started", "error", err)
	}
}
