package system

import (
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/eval"
	"github.com/inquest-dev/inquest/internal/plan"
)

// Comparison shows two investigations side by side.
type Comparison struct {
	A    Compared      `json:"a"`
	B    Compared      `json:"b"`
	Plan []plan.Change `json:"plan" doc:"settings that differ, in the order of their paths"`
	// PlanProblem is why the plans could not be compared; empty means that they were.
	PlanProblem string      `json:"plan_problem,omitempty" doc:"why the plans could not be compared"`
	Steps       []eval.Step `json:"steps" doc:"each agent's replies, A's beside B's; sub-agents are paired by the number of their dispatch"`
}

// Compared holds the parts of one investigation that are compared, without its judges.
type Compared struct {
	ID        string          `json:"id"`
	Status    agent.Status    `json:"status"`
	EndReason agent.EndReason `json:"end_reason,omitempty"`
	Error     string          `json:"error,omitempty"`
	Chain     string          `json:"chain"`
	Started   time.Time       `json:"started_at"`
	Ended     *time.Time      `json:"ended_at,omitempty"`
	Brief     Brief           `json:"brief,omitzero"`
	Models    []string        `json:"models" doc:"in the order of their first use"`
	Usage     agent.Usage     `json:"usage,omitzero"`
	Calls     map[string]int  `json:"tool_calls" doc:"number of results of each tool"`
}
