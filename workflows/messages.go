package workflows

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// TaskQueue is where workflows, model calls and the tools of the main group run.
const TaskQueue = plan.MainQueue

// TypeConversation is the workflow type of a durable thread with an agent.
const TypeConversation = "Conversation"

// TypeInvestigation is the workflow type that a request starts.
const TypeInvestigation = "Investigation"

// TypeReconcile is the workflow type that puts records right.
const TypeReconcile = "Reconcile"

// ReconcileSchedule returns the ID of the Temporal Schedule that starts Reconcile. The workers of the task queue create it.
func ReconcileSchedule(taskQueue string) string { return "inquest-reconcile-" + taskQueue }

// Signals of a running investigation. Each is also an update with the same name and input. The update is
// refused, or returns the recipients (Taken). All signals except guidance are passed down to the stages and
// agents. A signal sent to a stage or an agent is for it alone.
const (
	SignalPause    = "pause"    // By, or no payload: no further model call until resume
	SignalResume   = "resume"   // By, or no payload
	SignalConclude = "conclude" // Conclude: finish now with what is known
	SignalGuide    = "guide"    // Guide: text for the agents' mail, shown before the next model call

	SignalPauseHeartbeats  = "pause-heartbeats"  // PauseHeartbeats: agents with heartbeats sleep
	SignalResumeHeartbeats = "resume-heartbeats" // Conclude (stage, agent, by), or no payload: they continue at once
)

// UpdateDecide approves or denies an agent's tool call. It takes a Decide and returns the decision.
const UpdateDecide = "decide"

// SignalLimits carries Limits down from an investigation to its stages and their agents.
const SignalLimits = "limits"

// SignalWaiting carries Waiting up from an agent to its stage and the investigation.
const SignalWaiting = "waiting"

// Queries of a running or finished investigation.
const (
	QueryStatus = "status" // Status
	QueryResult = "result" // InvestigationResult
)

// Taken is the reply to the update variant of a signal.
type Taken struct {
	// For lists the running executions that receive it. If it is empty, the next execution
	// that calls its model reads the guidance.
	For []string `json:"for,omitempty"`
}

// Guide is a person's message to the agents.
type Guide struct {
	Text string `json:"text"`
	// Stage and Agent name one run of a stage and one agent. If empty, all that are running receive it, else the next one.
	Stage string `json:"stage,omitempty"`
	Agent string `json:"agent,omitempty"`
	By    string `json:"by,omitempty"`
}

// Conclude asks one stage, one agent or, if both are empty, the whole investigation to
// finish now with the findings so far.
type Conclude struct {
	Stage string `json:"stage,omitempty"`
	Agent string `json:"agent,omitempty"`
	By    string `json:"by,omitempty"`
	// Late means that the time limit of the stage or the investigation caused it, not a person.
	Late bool `json:"late,omitempty"`
	// Mail means that the resumed agents may have guidance to read.
	Mail bool `json:"mail,omitempty"`
	// SentOn: see By.
	SentOn bool `json:"sent_on,omitempty"`
}

// PauseHeartbeats makes an agent sleep after its running batch of calls.
type PauseHeartbeats struct {
	// Minutes is clamped to 1–60. Nil means 2.
	Minutes *int   `json:"minutes,omitempty"`
	Stage   string `json:"stage,omitempty"`
	Agent   string `json:"agent,omitempty"`
	By      string `json:"by,omitempty"`
	// SentOn: see By.
	SentOn bool `json:"sent_on,omitempty"`
}

// By names the person who pauses or resumes.
type By struct {
	By string `json:"by,omitempty"`
	// SentOn means that a parent workflow forwards it and has already written it to the audit trail.
	SentOn bool `json:"sent_on,omitempty"`
}

// UpdateElicit puts a question from a tool's server to people. It takes an activities.Elicitation and returns an activities.Elicited.
const UpdateElicit = "elicit"

// UpdateAnswer answers a question of an investigation. It takes an Answer and returns the Interrupt.
const UpdateAnswer = "answer"

