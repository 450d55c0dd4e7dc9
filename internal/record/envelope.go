package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// EnvelopeVersion is the version of the envelopes that this program writes. Fields are only ever added, and readers ignore unknown
// ones.
const EnvelopeVersion = 1

// Envelope holds the data of an investigation that is in neither its record nor its stages (spec: pipeline, "Envelope").
type Envelope struct {
	Version int    `json:"version"`
	By      string `json:"by,omitempty"` // who requested it
	// Schedule started it; nil means that a person or an alert did. If it makes checks, Before is the verdict of the check before, and
	// Check that of this one. Nil means that there is none.
	Schedule *agent.Schedule     `json:"schedule,omitempty"`
	Before   *agent.EarlierCheck `json:"before,omitempty"`
	Check    *agent.Check        `json:"check,omitempty"`
	// Trial means that the investigation is an experiment: see agent.Request.
	Trial bool `json:"trial,omitempty"`
	// Fork is nil unless the investigation was forked from another one.
	Fork *Fork `json:"fork,omitempty"`
	// Pending lists the stages of the chain that have not run.
	Pending     []string     `json:"pending,omitempty"`
	Pass        int          `json:"pass,omitempty"`  // from 1
	Hops        int          `json:"hops,omitempty"`  // stages that were started
	Final       bool         `json:"final,omitempty"` // set in the envelope of the end
	Bounds      []plan.Bound `json:"bounds,omitempty"`
	Answers     []Note       `json:"answers,omitempty"`
	Undelivered []string     `json:"undelivered,omitempty"`
	// Evidence is the blob with the evidence that the report was checked against, an evidence.Evidence; empty means that the report
	// cites nothing.
	Evidence string `json:"evidence,omitempty"`
	// Outputs are the stage runs of the last pass that hand on an output.
	Outputs []string `json:"outputs,omitempty"`
	// NotChecked lists the servers whose tools an agent never had, so that the systems behind them were not looked at.
	NotChecked []NotChecked `json:"not_checked,omitempty"`
	// NoToolResult means that there is a report, but no call of a tool has succeeded that it could rest on.
	NoToolResult bool `json:"no_tool_result,omitempty"`
	// Summary is the executive summary. If one was requested and is missing, SummaryError says why.
	Summary      string `json:"summary,omitempty"`
	SummaryError string `json:"summary_error,omitempty"`
}

// Fork says where an investigation was forked from another one.
type Fork struct {
	Of   string `json:"of"`             // its ID
	At   string `json:"at,omitempty"`   // the place in it, as it was requested; empty means its end
	Rows int    `json:"rows,omitempty"` // how many entries are shared
	// Left are the first calls of the other investigation that are not shared and may have changed something, each in one line.
	Left []string `json:"left,omitempty"`
	// Changes describes what the fork has instead of what tools and the other investigation's configuration had said.
	Changes []string `json:"changes,omitempty"`
	// Tools says what answered tool calls: see agent.Fork. Coverage counts them once the fork has ended, without the shared ones.
	Tools    string          `json:"tools,omitempty"`
	Coverage *agent.Coverage `json:"coverage,omitempty"`
	// Given are the tools whose results a person gave or left out, and the agents that a person left out, so that the systems behind them
	// were not looked at.
	Given []NotChecked `json:"given,omitempty"`
}

// String describes the fork in one line.
func (f Fork) String() string {
	at := " at its end"
	if f.At != "" {
		at = " at " + f.At
	}
	text := fmt.Sprintf("%s%s, %d rows shared", f.Of, at, f.Rows)
	switch {
	case f.Coverage != nil:
		text += fmt.Sprintf(", %s tool calls answered from its results", f.Coverage)
	case f.Tools != "":
		text += ", tool calls answered from its results"
	}
	return text
}

// StageEnvelope holds the data of a stage run that is not in its record.
type StageEnvelope struct {
	Version   int            `json:"version"`
	Order     int            `json:"order,omitempty"` // of the starts of all stage runs, from 1
	Run       int            `json:"run,omitempty"`   // of the stage, from 1
	Pass      int            `json:"pass,omitempty"`  // from 1
	Agents    []AgentSummary `json:"agents,omitempty"`
	ErrorType string         `json:"error_type,omitempty"`
	// Message is the message of an output with the outcome error.
	Message string `json:"message,omitempty"`
	Key     string `json:"key,omitempty"` // under which the output is handed on
	Output  Output `json:"output,omitzero"`
	Partial string `json:"partial,omitempty"` // why its final text is incomplete
}

// AgentSummary is an agent's line in a status.
type AgentSummary struct {
	Name       string           `json:"name"`
	Status     agent.Status     `json:"status"`
	StopReason agent.StopReason `json:"stop_reason,omitempty"`
	Model      string           `json:"model,omitempty"`
	Iterations int              `json:"iterations,omitempty"`
	Usage      agent.Usage      `json:"usage,omitzero"` // absent means unknown
	Error      string           `json:"error,omitempty"`
	// ActionsExecuted is an action agent's own statement; nil means that it made none.
	ActionsExecuted *bool `json:"actions_executed,omitempty"`
	// NotChecked lists the tool servers whose tools the agent never had.
	NotChecked []NotChecked `json:"not_checked,omitempty"`
	// WorkflowID is the workflow that answers the query "status" while the agent runs.
	WorkflowID string `json:"workflow_id,omitempty"`
	// LastFault is the last failed tool call of a running agent; nil means none.
	LastFault *CallFault `json:"last_fault,omitempty"`
}

// CallFault is a failed tool call; its text is in the transcript.
type CallFault struct {
	Tool      string `json:"tool"`
	Iteration int    `json:"iteration"`
	ErrorType string `json:"error_type"`
	agent.Fault
}

// Output is a JSON object that a stage hands on: the object itself, or a blob if it is over 16 KB.
type Output struct {
	Value json.RawMessage `json:"value,omitempty"`
	Ref   string          `json:"ref,omitempty"`
}

// Note is a question and a person's answer.
type Note struct {
	Kind     string `json:"kind"`
	Stage    string `json:"stage"`
	Question string `json:"question"`
	Answer   string `json:"answer"`
	By       string `json:"by,omitempty"`
}

// Why says why a stage run has not succeeded.
func (s Stage) Why() string {
	if s.Status != agent.StatusCompleted {
		return cmp.Or(s.Error, string(s.Status))
	}
	return strings.TrimSuffix(fmt.Sprintf("its output has the outcome %q: %s", s.Outcome, s.Envelope.Message), ": ")
}
