// Package record holds what the store keeps about investigations, stages and
// executions: the picture that outlives Temporal's retention. The conversation
// itself is in package transcript.
package record

import (
	"errors"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// Investigation is the record of one investigation.
type Investigation struct {
	ID         string `json:"id"` // see workflows.InvestigationID
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"` // the first run's
	Chain      string `json:"chain"`
	AlertType  string `json:"alert_type,omitempty"`
	PlanHash   string `json:"plan_hash"`           // blob of the plan.Plan
	DataHash   string `json:"data_hash,omitempty"` // blob of the request's data
	agent.Labels
	Overrides agent.Overrides `json:"overrides,omitzero"`
	Status    agent.Status    `json:"status"`
	EndReason agent.EndReason `json:"end_reason,omitempty"`
	Error     string          `json:"error,omitempty"`
	// Report is the final result: that of the last stage that has one.
	Report    string      `json:"report,omitempty"`
	Usage     agent.Usage `json:"usage,omitzero"` // until now; absent = not known
	Envelope  Envelope    `json:"envelope,omitzero"`
	StartedAt time.Time   `json:"started_at"`
	EndedAt   *time.Time  `json:"ended_at,omitempty"`
	// Writer is the run of the workflow that wrote the record; "" = another hand did.
	Writer string `json:"-"`
}

// Stage is the record of one run of a stage.
type Stage struct {
	Investigation string        `json:"investigation"`
	Name          string        `json:"name"`  // the run's: of its second run "stage#2"
	Index         int           `json:"index"` // from 0, in the order of the plan
	Status        agent.Status  `json:"status"`
	Outcome       agent.Outcome `json:"outcome,omitempty"`
	// Result is the execution whose final text stands for the stage; "" = none.
	Result    string        `json:"result,omitempty"`
	Error     string        `json:"error,omitempty"`
	Envelope  StageEnvelope `json:"envelope,omitzero"`
	StartedAt time.Time     `json:"started_at"`
	EndedAt   *time.Time    `json:"ended_at,omitempty"`
}

// Admission is a model call that is about to be made, for which an investigation's
// ledger must have room.
type Admission struct {
	Investigation, Execution string
	Iteration                int
	RunID                    string // of the workflow
	Provider, Model          string
	Needs                    agent.Usage // at least
	Bounds                   plan.Bounds
}

// Execution is the record of one agent's work in a stage.
type Execution struct {
	// ID is the execution's workflow id, and the {{.SESSION_ID}} that tool servers are sent. internal/client fills it in.
	ID            string           `json:"id,omitempty"`
	Investigation string           `json:"investigation"`
	Name          string           `json:"name"` // "<stage>/<agent>"
	Stage         string           `json:"stage"`
	Agent         string           `json:"agent"` // the definition's name
	Type          string           `json:"type"`
	LLMBackend    string           `json:"llm_backend"`
	Provider      string           `json:"provider"`
	Model         string           `json:"model"` // the one that really answered last
	Status        agent.Status     `json:"status"`
	StopReason    agent.StopReason `json:"stop_reason,omitempty"`
	Forced        bool             `json:"forced_conclusion,omitempty"`
	Iterations    int              `json:"iterations,omitempty"` // until now, as is Usage
	Usage         agent.Usage      `json:"usage,omitzero"`
	Error         string           `json:"error,omitempty"`
	StartedAt     time.Time        `json:"started_at"`
	EndedAt       *time.Time       `json:"ended_at,omitempty"`
	// ActionsExecuted is what an action agent says of itself; nil = it has not said.
	ActionsExecuted *bool `json:"actions_executed,omitempty"`
}

// ErrNotFound: there is no such record.
var ErrNotFound = errors.New("not found")

// ErrUnavailable: the store does not answer at the moment.
var ErrUnavailable = errors.New("the database is not available at the moment")