// Answer is a person's reply to a question.
type Answer struct {
	ID       string          `json:"id,omitempty"` // empty: the only open question
	Text     string          `json:"text,omitempty"`
	Approved *bool           `json:"approved,omitempty"`
	Decision string          `json:"decision,omitempty"`
	Data     json.RawMessage `json:"data,omitempty"`
	By       string          `json:"by,omitempty"`
}

// UpdateExtendBudget raises the bounds of an investigation. It takes an ExtendBudget and returns the Budget.
const UpdateExtendBudget = "extend_budget"

// ExtendBudget holds the amounts to add to the bounds of an investigation. A resource without
// a bound stays unbounded.
type ExtendBudget struct {
	plan.Extension
	Duration plan.Duration `json:"duration,omitempty"`
	By       string        `json:"by,omitempty"`
}

// Budget holds the bounds of an investigation; zero means unbounded.
type Budget struct {
	LLMCalls int       `json:"llm_calls,omitempty"`
	Tokens   int       `json:"tokens,omitempty"`
	CostUSD  float64   `json:"cost_usd,omitempty"`
	Until    time.Time `json:"until,omitzero"` // absent while the clock is stopped
	Hops     int       `json:"agent_hops,omitempty"`
	Passes   int       `json:"passes,omitempty"`
}

// Interrupt is a question that an investigation has put to people.
type Interrupt = record.Question

// ConversationStage is the stage name of a conversation's executions.
const ConversationStage = "chat"

// UpdateSend sends a message to a conversation. It takes a Message and returns a Reply.
const UpdateSend = "send"

// MemoAgent is the memo key that holds the name of a conversation's agent.
const MemoAgent = "agent"

// SignalClose ends a conversation after the running turn.
const SignalClose = "close"

// Message is a person's message in a conversation.
type Message struct {
	Text   string `json:"text"` // at most 100,000 characters
	Author string `json:"author,omitempty"`
}

// Reply is the agent's answer to a message.
type Reply struct {
	Turn int    `json:"turn"` // from 1
	Text string `json:"text,omitempty"`
	// TextRef names the whole text in the store when it is over 64 KB.
	TextRef    string           `json:"text_ref,omitempty"`
	StopReason agent.StopReason `json:"stop_reason"`
	Iterations int              `json:"iterations"`
	Usage      agent.Usage      `json:"usage"` // of this turn
	// PausedUntil is when an agent that has paused its heartbeats continues.
	PausedUntil time.Time `json:"paused_until,omitzero"`
}

// Approval is a tool call that waits for a person.
type Approval = record.Approval

// Outage is a model provider that an agent waits for.
type Outage = record.Outage

// Waiting lists everything that a child waits for now, except running model and tool calls.
type Waiting struct {
	Execution string     `json:"execution"` // or the stage's name
	Approvals []Approval `json:"approvals,omitempty"`
	Outages   []Outage   `json:"outages,omitempty"`
	Asleep    []Asleep   `json:"asleep,omitempty"`
	Limits    []Limit    `json:"limits,omitempty"`
	// Ended lists the agents of a stage that have ended while other agents of the stage are running.
	Ended []AgentSummary `json:"ended,omitempty"`
	// Subs lists the running sub-agents.
	Subs []AgentSummary `json:"subs,omitempty"`
}

// Asleep is an agent that has paused its heartbeats.
type Asleep struct {
	Agent string    `json:"agent"`
	Until time.Time `json:"until"`
}

// idTail is how many characters of the first run ID distinguish two runs of one
// workflow ID: 48 of its random bits.
const idTail = 12

// InvestigationID returns the permanent ID of an investigation. Reusing a workflow ID
// gives a new one; a Temporal reset keeps it (design: rule 1).
func InvestigationID(workflowID, firstRunID string) string {
	return workflowID + ":" + firstRunID[max(0, len(firstRunID)-idTail):]
}

// WorkflowOf extracts the workflow ID from an investigation ID. It returns false for a string of another form.
func WorkflowOf(id string) (workflowID string, ok bool) {
	i := strings.LastIndexByte(id, ':')
	return id[:max(i, 0)], i > 0 && len(id)-i-1 == idTail
}

// childID returns the workflow ID of a stage ("<stage>") or an execution ("<stage>/<agent>").
func childID(investigation, name string) string { return investigation + "/" + name }

