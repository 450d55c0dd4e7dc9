package workflows

import (
	"cmp"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
)

// versionLearn marks the change that learns from an investigation after it was judged.
const versionLearn = "2026-11-28-learn-after-scoring"

// LearningID is the workflow ID of the agent that learns after a scoring.
func LearningID(scoring string) string { return scoring + "-learn" }

// learn has an agent learn from a judged investigation. It changes neither the score nor how the investigation ended, so failures
// are only logged and recorded.
func learn(ctx workflow.Context, investigation string, n int) {
	if workflow.GetVersion(ctx, versionLearn, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return
	}
	var begun activities.BeginLearningOut
	err := storeStep(ctx, "earlier learnings", act.BeginLearning, activities.BeginLearningIn{Investigation: investigation, N: n}, &begun)
	if err != nil {
		workflow.GetLogger(ctx).Warn("learning was not started", "error", err)
		return
	}
	if !begun.Learns {
		return
	}
	started := workflow.Now(ctx)
	options := childOptions(ctx, LearningID(workflow.GetInfo(ctx).WorkflowExecution.ID), "learnings")
	child := workflow.ExecuteChildWorkflow(options, patterns()[begun.Agent.Pattern], AgentInput{
		Ref: begun.Ref, Agent: begun.Agent, PlanVersion: begun.PlanVersion, Prior: begun.Prior, Peers: begun.Peers, Reserve: true,
	})
	cleanup, _ := workflow.NewDisconnectedContext(ctx) // a cancelled child still reports its result
	result, ended, err := outcomeOf[AgentResult](cleanup, child)
	if !ended {
		result = AgentResult{Status: agent.StatusFailed, StopReason: agent.StopFailed}
		if err != nil {
			result.Error = err.Error()
		}
	}
	save := activities.SaveLearningsIn{Reflector: activities.ExecutionSummary{
		Ref: begun.Ref, Status: result.Status, StopReason: result.StopReason, Forced: result.Forced, Iterations: result.Iterations,
		Usage: result.Usage, Error: clip.Text(cmp.Or(result.Error, result.Partial), 500),
		Started: exact(started), Ended: exact(workflow.Now(ctx)),
	}}
	if err := storeStep(cleanup, "learnings", act.SaveLearnings, save, nil); err != nil {
		workflow.GetLogger(ctx).Warn("learnings were not stored", "error", err)
	}
}
