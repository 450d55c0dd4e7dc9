package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// EnvelopeVersion is that of the envelopes that this program writes. Fields are only
// added; what a reader does not know, it leaves out.
const EnvelopeVersion = 1

// Envelope is what there is to say of an investigation besides its record and its
// stages (spec: pipeline, "Envelope").
type Envelope struct {
	Version int    `json:"version"`
	By      string `json:"by,omitempty"` // who asked for it
	// Pending are the stages of the chain that have not run.
	Pending     []string     `json:"pending,omitempty"`
	Pass        int          `json:"pass,omitempty"`  // from 1
	Hops        int          `json:"hops,omitempty"`  // stages that were started
	Final       bool         `json:"final,omitempty"` // it is that of the end
	Bounds      []plan.Bound `json:"bounds,omitempty"`
	Answers     []Note       `json:"answers,omitempty"`
	Undelivered []string     `json:"undelivered,omitempty"`
	// Evidence is the blob of what the report was checked against: an evidence.Evidence; "" = it cites nothing.
	Evidence string `json:"evidence,omitempty"`
	// Outputs are the runs of stages that hand on what they made, in the last pass.
	Outputs []string `json:"outputs,omitempty"`
	// Summary is the executive summary; without one, SummaryError says why, if there was to be one.
	Summary      string `json:"summary,omitempty"`
	SummaryError string `json:"summary_error,omitempty"`
}

// StageEnvelope is what there is to say of a run of a stage besides its record.
type StageEnvelope struct {
	Version   int            `json:"version"`
	Order     int            `json:"order,omitempty"` // in which the runs of all stages started, from 1
	Run       int            `json:"run,omitempty"`   // of the stage, from 1
	Pass      int            `json:"pass,omitempty"`  // from 1
	Agents    []AgentSummary `json:"agents,omitempty"`
	ErrorType string         `json:"error_type,omitempty"`
	// Message is what an output says whose outcome is an error.
	Message string `json:"message,omitempty"`
	Key     string `json:"key,omitempty"` // that the output is handed on under
	Output  Output `json:"output,omitzero"`
	Partial string `json:"partial,omitempty"` // why the text that it ended with is not whole
}

// AgentSummary is an agent's line in a status.
type AgentSummary struct {
	Name       string           `json:"name"`
	Status     agent.Status     `json:"status"`
	StopReason agent.StopReason `json:"stop_reason,omitempty"`
	Model      string           `json:"model,omitempty"`
	Iterations int              `json:"iterations,omitempty"`
	Usage      agent.Usage      `json:"usage,omitzero"` // absent = not known
	Error      string           `json:"error,omitempty"`
	// ActionsExecuted is what an action agent says of itself; nil = it has not said.
	ActionsExecuted *bool `json:"actions_executed,omitempty"`
	// WorkflowID answers the query "status" while the agent runs.
	WorkflowID string `json:"workflow_id,omitempty"`
	// LastFault is of the tool call that failed last, of an agent that runs; nil = none has.
	LastFault *CallFault `json:"last_fault,omitempty"`
}

// CallFault is a tool call that failed; its text is in the transcript.
type CallFault struct {
	Tool      string `json:"tool"`
	Iteration int    `json:"iteration"`
	ErrorType string `json:"error_type"`
	agent.Fault
}

// Output is a JSON object that a stage hands on: itself, or a blob if it is over 16 KB.
type Output struct {
	Value json.RawMessage `json:"value,omitempty"`
	Ref   string          `json:"ref,omitempty"`
}

// Note is a question and what a person answered.
type Note struct {
	Kind     string `json:"kind"`
	Stage    string `json:"stage"`
	Question string `json:"question"`
	Answer   string `json:"answer"`
	By       string `json:"by,omitempty"`
}

// Why says why a run of a stage has not succeeded.
func (s Stage) Why() string {
	if s.Status != agent.StatusCompleted {
		return cmp.Or(s.Error, string(s.Status))
	}
	return strings.TrimSuffix(fmt.Sprintf("its output has the outcome %q: %s", s.Outcome, s.Envelope.Message), ": ")
}