func executionName(stage, agentName string) string { return stage + "/" + agentName }

// maxWorkflowID bounds a workflow ID, in bytes. Temporal refuses a workflow task that asks for a longer one.
const maxWorkflowID = 1000

// maxID bounds an investigation ID. It leaves room for stage and agent names within Temporal's 1,000 characters.
const maxID = 800

// StageInput starts a stage.
type StageInput struct {
	Investigation string             `json:"investigation"`
	Plan          string             `json:"plan"`
	Data          string             `json:"data,omitempty"` // see activities.Ref
	Index         int                `json:"index"`
	Stage         plan.StageSkeleton `json:"stage"`
	// Prior holds the results of the preceding stages, Earlier those of earlier passes, and
	// Notes people's answers.
	Prior    []activities.Source `json:"prior,omitempty"`
	Earlier  []activities.Source `json:"earlier,omitempty"`
	Notes    []activities.Note   `json:"notes,omitempty"`
	Steering Steering            `json:"steering"`
	// Order, Run and Pass are explained at record.StageEnvelope. Envelope is the investigation's, without the notes.
	Order    int             `json:"order,omitempty"`
	Run      int             `json:"run,omitempty"`
	Pass     int             `json:"pass,omitempty"`
	Envelope record.Envelope `json:"envelope,omitzero"`
	// Reserve lets the stage's agents run although a bound of the investigation is reached.
	Reserve bool `json:"reserve,omitempty"`
	// Level is the investigation's, PlanVersion its plan's. A worker that does not know the version leaves the stage to other workers.
	Level       activities.Level `json:"level,omitempty"`
	PlanVersion int              `json:"plan_version,omitempty"`
	// Conclude is the investigation's value, see plan.Plan.
	Conclude plan.Duration `json:"conclude,omitempty"`
	// Grace is how long the agents have to conclude once the time of the investigation is up. Zero means no known limit.
	Grace plan.Duration `json:"grace,omitempty"`
	// Seen lists entries that the investigation knows to be written: see activities.Ref.
	Seen []transcript.Mark `json:"seen,omitempty"`
}

// StageResult is an investigation's record of a stage.
type StageResult struct {
	Status  agent.Status  `json:"status"`
	Outcome agent.Outcome `json:"outcome,omitempty"`
	// Result names the execution whose final text is the stage's result.
	Result string `json:"result,omitempty"`
	// Partial says why that text is incomplete.
	Partial string `json:"partial,omitempty"`
	// Outside says how that text violates the agent's contract.
	Outside string         `json:"outside,omitempty"`
	Agents  []AgentSummary `json:"agents,omitempty"`
	Usage   agent.Usage    `json:"usage"`
	Error   string         `json:"error,omitempty"`
	// ErrorType is the stable type of the error that failed the stage.
	ErrorType string    `json:"error_type,omitempty"`
	Started   time.Time `json:"started,omitzero"` // zero: the stage has not saved its record
	Ended     time.Time `json:"ended,omitzero"`
	// Bound is the investigation's bound that an agent has reached. No stage runs after it.
	Bound agent.EndReason `json:"bound,omitempty"`
	// Fields holds the keys of the stage's output that routing uses.
	Fields map[string]json.RawMessage `json:"fields,omitempty"`
	// Output is the stage's JSON object or a reference to it. It is zero for a text.
	Output activities.Output `json:"output,omitzero"`
	// Review is the verdict of the stage's reviewer on the result. Nil means that it has no reviewer.
	Review *activities.Review `json:"review,omitempty"`
	// Undelivered lists messages to the stage or its agents that were not delivered.
	Undelivered []string `json:"undelivered,omitempty"`
	// Seen lists the last entries of its agents and hooks.
	Seen []transcript.Mark `json:"seen,omitempty"`
}

// AgentSummary is an agent's line in a status.
type AgentSummary = record.AgentSummary

