package activities

import (
	"encoding/json"
	"time"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// ResolveIn starts an investigation. The request itself is read from the workflow's start event, so that a large one is
// in history only once.
type ResolveIn struct {
	Investigation string `json:"investigation"`
	RunID         string `json:"run_id"` // the first run's id, which has the request
}

// ResolveOut holds the workflow's input for running the investigation.
type ResolveOut struct {
	Plan     string        `json:"plan"`           // hash of the plan in the store
	Data     string        `json:"data,omitempty"` // hash of the request's data, masked, in the store
	Skeleton plan.Skeleton `json:"skeleton"`
	// SearchAttributes reports that they are registered, so workflows may upsert them.
	SearchAttributes bool `json:"search_attributes,omitempty"`
	// By is the person who asked for the investigation. Labels come from the request.
	By     string       `json:"by,omitempty"`
	Labels agent.Labels `json:"labels,omitzero"`
	// Schedule is the schedule that started it, and Before the verdict of its last check; nil means none.
	Schedule *agent.Schedule     `json:"schedule,omitempty"`
	Before   *agent.EarlierCheck `json:"before,omitempty"`
	// Fork is nil unless the investigation is a fork.
	Fork *record.Fork `json:"fork,omitempty"`
	// Trial is that of the request.
	Trial bool `json:"trial,omitempty"`
	// Level is the level of the worker that resolved the investigation. The run does not use features of later levels.
	Level Level `json:"level,omitempty"`
}

// Level numbers the changes to the steps that workflows take.
type Level int

// From LevelActs on, the audit trail records what people do, and guidance wakes agents that wait for sub-agents. From
// LevelDirect on, the trail also records what people send directly to a stage or an agent. From LevelQuestions on,
// question ids differ from those that a reset has undone. From LevelListing on, an agent's wait for its tool
// servers is bounded, and it asks slow ones again while its model works.
const (
	LevelActs Level = iota + 1
	LevelDirect
	LevelQuestions
	LevelListing
)

// ReopenIn is the state that a run created by a Temporal reset takes over.
type ReopenIn struct {
	// Investigation is the investigation whose record must say that it runs again; "" for a stage, which has no such record.
	Investigation string `json:"investigation,omitempty"`
	// Children are the workflow ids of the children that the run knows.
	Children []string `json:"children,omitempty"`
}

// SaveStageIn records how a stage and its executions ended.
type SaveStageIn struct {
	Plan       string             `json:"plan"`
	Stage      record.Stage       `json:"stage"`
	Executions []ExecutionSummary `json:"executions,omitempty"`
	// Review is the execution that reviewed the stage's result; "" means none.
	Review string `json:"review,omitempty"`
	// Envelope is the investigation's envelope at the start of the stage.
	Envelope record.Envelope `json:"envelope,omitzero"`
	// Outside means that the stage's text violates its agent's contract, so it does not steer the chain.
	Outside bool `json:"outside,omitempty"`
	// Seen holds entries that the store must have: see Ref.
	Seen []transcript.Mark `json:"seen,omitempty"`
}

// SaveStageOut is what steers the chain.
type SaveStageOut struct {
	Outcome agent.Outcome `json:"outcome,omitempty"` // named by the output itself; "" means none
	Output  Output        `json:"output,omitzero"`
	// Fields are the output keys that routing rules and questions use.
	Fields map[string]json.RawMessage `json:"fields,omitempty"`
	Review *Review                    `json:"review,omitempty"`
}

// Review is an agent's verdict on a stage's result.
type Review struct {
	Approved bool   `json:"approved"`
	Feedback string `json:"feedback,omitempty"`
}

// Output is a JSON object that a stage hands on.
type Output = record.Output

// ExecutionSummary is a workflow's summary of an execution that ended.
type ExecutionSummary struct {
	Ref        job.Ref          `json:"ref"`
	Status     agent.Status     `json:"status"`
	StopReason agent.StopReason `json:"stop_reason,omitempty"`
	Forced     bool             `json:"forced,omitempty"`
	Iterations int              `json:"iterations"`
	Usage      agent.Usage      `json:"usage"`
	Error      string           `json:"error,omitempty"`
	// Started is when the execution's workflow was started, and Ended is when its result arrived. Both are zero in workflows
	// of older workers.
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
}

// SaveStatusIn records an investigation's open waits, or that it is running.
type SaveStatusIn struct {
	Investigation string       `json:"investigation"`    // or the conversation's id
	Status        agent.Status `json:"status,omitempty"` // "" for a conversation, which has none
	Seq           int          `json:"seq"`              // counts the investigation's status reports
	Waits         record.Waits `json:"waits,omitzero"`
	// Acts are what people have done since the last status report. They are masked with the settings of Plan.
	Plan string      `json:"plan,omitempty"`
	Acts []audit.Act `json:"acts,omitempty"`
}

// NoticeIn adds information for people to an investigation's transcript.
type NoticeIn struct {
	Investigation string `json:"investigation"`
	Plan          string `json:"plan"`
	// Source is the workflow that adds it, as in a transcript.Letter; "" is the investigation. Ordinal counts the notices of
	// that workflow.
	Source  string `json:"source,omitempty"`
	Ordinal int    `json:"ordinal"`
	Text    string `json:"text"`
}

// TellIn holds what people have done to one workflow of an investigation, or to a conversation.
type TellIn struct {
	Plan string      `json:"plan"`
	Acts []audit.Act `json:"acts"`
}

// PostIn puts a person's message into an investigation's mailbox.
type PostIn struct {
	Investigation string `json:"investigation"`
	Plan          string `json:"plan"`
	// Source is the workflow that received it, as in a transcript.Letter. Ordinal is the number of the message.
	Source  string   `json:"source,omitempty"`
	Ordinal int      `json:"ordinal"`
	Agent   string   `json:"agent,omitempty"`  // "" means all
	Stages  []string `json:"stages,omitempty"` // stage runs; none means the first stage that reads it
	By      string   `json:"by,omitempty"`
	Text    []byte   `json:"text"` // as bytes: JSON makes texts with many special characters much larger
}

// HasMailIn asks whether an execution has letters that its next model call would read.
type HasMailIn struct {
	Ref       job.Ref `json:"ref"`
	Iteration int     `json:"iteration"` // of that call
}

// HasMailOut is the answer.
type HasMailOut struct {
	Unread bool `json:"unread"`
}

// ExtendBudgetIn raises the bounds of a running investigation.
type ExtendBudgetIn struct {
	Investigation string         `json:"investigation"`
	Key           string         `json:"key"` // the key of the update that asked for it
	By            plan.Extension `json:"by"`
	Duration      plan.Duration  `json:"duration,omitempty"`
	// The name of the person requesting it.
	Who string `json:"who,omitempty"`
}

// FinishIn closes an investigation's record.
type FinishIn struct {
	Investigation string          `json:"investigation"`
	Plan          string          `json:"plan"`
	Status        agent.Status    `json:"status"`
	EndReason     agent.EndReason `json:"end_reason"`
	Error         string          `json:"error,omitempty"`
	Usage         agent.Usage     `json:"usage"`
	// Concluded means that people asked for the end before all work was done.
	Concluded bool `json:"concluded,omitempty"`
	// Results name the results of the stages, in order; the last one with text is the report.
	Results []job.Source `json:"results,omitempty"`
	// Summary is the execution that summarised the investigation; "" means none.
	Summary  string          `json:"summary,omitempty"`
	Envelope record.Envelope `json:"envelope"`
	// Unsaved are the stages that could not save themselves.
	Unsaved []record.Stage `json:"unsaved,omitempty"`
	// Acts are what people have done that SaveStatus has not reported yet.
	Acts []audit.Act `json:"acts,omitempty"`
	// Outside explains, by execution, how a text that stands for its stage violates its agent's contract.
	Outside map[string]string `json:"outside,omitempty"`
	// Seen holds entries that the store must have: see Ref.
	Seen []transcript.Mark `json:"seen,omitempty"`
}

// FinishOut carries the report if it has up to MaxInlineReport bytes.
type FinishOut struct {
	Report string `json:"report,omitempty"`
	// ReportRef names the blob with the whole report if it is larger.
	ReportRef string `json:"report_ref,omitempty"`
	Summary   string `json:"summary,omitempty"`
	// Proof lists in one line the citations that code could not verify; "" means none.
	Proof string `json:"proof,omitempty"`
	// NoToolResult: see record.Envelope.
	NoToolResult bool `json:"no_tool_result,omitempty"`
	// NotChecked is that of the record, if it has more than the workflow's.
	NotChecked []record.NotChecked `json:"not_checked,omitempty"`
	// Failed is set if Finish made it fail: it has no report, or the store is behind. Error explains it.
	Failed agent.EndReason `json:"failed,omitempty"`
	Error  string          `json:"error,omitempty"`
	Usage  agent.Usage     `json:"usage"` // of the whole investigation, according to its record
	// Undelivered lists the messages from people that no agent has read.
	Undelivered []string `json:"undelivered,omitempty"`
}

// BeginScoreIn requests the judgement of an ended investigation.
type BeginScoreIn struct {
	Investigation string `json:"investigation"`
	By            string `json:"by,omitempty"` // who asks; "" means the chain
}

// BeginScoreOut is the judge's input.
type BeginScoreOut struct {
	N     int                `json:"n"` // number of the score, from 1
	Ref   job.Ref            `json:"ref"`
	Agent plan.AgentSkeleton `json:"agent"`
	// Prior are the investigation's results. Peers are the agents that worked on it.
	Prior []job.Source `json:"prior,omitempty"`
	Peers []job.Peer   `json:"peers,omitempty"`

	Chain            string `json:"chain"`
	AlertType        string `json:"alert_type,omitempty"`
	SearchAttributes bool   `json:"search_attributes,omitempty"` // see ResolveOut
	PlanVersion      int    `json:"plan_version,omitempty"`      // workers that do not know this version leave the judge to others
	Learns           bool   `json:"learns,omitempty"`            // the plan has an agent that learns from the judged investigation
}

// SaveScoreIn records a judgement.
type SaveScoreIn struct {
	N     int              `json:"n"`
	Judge ExecutionSummary `json:"judge"`
}

// BeginLearningIn names an investigation that was judged, and the number of the score.
type BeginLearningIn struct {
	Investigation string `json:"investigation"`
	N             int    `json:"n"`
}

// BeginLearningOut is the input of the agent that learns.
type BeginLearningOut struct {
	Learns bool               `json:"learns,omitempty"` // false: nothing to do
	Ref    Ref                `json:"ref"`
	Agent  plan.AgentSkeleton `json:"agent"`
	// Prior are the investigation's results. Peers are the agents that worked on it.
	Prior       []Source `json:"prior,omitempty"`
	Peers       []Peer   `json:"peers,omitempty"`
	PlanVersion int      `json:"plan_version,omitempty"`
}

// SaveLearningsIn says how the agent that learns ended.
type SaveLearningsIn struct {
	Reflector ExecutionSummary `json:"reflector"`
}

// ReconcileOut counts the investigations whose record was corrected.
type ReconcileOut struct {
	Closed int `json:"closed"`
}

// OpenConversationIn starts a conversation. The request itself is read from the workflow's start event.
type OpenConversationIn struct {
	Conversation string `json:"conversation"`
	RunID        string `json:"run_id"` // the first run's id
}

// OpenConversationOut holds the workflow's input for running the conversation.
type OpenConversationOut struct {
	Plan  string             `json:"plan"` // hash of the plan in the store
	Agent plan.AgentSkeleton `json:"agent"`
	// Level: see ResolveOut. PlanVersion is the plan's version. Workers that do not know it leave the conversation to
	// others.
	Level       Level `json:"level,omitempty"`
	PlanVersion int   `json:"plan_version,omitempty"`
}

// ReadReplyIn asks for the text that a turn ended with.
type ReadReplyIn struct {
	Ref       job.Ref `json:"ref"`
	Iteration int     `json:"iteration"`
	// Turn is the turn to record, with the ID of its message and its number. Nil means that it is recorded already.
	Turn *Turn `json:"turn,omitempty"`
}

// Turn is an ended turn of a conversation.
type Turn struct {
	N       int    `json:"n"`
	Message string `json:"message,omitempty"` // empty means a heartbeat
	Run     string `json:"run"`
	record.Turn
}

// FindTurnIn asks for the turn that has answered a message.
type FindTurnIn struct {
	Conversation string `json:"conversation"`
	Message      string `json:"message"`
}

// FindTurnOut has no turn if the message is new.
type FindTurnOut struct {
	Turn *Turn `json:"turn,omitempty"`
}

// EndConversationIn names an ended conversation.
type EndConversationIn struct {
	Conversation string `json:"conversation"`
}

// ReadReplyOut carries the text if it has up to MaxInlineReport bytes.
type ReadReplyOut struct {
	Text    string `json:"text,omitempty"`
	TextRef string `json:"text_ref,omitempty"` // names the whole text if it is larger
}

// MaxInlineReport is the maximum size of the report in a workflow's result, in bytes.
const MaxInlineReport = 64 << 10
