package workflows

import (
	"go.temporal.io/sdk/worker"

	"github.com/inquest-dev/inquest/internal/agent"
)

// patterns picks the child workflow by the type table's pattern.
var patterns = map[agent.Pattern]any{
	agent.Iterating:  IteratingAgent,
	agent.SingleShot: SingleShotAgent,
}

// Register makes a worker run the workflows.
func Register(registry worker.WorkflowRegistry) {
	registry.RegisterWorkflow(Investigation)
	registry.RegisterWorkflow(Stage)
	registry.RegisterWorkflow(Conversation)
	registry.RegisterWorkflow(IteratingAgent)
	registry.RegisterWorkflow(SingleShotAgent)
}