// AgentInput starts an execution.
type AgentInput struct {
	Ref      activities.Ref      `json:"ref"`
	Agent    plan.AgentSkeleton  `json:"agent"`
	Prior    []activities.Source `json:"prior,omitempty"`
	Earlier  []activities.Source `json:"earlier,omitempty"`
	Notes    []activities.Note   `json:"notes,omitempty"`
	Peers    []activities.Peer   `json:"peers,omitempty"`
	Steering Steering            `json:"steering"`
	// Reserve means that a bound of the investigation is reached and this agent only combines existing findings.
	Reserve bool `json:"reserve,omitempty"`
	// Level is the investigation's, PlanVersion its plan's. A worker that does not know the version leaves the agent to other workers.
	Level       activities.Level `json:"level,omitempty"`
	PlanVersion int              `json:"plan_version,omitempty"`
	// Grace is how long the agent has to conclude once the time of its stage or investigation is up. Zero means no known limit.
	Grace plan.Duration `json:"grace,omitempty"`
	// Dispatched is set if another agent started this one.
	Dispatched *activities.TaskRef `json:"dispatched,omitempty"`
	// Continued holds the state of an earlier run of the same execution.
	Continued *agentState `json:"continued,omitempty"`
}

// AgentResult is a stage's record of an execution.
type AgentResult struct {
	Status     agent.Status     `json:"status"`
	StopReason agent.StopReason `json:"stop_reason"`
	Outcome    agent.Outcome    `json:"outcome,omitempty"`
	// Forced means that the final text was requested without tools, at the limit or on request.
	Forced bool `json:"forced_conclusion,omitempty"`
	// Bound is the investigation's bound that prevented the agent's next model call.
	Bound agent.EndReason `json:"bound,omitempty"`
	// Partial says why the final text is incomplete: truncated, or withheld in part.
	Partial string `json:"partial,omitempty"`
	// Outside says how the final text violates the agent's contract.
	Outside    string      `json:"outside,omitempty"`
	Iterations int         `json:"iterations"`
	Model      string      `json:"model,omitempty"`
	Usage      agent.Usage `json:"usage"`
	Preview    string      `json:"preview,omitempty"`
	Error      string      `json:"error,omitempty"`
	ErrorType  string      `json:"error_type,omitempty"`
	// ActionsExecuted is an action agent's own statement. Nil means that it made none.
	ActionsExecuted *bool `json:"actions_executed,omitempty"`
	// Undelivered lists messages to the agent that were not delivered.
	Undelivered []string `json:"undelivered,omitempty"`
	// Subs lists the agents that it dispatched, directly or through others. SubUsage is their total usage.
	Subs     []AgentSummary `json:"subs,omitempty"`
	SubUsage agent.Usage    `json:"sub_usage,omitzero"`
	// NotChecked lists the tool servers whose tools it never had.
	NotChecked []record.NotChecked `json:"not_checked,omitempty"`
	// Seen lists the last entries that the agent knows to be written.
	Seen []transcript.Mark `json:"seen,omitempty"`
}

// whole returns the usage of the agent and of the agents that it dispatched.
func (r AgentResult) whole() agent.Usage { return r.Usage.Add(r.SubUsage) }

// InvestigationResult is the result of an investigation's workflow.
type InvestigationResult struct {
	ID        string          `json:"id"`
	Status    agent.Status    `json:"status"`
	EndReason agent.EndReason `json:"end_reason"`
	Report    string          `json:"report,omitempty"`
	// ReportRef names the whole report in the store when it is over 64 KB.
	ReportRef string `json:"report_ref,omitempty"`
	// Proof says in one line which citations of the report were not found. Empty means all were found, or there are none.
	Proof string `json:"proof,omitempty"`
	// Summary is the executive summary. If one was requested and is missing, SummaryError says why.
	Summary      string        `json:"summary,omitempty"`
	SummaryError string        `json:"summary_error,omitempty"`
	Stages       []StageStatus `json:"stages,omitempty"`
	Usage        agent.Usage   `json:"usage"`
	Error        string        `json:"error,omitempty"`
	// NotChecked and NoToolResult: see record.Envelope.
	NotChecked   []record.NotChecked `json:"not_checked,omitempty"`
	NoToolResult bool                `json:"no_tool_result,omitempty"`
	// Undelivered lists requests and messages from people that reached no agent.
	Undelivered []string `json:"undelivered,omitempty"`
}
