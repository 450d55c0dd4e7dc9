package workflows

import (
	"encoding/json"
	"time"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
)

// What the query "status" answers.

// StageStatus is the line of a run of a stage in a status, or of a stage that has not run.
type StageStatus struct {
	Name    string         `json:"name"`          // the run's, as in StageRun
	Run     int            `json:"run,omitempty"` // how often it has been started
	Status  agent.Status   `json:"status"`
	Partial string         `json:"partial,omitempty"` // why the text that it ended with is not whole
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
	By  string `json:"by,omitempty"` // who asked for it
	agent.Labels
	// Stages are the newest 200 runs of stages in the order in which they started,
	// and then those that have not run.
	Stages []StageStatus `json:"stages,omitempty"`
	Usage  agent.Usage   `json:"usage,omitzero"` // of the stages that ended; absent = not known
	// Summary is the executive summary, and SummaryError why there is none.
	Summary      string `json:"summary,omitempty"`
	SummaryError string `json:"summary_error,omitempty"`
	// Score says how it was judged. Only the store knows it.
	Score *record.Score `json:"score,omitempty"`
	// WaitingFor says whom or what the investigation waits for.
	WaitingFor string `json:"waiting_for,omitempty"`
	// Waiting are the tool calls that a person has to decide.
	Waiting []Approval `json:"waiting,omitempty"`
	// Outages are providers that are waited for, Asleep agents that have paused.
	Outages []Outage `json:"outages,omitempty"`
	Asleep  []Asleep `json:"asleep,omitempty"`
	// Troubles are activities that wait for something of ours. Only Temporal knows them: whoever
	// asks it adds them to what the query says.
	Troubles []Trouble `json:"troubles,omitempty"`
	// Questions wait for people's answers.
	Questions []Interrupt `json:"questions,omitempty"`
	// Answers are the newest, as the agents are told them.
	Answers []activities.Note `json:"answers,omitempty"`
	// Bounds are those in force, and where they come from; Budget is what is left of
	// them to raise while the investigation runs.
	Bounds []plan.Bound `json:"bounds,omitempty"`
	Budget *Budget      `json:"budget,omitempty"` // nil: nothing bounds it
	Pass   int          `json:"pass,omitempty"`   // from 1
	Hops   int          `json:"hops,omitempty"`   // stages that were started
	// Outputs are what the stages of this pass hand on, by their output keys.
	Outputs map[string]Output `json:"outputs,omitempty"`
	// History are the newest 200 stages that have ended, in that order, and Errors
	// the newest 50 that failed.
	History     []StageRun   `json:"history,omitempty"`
	Errors      []StageError `json:"errors,omitempty"`
	Undelivered []string     `json:"undelivered,omitempty"`
	Error       string       `json:"error,omitempty"`
	// Notices are the newest 20 that the transcript has for people, such as servers that are not available and tools that
	// cannot be used. Only the store knows them.
	Notices []string `json:"notices,omitempty"`
}

// Waits are the people and providers that are waited for.
func (s Status) Waits() record.Waits {
	return record.Waits{Approvals: s.Waiting, Questions: s.Questions, Outages: s.Outages}
}

// Trouble is an activity that fails again and again, or waits, for something of ours.
type Trouble struct {
	Workflow  string `json:"workflow"` // the id
	Activity  string `json:"activity"` // the type
	ErrorType string `json:"error_type"`
	// Error is what a worker lacks that cannot do it. Errors of the store are for the
	// workers' logs: they may name what is nobody else's business.
	Error   string    `json:"error,omitempty"`
	Since   time.Time `json:"since"` // that the activity is tried
	Attempt int       `json:"attempt"`
	Next    time.Time `json:"next,omitzero"` // attempt; zero: one runs, or waits for a worker
}

// Output is what a stage hands on.
type Output struct {
	Stage     string `json:"stage"`     // its run's name
	Execution string `json:"execution"` // whose final text it is
	// Value is the JSON object of a stage that has a contract or routes. One over
	// 16 KB is named by Ref, in the store.
	Value json.RawMessage `json:"value,omitempty"`
	Ref   string          `json:"ref,omitempty"`
}

// StageRun is one run of a stage that has ended.
type StageRun struct {
	Stage      string        `json:"stage"` // the run's name: of its second run "stage#2"
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

// StageError is a failure of a stage, also of one that the chain has survived.
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
	Usage         agent.Usage  `json:"usage,omitzero"` // absent = not known
	Waiting       []Approval   `json:"waiting,omitempty"`
	Outage        *Outage      `json:"outage,omitempty"` // nil: none that lasts
	// PausedUntil is when an agent goes on that has paused its heartbeats.
	PausedUntil time.Time `json:"paused_until,omitzero"`
	// Undelivered says what was said to the agent itself and could not be taken.
	Undelivered []string `json:"undelivered,omitempty"`
	// LastFault is of the tool call that failed last since this run of the workflow began; nil = none has.
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
	// Answering is whose message the agent works on; "" = nobody's.
	Answering string `json:"answering,omitempty"`
	// Waiting are the tool calls that a person has to decide, where a Status has them.
	Waiting     []Approval  `json:"waiting,omitempty"`
	AgentStatus AgentStatus `json:"agent_status"`
}
