package workflows

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
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

// Signals of a running investigation, each of which is an update of the same name and
// input, too: that is refused, or says whom it is for (Taken). All but guidance travel
// down to its stages and agents; sent to one of those, they are for it alone.
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

// SignalWaiting goes up, from an agent to its stage to its investigation: Waiting.
const SignalWaiting = "waiting"

// Queries of a running or finished investigation.
const (
	QueryStatus = "status" // Status
	QueryResult = "result" // InvestigationResult
)

// Taken answers an update of what can be signalled, too.
type Taken struct {
	// For are the executions at work that it is for; of guidance with none, the next that
	// asks its model.
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
}

// PauseHeartbeats has an agent sleep after its running batch of calls.
type PauseHeartbeats struct {
	// Minutes are clamped to 1–60; without them, 2.
	Minutes *int   `json:"minutes,omitempty"`
	Stage   string `json:"stage,omitempty"`
	Agent   string `json:"agent,omitempty"`
	By      string `json:"by,omitempty"`
}

// By says who pauses or resumes.
type By struct {
	By string `json:"by,omitempty"`
}

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

// Decide approves or denies a call that waits for a person.
type Decide struct {
	CallID   string `json:"call_id"`
	Approved *bool  `json:"approved"`
	By       string `json:"by,omitempty"`
	Reason   string `json:"reason,omitempty"`
	// Digest is that of the call that the person has seen. A decision about another one
	// is refused; "" = it is about whichever waits.
	Digest string `json:"digest,omitempty"`
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
	// Ended are the agents of a stage that have, while others of it are at work.
	Ended []AgentSummary `json:"ended,omitempty"`
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
}

// StageResult is what an investigation keeps of a stage.
type StageResult struct {
	Status  agent.Status  `json:"status"`
	Outcome agent.Outcome `json:"outcome,omitempty"`
	// Result is the execution whose final text stands for the stage.
	Result string `json:"result,omitempty"`
	// Partial says why that text is not whole.
	Partial string         `json:"partial,omitempty"`
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
	// Undelivered says what was said to the stage or its agents themselves and could not be taken.
	Undelivered []string `json:"undelivered,omitempty"`
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
	Partial    string      `json:"partial,omitempty"`
	Iterations int         `json:"iterations"`
	Model      string      `json:"model,omitempty"`
	Usage      agent.Usage `json:"usage"`
	Preview    string      `json:"preview,omitempty"`
	Error      string      `json:"error,omitempty"`
	ErrorType  string      `json:"error_type,omitempty"`
	// Undelivered says what was said to the agent itself and could not be taken.
	Undelivered []string `json:"undelivered,omitempty"`
}

// InvestigationResult is what an investigation returns.
type InvestigationResult struct {
	ID        string          `json:"id"`
	Status    agent.Status    `json:"status"`
	EndReason agent.EndReason `json:"end_reason"`
	Report    string          `json:"report,omitempty"`
	// ReportRef names the whole report in the store when it is over 64 KB.
	ReportRef string        `json:"report_ref,omitempty"`
	Stages    []StageStatus `json:"stages,omitempty"`
	Usage     agent.Usage   `json:"usage"`
	Error     string        `json:"error,omitempty"`
	// Undelivered says what people asked for and said that reached nobody.
	Undelivered []string `json:"undelivered,omitempty"`
}

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
	By        string          `json:"by,omitempty"` // who asked for it
	// Stages are the newest 200 runs of stages in the order in which they started,
	// and then those that have not run.
	Stages []StageStatus `json:"stages,omitempty"`
	Usage  agent.Usage   `json:"usage,omitzero"` // of the stages that ended; absent = not known
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
}
