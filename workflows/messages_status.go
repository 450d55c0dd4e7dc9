package workflows

import (
	"encoding/json"
	"time"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
)

// This file holds the types of the query "status".

// StageStatus is the status line of one run of a stage, or of a stage that has not run.
type StageStatus struct {
	Name    string         `json:"name"`          // the run's name, as in StageRun
	Run     int            `json:"run,omitempty"` // number of this run of the stage, from 1
	Status  agent.Status   `json:"status"`
	Partial string         `json:"partial,omitempty"` // why its final text is incomplete
	Agents  []AgentSummary `json:"agents,omitempty"`
	Error   string         `json:"error,omitempty"`
}

// Status answers the query "status" of an investigation: a short, complete picture.
type Status struct {
	ID        string          `json:"id"`
	Chain     string          `json:"chain,omitempty"`
	Status    agent.Status    `json:"status"`
	EndReason agent.EndReason `json:"end_reason,omitempty"`
	// Cut reports that a limit ended the investigation before its chain was complete.
	Cut bool   `json:"cut,omitempty"`
	By  string `json:"by,omitempty"` // who requested the investigation
	agent.Labels
	// Stages holds the newest 200 stage runs in the order in which they started, then the
	// stages that have not run.
	Stages []StageStatus `json:"stages,omitempty"`
	Usage  agent.Usage   `json:"usage,omitzero"` // of the stages that ended; absent if unknown
	// Summary is the executive summary; SummaryError says why it is missing.
	Summary      string `json:"summary,omitempty"`
	SummaryError string `json:"summary_error,omitempty"`
	// Score is the investigation's score. Only the store has it.
	Score *record.Score `json:"score,omitempty"`
	// WaitingFor names the people or things that the investigation waits for.
	WaitingFor string `json:"waiting_for,omitempty"`
	// Waiting lists the tool calls that need a person's decision.
	Waiting []Approval `json:"waiting,omitempty"`
	// Outages lists the providers that agents wait for, Asleep the agents that have paused.
	Outages []Outage `json:"outages,omitempty"`
	Asleep  []Asleep `json:"asleep,omitempty"`
	// Troubles lists activities that wait for a component of this system. Only Temporal knows them:
	// callers that query Temporal add them to the reply.
	Troubles []Trouble `json:"troubles,omitempty"`
	// Questions lists the open questions for people.
	Questions []Interrupt `json:"questions,omitempty"`
	// Answers holds the newest answers, as the agents see them.
	Answers []activities.Note `json:"answers,omitempty"`
	// Bounds lists the bounds in force and their origin. Budget holds the bounds that people can
	// raise while the investigation runs, with all extensions so far.
	Bounds []plan.Bound `json:"bounds,omitempty"`
	Budget *Budget      `json:"budget,omitempty"` // nil: unbounded
	Pass   int          `json:"pass,omitempty"`   // from 1
	Hops   int          `json:"hops,omitempty"`   // stages started
	// Outputs holds the outputs of this pass's stages by output key.
	Outputs map[string]Output `json:"outputs,omitempty"`
	// History holds the newest 200 stage runs that have ended, in that order, and Errors
	// the newest 50 that failed.
	History     []StageRun   `json:"history,omitempty"`
	Errors      []StageError `json:"errors,omitempty"`
	Undelivered []string     `json:"undelivered,omitempty"`
	Error       string       `json:"error,omitempty"`
	// Notices holds the newest 20 transcript notices for people, such as unavailable servers and unusable tools. Only the
	// store has them.
	Notices []string `json:"notices,omitempty"`
}

// Waits returns the people and providers that the investigation waits for.
func (s Status) Waits() record.Waits {
	return record.Waits{Approvals: s.Waiting, Questions: s.Questions, Outages: s.Outages}
}

// Trouble is an activity that repeatedly fails on, or waits for, a component of this system.
type Trouble struct {
	Workflow  string `json:"workflow"` // the id
	Activity  string `json:"activity"` // the type
	ErrorType string `json:"error_type"`
	// Error names the missing requirement of the worker. Errors of the store are only in the
	// workers' logs, because they may contain confidential names.
	Error   string    `json:"error,omitempty"`
	Since   time.Time `json:"since"` // when the activity was scheduled, before its first attempt
	Attempt int       `json:"attempt"`
	Next    time.Time `json:"next,omitzero"` // attempt; zero: one is running, or waits for a worker
}

// Output is the output of a stage.
type Output struct {
	Stage     string `json:"stage"`     // its run's name
	Execution string `json:"execution"` // that wrote it as its final text
	// Value is the JSON object of a stage that has a contract or routes. If it is over 16 KB,
	// Ref names it in the store instead.
	Value json.RawMessage `json:"value,omitempty"`
	Ref   string          `json:"ref,omitempty"`
}

// StageRun is one run of a stage that has ended.
type StageRun struct {
	Stage      string        `json:"stage"` // the run's name; the second run is "stage#2"
	Agents     []string      `json:"agents,omitempty"`
	Pass       int           `json:"pass"` // from 1
	Started    time.Time     `json:"started"`
	Completed  time.Time     `json:"completed"`
	DurationMS int64         `json:"duration_ms"`
	Status     agent.Status  `json:"status"`
	Outcome    agent.Outcome `json:"outcome,omitempty"`
	Error      string        `json:"error,omitempty"`
	LLMCalls   int           `json:"llm_calls,omitempty"`
}

// StageError is a failure of a stage, even if the chain continued after it.
type StageError struct {
	Stage     string    `json:"stage"`
	Error     string    `json:"error"`
	ErrorType string    `json:"error_type,omitempty"`
	Timestamp time.Time `json:"timestamp"`
}

// AgentStatus answers the query "status" of an agent.
type AgentStatus struct {
	Execution     string       `json:"execution"`
	Status        agent.Status `json:"status"`
	Iteration     int          `json:"iteration"`
	MaxIterations int          `json:"max_iterations"`
	Model         string       `json:"model"`
	Doing         string       `json:"doing,omitempty"`
	Usage         agent.Usage  `json:"usage,omitzero"` // absent if unknown
	Waiting       []Approval   `json:"waiting,omitempty"`
	Outage        *Outage      `json:"outage,omitempty"` // nil: no lasting outage
	// PausedUntil is when an agent that has paused its heartbeats continues.
	PausedUntil time.Time `json:"paused_until,omitzero"`
	// Undelivered lists messages to the agent that were not delivered.
	Undelivered []string `json:"undelivered,omitempty"`
	// LastFault is the last failed tool call of this workflow run. Nil means that none has failed.
	LastFault *CallFault `json:"last_fault,omitempty"`
}

// CallFault is a tool call that failed.
type CallFault = record.CallFault

// ConversationStatus answers the query "status" of a conversation.
type ConversationStatus struct {
	ID    string `json:"id"`
	Agent string `json:"agent,omitempty"`
	Open  bool   `json:"open"`
	Turns int    `json:"turns"`
	// Answering names the author of the message that the agent is working on. Empty means no message.
	Answering string `json:"answering,omitempty"`
	// Waiting lists the tool calls that need a person's decision, as in Status.
	Waiting     []Approval  `json:"waiting,omitempty"`
	AgentStatus AgentStatus `json:"agent_status"`
}
