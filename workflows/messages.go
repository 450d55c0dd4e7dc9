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

// ReconcileSchedule is the Temporal Schedule that starts it, made by the workers of a task queue.
func ReconcileSchedule(taskQueue string) string { return "inquest-reconcile-" + taskQueue }

// Signals of a running investigation. Each is also an update of the same name and input,
// which is refused, or answered with whom it is for (Taken). All but guidance are passed
// down to the stages and agents; a signal to one of those is for it alone.
const (
	SignalPause    = "pause"    // By, or no payload: no further model call until resume
	SignalResume   = "resume"   // By, or no payload
	SignalConclude = "conclude" // Conclude: finish now with what is known
	SignalGuide    = "guide"    // Guide: words for the agents' mail, put before the next model call

	SignalPauseHeartbeats  = "pause-heartbeats"  // PauseHeartbeats: agents that have heartbeats sleep
	SignalResumeHeartbeats = "resume-heartbeats" // Conclude (stage, agent, by), or no payload: they go on at once
)

// UpdateDecide approves or denies a tool call of an agent: Decide in, the decision out.
const UpdateDecide = "decide"

// SignalLimits goes down, from an investigation to its stages to their agents: Limits.
const SignalLimits = "limits"

// SignalWaiting goes up, from an agent to its stage to its investigation: Waiting.
const SignalWaiting = "waiting"

// Queries of a running or finished investigation.
const (
	QueryStatus = "status" // Status
	QueryResult = "result" // InvestigationResult
)

// Taken answers an update of what can be signalled, too.
type Taken struct {
	// For are the executions at work that it is for. Guidance that is for none of those is
	// read by the next execution that asks its model.
	For []string `json:"for,omitempty"`
}

// Guide is a person's words to the agents.
type Guide struct {
	Text string `json:"text"`
	// Stage and Agent name one run of a stage, one agent; empty = all that run now, else the next.
	Stage string `json:"stage,omitempty"`
	Agent string `json:"agent,omitempty"`
	By    string `json:"by,omitempty"`
}

// Conclude asks one stage, one agent, or with neither the whole investigation, to
// finish now with what is known.
type Conclude struct {
	Stage string `json:"stage,omitempty"`
	Agent string `json:"agent,omitempty"`
	By    string `json:"by,omitempty"`
	// Late: nobody asked for it, the time of the stage or the investigation is up.
	Late bool `json:"late,omitempty"`
	// Mail: agents whose heartbeats are resumed may have guidance to read.
	Mail bool `json:"mail,omitempty"`
	// SentOn: see By.
	SentOn bool `json:"sent_on,omitempty"`
}

// PauseHeartbeats has an agent sleep after its running batch of calls.
type PauseHeartbeats struct {
	// Minutes are clamped to 1–60; without them, 2.
	Minutes *int   `json:"minutes,omitempty"`
	Stage   string `json:"stage,omitempty"`
	Agent   string `json:"agent,omitempty"`
	By      string `json:"by,omitempty"`
	// SentOn: see By.
	SentOn bool `json:"sent_on,omitempty"`
}

// By says who pauses or resumes.
type By struct {
	By string `json:"by,omitempty"`
	// SentOn: a workflow sends it on to its children, and the audit trail knows of it.
	SentOn bool `json:"sent_on,omitempty"`
}

// UpdateElicit puts a question of a tool's server to people: activities.Elicitation in, activities.Elicited out.
const UpdateElicit = "elicit"

// UpdateAnswer answers a question of an investigation: Answer in, Interrupt out.
const UpdateAnswer = "answer"

// Answer is what a person says to a question.
type Answer struct {
	ID       string          `json:"id,omitempty"` // "" = the only question that waits
	Text     string          `json:"text,omitempty"`
	Approved *bool           `json:"approved,omitempty"`
	Decision string          `json:"decision,omitempty"`
	Data     json.RawMessage `json:"data,omitempty"`
	By       string          `json:"by,omitempty"`
}

// UpdateExtendBudget raises the bounds of an investigation: ExtendBudget in, Budget out.
const UpdateExtendBudget = "extend_budget"

// ExtendBudget is what is added to the bounds of an investigation. What has no
// bound gets none.
type ExtendBudget struct {
	plan.Extension
	Duration plan.Duration `json:"duration,omitempty"`
	By       string        `json:"by,omitempty"`
}

// Budget is what bounds an investigation; 0 = nothing does.
type Budget struct {
	LLMCalls int       `json:"llm_calls,omitempty"`
	Tokens   int       `json:"tokens,omitempty"`
	CostUSD  float64   `json:"cost_usd,omitempty"`
	Until    time.Time `json:"until,omitzero"` // absent while the clock is held
	Hops     int       `json:"agent_hops,omitempty"`
	Passes   int       `json:"passes,omitempty"`
}

// Interrupt is a question that an investigation has put to people.
type Interrupt = record.Question

// ConversationStage stands where an investigation's executions name their stage.
const ConversationStage = "chat"

