// Package record holds the store's records of investigations, stages and executions, which outlive Temporal's retention period. The
// conversation itself is in package transcript.
package record

import (
	"errors"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Investigation is the record of one investigation.
type Investigation struct {
	ID         string `json:"id"` // see workflows.InvestigationID
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"` // of the first run
	Chain      string `json:"chain"`
	AlertType  string `json:"alert_type,omitempty"`
	PlanHash   string `json:"plan_hash"`           // blob of the plan.Plan
	DataHash   string `json:"data_hash,omitempty"` // blob of the request's data
	agent.Labels
	Overrides agent.Overrides `json:"overrides,omitzero"`
	Status    agent.Status    `json:"status"`
	EndReason agent.EndReason `json:"end_reason,omitempty"`
	Error     string          `json:"error,omitempty"`
	// Report is the final result: that of the last stage with a result.
	Report    string      `json:"report,omitempty"`
	Usage     agent.Usage `json:"usage,omitzero"` // so far; absent means unknown
	Envelope  Envelope    `json:"envelope,omitzero"`
	StartedAt time.Time   `json:"started_at"`
	EndedAt   *time.Time  `json:"ended_at,omitempty"`
	// Writer is the workflow run that wrote the record; empty if it was not written by a workflow.
	Writer string `json:"-"`
	// Requires is not stored: see transcript.Step.
	Requires []transcript.Mark `json:"-"`
}

// Stage is the record of one run of a stage.
type Stage struct {
	Investigation string        `json:"investigation"`
	Name          string        `json:"name"`  // of the run: "stage#2" for the second run
	Index         int           `json:"index"` // from 0, in the order of the plan
	Status        agent.Status  `json:"status"`
	Outcome       agent.Outcome `json:"outcome,omitempty"`
	// Result is the execution whose final text is the stage's result; empty means none.
	Result    string        `json:"result,omitempty"`
	Error     string        `json:"error,omitempty"`
	Envelope  StageEnvelope `json:"envelope,omitzero"`
	StartedAt time.Time     `json:"started_at"`
	EndedAt   *time.Time    `json:"ended_at,omitempty"`
	// Requires is not stored: see transcript.Step.
	Requires []transcript.Mark `json:"-"`
}

// Admission is a model call that needs room in an investigation's ledger before it is made.
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
	// ID is the execution's workflow ID, and the {{.SESSION_ID}} that tool servers get. internal/client sets it.
	ID            string           `json:"id,omitempty"`
	Investigation string           `json:"investigation"`
	Name          string           `json:"name"` // "<stage>/<agent>"
	Stage         string           `json:"stage"`
	Agent         string           `json:"agent"` // name of the definition
	Type          string           `json:"type"`
	LLMBackend    string           `json:"llm_backend"`
	Provider      string           `json:"provider"`
	Model         string           `json:"model"` // the model that answered last
	Status        agent.Status     `json:"status"`
	StopReason    agent.StopReason `json:"stop_reason,omitempty"`
	Forced        bool             `json:"forced_conclusion,omitempty"`
	Iterations    int              `json:"iterations,omitempty"` // so far, as is Usage
	Usage         agent.Usage      `json:"usage,omitzero"`
	Error         string           `json:"error,omitempty"`
	StartedAt     time.Time        `json:"started_at"`
	EndedAt       *time.Time       `json:"ended_at,omitempty"`
	// ActionsExecuted is an action agent's own statement; nil means that it made none.
	ActionsExecuted *bool `json:"actions_executed,omitempty"`
}

// ErrChanged means that a record has changed since it was read.
var ErrChanged = errors.New("it has changed meanwhile")

// ErrNotFound means that there is no such record.
var ErrNotFound = errors.New("not found")

// ErrUnavailable means that the store does not answer at the moment.
var ErrUnavailable = errors.New("the database is not available at the moment")
