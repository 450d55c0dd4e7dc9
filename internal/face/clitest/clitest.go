// Package clitest has helpers for tests of several commands.
package clitest

import (
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/workflows"
)

// Risky returns the pending calls of an investigation with that chain.
func Risky(investigation string) []workflows.Approval {
	call := func(execution, id, tool, arguments string, left time.Duration) workflows.Approval {
		return workflows.Approval{
			CallID: id, Tool: tool, Risk: agent.RiskHigh, Arguments: arguments, Digest: "d1" + strings.TrimPrefix(id, "c1_"), Agent: "LogAgent",
			Execution:  execution,
			WorkflowID: investigation + "/" + execution, Expires: time.Now().Add(left),
		}
	}
	restart := call("collect/LogAgent", "c1_0", "k8s.restart", `{"pod":"db-1","note":"`+strings.Repeat("x", 100)+`"}`, time.Hour)
	restart.Remember = "a definition"
	restart.Reason, restart.Description = "The pool is full, I restart\u202e it.", "Restarts a pod."
	return []workflows.Approval{
		restart,
		call("collect/LogAgent", "c1_1", "k8s.delete", "{}\x1b[2J", 30*time.Minute),
		call("collect/Other", "c1_0", "k8s.scale", "{}", 2*time.Hour),
	}
}

// Asking returns the questions of an investigation with that chain.
func Asking() []workflows.Interrupt {
	return []workflows.Interrupt{
		{ID: "q1", Kind: "clarification", Stage: "plan", Question: "Which\x1b[2J database?", Expires: time.Now().Add(24 * time.Hour)},
		{ID: "q2", Kind: "confirmation", Stage: "apply", Question: "Restart it?", Expires: time.Now().Add(time.Hour)},
	}
}