// UpdateSend says something in a conversation: Message in, Reply out.
const UpdateSend = "send"

// MemoAgent is the memo of a conversation that names its agent.
const MemoAgent = "agent"

// SignalClose ends a conversation, after the running turn.
const SignalClose = "close"

// Message is what a person says in a conversation.
type Message struct {
	Text   string `json:"text"` // at most 100,000 characters
	Author string `json:"author,omitempty"`
}

// Reply is what the agent made of a message.
type Reply struct {
	Turn int    `json:"turn"` // from 1
	Text string `json:"text,omitempty"`
	// TextRef names the whole text in the store when it is over 64 KB.
	TextRef    string           `json:"text_ref,omitempty"`
	StopReason agent.StopReason `json:"stop_reason"`
	Iterations int              `json:"iterations"`
	Usage      agent.Usage      `json:"usage"` // of this turn
	// PausedUntil is when the agent goes on that has paused its heartbeats.
	PausedUntil time.Time `json:"paused_until,omitzero"`
}

// Approval is a tool call that waits for a person.
type Approval = record.Approval

// Outage is a model's provider that an agent waits for.
type Outage = record.Outage

// Waiting is all that a child waits for now, apart from models and tools at work.
type Waiting struct {
	Execution string     `json:"execution"` // or the stage's name
	Approvals []Approval `json:"approvals,omitempty"`
	Outages   []Outage   `json:"outages,omitempty"`
	Asleep    []Asleep   `json:"asleep,omitempty"`
	Limits    []Limit    `json:"limits,omitempty"`
	// Ended are the agents of a stage that have, while others of it are at work.
	Ended []AgentSummary `json:"ended,omitempty"`
	// Subs are the sub-agents at work.
	Subs []AgentSummary `json:"subs,omitempty"`
}

// Asleep is an agent that has paused its heartbeats.
type Asleep struct {
	Agent string    `json:"agent"`
	Until time.Time `json:"until"`
}

// idTail is how much of the first run's id tells two runs of one workflow id
// apart: 48 of its random bits.
const idTail = 12

// InvestigationID identifies an investigation for good: a workflow id that is
// used again gives another one, a Temporal reset the same one (design: rule 1).
func InvestigationID(workflowID, firstRunID string) string {
	return workflowID + ":" + firstRunID[max(0, len(firstRunID)-idTail):]
}

// WorkflowOf takes the workflow id out of an investigation's id; ok = it looks like one.
func WorkflowOf(id string) (workflowID string, ok bool) {
	i := strings.LastIndexByte(id, ':')
	return id[:max(i, 0)], i > 0 && len(id)-i-1 == idTail
}

// childID is the workflow id of a stage ("<stage>") or an execution ("<stage>/<agent>").
func childID(investigation, name string) string { return investigation + "/" + name }

func executionName(stage, agentName string) string { return stage + "/" + agentName }

// maxWorkflowID is how long a workflow id may be, in bytes: Temporal would refuse the task that asks for a longer one.
const maxWorkflowID = 1000

// maxID leaves room for the names of stages and agents within Temporal's 1,000 characters.
const maxID = 800

// StageInput starts a stage.
type StageInput struct {
	Investigation string             `json:"investigation"`
	Plan          string             `json:"plan"`
	Data          string             `json:"data,omitempty"` // see activities.Ref
	Index         int                `json:"index"`
	Stage         plan.StageSkeleton `json:"stage"`
	// Prior are the results of the stages before this one, Earlier those of earlier
	// passes, and Notes what people answered.
	Prior    []activities.Source `json:"prior,omitempty"`
	Earlier  []activities.Source `json:"earlier,omitempty"`
	Notes    []activities.Note   `json:"notes,omitempty"`
	Steering Steering            `json:"steering"`
	// Order, Run and Pass: see record.StageEnvelope. Envelope is the investigation's, without the notes.
	Order    int             `json:"order,omitempty"`
	Run      int             `json:"run,omitempty"`
	Pass     int             `json:"pass,omitempty"`
	Envelope record.Envelope `json:"envelope,omitzero"`
	// Reserve: the stage's agents have their say though a bound of the investigation is reached.
	Reserve bool `json:"reserve,omitempty"`
	// Level is the investigation's, and PlanVersion its plan's: a worker that knows no such version leaves the stage to others.
	Level       activities.Level `json:"level,omitempty"`
	PlanVersion int              `json:"plan_version,omitempty"`
	// Conclude is the investigation's, see plan.Plan.
	Conclude plan.Duration `json:"conclude,omitempty"`
	// Grace is how long the agents have to conclude once the time of the investigation is up; zero means that no limit is
	// known.
	Grace plan.Duration `json:"grace,omitempty"`
	// Seen are entries that the investigation knows to be written: see activities.Ref.
	Seen []transcript.Mark `json:"seen,omitempty"`
}

