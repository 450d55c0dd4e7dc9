// Package workflows decides what happens next in an investigation, and does no
// I/O: Investigation walks the plan's stages, Stage runs agents in parallel,
// and an agent workflow loops over model calls and tool calls. Workflows hold only
// small control data; the conversation itself is in the store.
package workflows

import (
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/internal/agent"
)

// patterns picks the child workflow by the type table's pattern.
var patterns = map[agent.Pattern]any{
	agent.Iterating:  IteratingAgent,
	agent.SingleShot: SingleShotAgent,
	agent.ToolPlan:   ToolPlanAgent,
	agent.Service:    ServiceAgent,
}

// Register makes a worker run the workflows.
func Register(registry worker.WorkflowRegistry) {
	registry.RegisterWorkflow(Investigation)
	registry.RegisterWorkflow(Stage)
	// A conversation may be open for months: it moves on with the deployment.
	registry.RegisterWorkflowWithOptions(Conversation, workflow.RegisterOptions{VersioningBehavior: workflow.VersioningBehaviorAutoUpgrade})
	registry.RegisterWorkflowWithOptions(Fleet, workflow.RegisterOptions{VersioningBehavior: workflow.VersioningBehaviorAutoUpgrade})
	registry.RegisterWorkflowWithOptions(Intake, workflow.RegisterOptions{VersioningBehavior: workflow.VersioningBehaviorAutoUpgrade})
	registry.RegisterWorkflow(IteratingAgent)
	registry.RegisterWorkflow(SingleShotAgent)
	registry.RegisterWorkflow(ToolPlanAgent)
	registry.RegisterWorkflow(ServiceAgent)
	registry.RegisterWorkflow(Scoring)
	registry.RegisterWorkflow(Reconcile)
}