// StageResult is what an investigation keeps of a stage.
type StageResult struct {
	Status  agent.Status  `json:"status"`
	Outcome agent.Outcome `json:"outcome,omitempty"`
	// Result is the execution whose final text stands for the stage.
	Result string `json:"result,omitempty"`
	// Partial says why that text is not whole.
	Partial string `json:"partial,omitempty"`
	// Outside says what of that text is not what the agent's contract asks for.
	Outside string         `json:"outside,omitempty"`
	Agents  []AgentSummary `json:"agents,omitempty"`
	Usage   agent.Usage    `json:"usage"`
	Error   string         `json:"error,omitempty"`
	// ErrorType is the stable type of the error that made the stage fail.
	ErrorType string    `json:"error_type,omitempty"`
	Started   time.Time `json:"started,omitzero"` // zero: the stage has not saved itself
	Ended     time.Time `json:"ended,omitzero"`
	// Bound of the investigation that an agent has reached; nothing comes after the stage.
	Bound agent.EndReason `json:"bound,omitempty"`
	// Fields are the keys of the stage's output that routing asks for.
	Fields map[string]json.RawMessage `json:"fields,omitempty"`
	// Output is the stage's JSON object, or where it is; zero for a text.
	Output activities.Output `json:"output,omitzero"`
	// Review is what the stage's own reviewer says of the result; nil = it has none.
	Review *activities.Review `json:"review,omitempty"`
	// Undelivered says what was said to the stage or its agents themselves and could not be taken.
	Undelivered []string `json:"undelivered,omitempty"`
	// Seen are the last entries of its agents and hooks.
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
	// Reserve: a bound of the investigation is reached, and this joins what is known.
	Reserve bool `json:"reserve,omitempty"`
	// Level is the investigation's, and PlanVersion its plan's: a worker that knows no such version leaves the agent to others.
	Level       activities.Level `json:"level,omitempty"`
	PlanVersion int              `json:"plan_version,omitempty"`
	// Grace is how long the agent has to conclude once the time of its stage or investigation is up; zero means that no
	// limit is known.
	Grace plan.Duration `json:"grace,omitempty"`
	// Dispatched is set if another agent has started this one.
	Dispatched *activities.TaskRef `json:"dispatched,omitempty"`
	// Continued carries on from an earlier run of the same execution.
	Continued *agentState `json:"continued,omitempty"`
}

// AgentResult is what a stage keeps of an execution.
type AgentResult struct {
	Status     agent.Status     `json:"status"`
	StopReason agent.StopReason `json:"stop_reason"`
	Outcome    agent.Outcome    `json:"outcome,omitempty"`
	// Forced: the final text was asked for without tools, at the limit or on request.
	Forced bool `json:"forced_conclusion,omitempty"`
	// Bound of the investigation that kept the agent from its next model call.
	Bound agent.EndReason `json:"bound,omitempty"`
	// Partial says why the final text is not whole: cut, or withheld in part.
	Partial string `json:"partial,omitempty"`
	// Outside says what of the final text is not what the agent's contract asks for.
	Outside    string      `json:"outside,omitempty"`
	Iterations int         `json:"iterations"`
	Model      string      `json:"model,omitempty"`
	Usage      agent.Usage `json:"usage"`
	Preview    string      `json:"preview,omitempty"`
	Error      string      `json:"error,omitempty"`
	ErrorType  string      `json:"error_type,omitempty"`
	// ActionsExecuted is what an action agent says of itself; nil = it has not said.
	ActionsExecuted *bool `json:"actions_executed,omitempty"`
	// Undelivered says what was said to the agent itself and could not be taken.
	Undelivered []string `json:"undelivered,omitempty"`
	// Subs are the agents that it has dispatched, and those that they have, and SubUsage is what all of them took.
	Subs     []AgentSummary `json:"subs,omitempty"`
	SubUsage agent.Usage    `json:"sub_usage,omitzero"`
	// Seen are the last entries that it knows to be written.
	Seen []transcript.Mark `json:"seen,omitempty"`
}

// whole is what the agent took, and whom it has dispatched.
func (r AgentResult) whole() agent.Usage { return r.Usage.Add(r.SubUsage) }

// InvestigationResult is what an investigation returns.
type InvestigationResult struct {
	ID        string          `json:"id"`
	Status    agent.Status    `json:"status"`
	EndReason agent.EndReason `json:"end_reason"`
	Report    string          `json:"report,omitempty"`
	// ReportRef names the whole report in the store when it is over 64 KB.
	ReportRef string `json:"report_ref,omitempty"`
	// Proof says in one line what code has not found in what the report cites; "" = all, or there is nothing to find.
	Proof string `json:"proof,omitempty"`
	// Summary is the executive summary; without one, SummaryError says why, if there was to be one.
	Summary      string        `json:"summary,omitempty"`
	SummaryError string        `json:"summary_error,omitempty"`
	Stages       []StageStatus `json:"stages,omitempty"`
	Usage        agent.Usage   `json:"usage"`
	Error        string        `json:"error,omitempty"`
	// Undelivered says what people asked for and said that reached nobody.
	Undelivered []string `json:"undelivered,omitempty"`
}
