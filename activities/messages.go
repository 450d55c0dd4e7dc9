package activities

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/audit"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// What goes in and out of activities goes into history: references, counters
// and short previews, never content. Field names in JSON are short words for
// the same reason.

// Ref says which agent of which investigation an activity works for.
type Ref struct {
	Investigation string `json:"investigation"`
	Execution     string `json:"execution"`      // "<stage>/<agent>", of one that was dispatched "<stage>/<agent>/<name>-<n>"
	Plan          string `json:"plan"`           // hash of the plan in the store
	Data          string `json:"data,omitempty"` // hash of the request's data in the store
	Stage         int    `json:"stage"`
	Agent         int    `json:"agent"` // or plan.SynthesisIndex, plan.ReviewIndex
	// Sub leads from that agent to the one that it has dispatched: see plan.Agent.Sub.
	Sub string `json:"sub,omitempty"`
	// Seen are entries of the investigation that the workflow knows to be written. An activity makes no call if the store
	// does not have them all.
	Seen []transcript.Mark `json:"seen,omitempty"`
}

func (r Ref) scope() transcript.Scope {
	return transcript.Scope{Investigation: r.Investigation, Execution: r.Execution}
}

// StageRun is the name of the stage's run that the execution belongs to.
func (r Ref) StageRun() string {
	run, _, _ := strings.Cut(r.Execution, "/")
	return run
}

// session names the execution to tool servers that keep state for it.
func (r Ref) session() string { return r.Investigation + "/" + r.Execution }

// ResolveIn starts an investigation. The request itself is read from the
// workflow's start event, so that a large one is in history only once.
type ResolveIn struct {
	Investigation string `json:"investigation"`
	RunID         string `json:"run_id"` // the first run's: the one that has the request
}

// ResolveOut is what an investigation is steered by.
type ResolveOut struct {
	Plan     string        `json:"plan"`           // hash of the plan in the store
	Data     string        `json:"data,omitempty"` // hash of the request's data, masked, in the store
	Skeleton plan.Skeleton `json:"skeleton"`
	// SearchAttributes: they are registered, so workflows may upsert them.
	SearchAttributes bool `json:"search_attributes,omitempty"`
	// By is who asked for the investigation, and Labels what the request says of itself.
	By     string       `json:"by,omitempty"`
	Labels agent.Labels `json:"labels,omitzero"`
	// Level is that of the worker that has resolved it. What workflows have learned since, such a run goes on without.
	Level Level `json:"level,omitempty"`
}

// Level counts what makes workflows do other steps than before.
type Level int

// From LevelActs on, what people do is told to the audit trail, and guidance wakes agents that wait for sub-agents. From
// LevelDirect on, so is what they send straight to a stage or an agent. From LevelQuestions on, the ids of questions differ
// from those that a reset has undone. From LevelListing on, an agent waits only a few seconds for its tool servers to list
// their tools, and asks slow ones again while its model works.
const (
	LevelActs Level = iota + 1
	LevelDirect
	LevelQuestions
	LevelListing
)

// ReopenIn is what a run takes over that a Temporal reset has made.
type ReopenIn struct {
	// Investigation is whose record has to say that it runs again; "" = of a stage, nothing.
	Investigation string `json:"investigation,omitempty"`
	// Children are the workflow ids of those that the run knows.
	Children []string `json:"children,omitempty"`
}

// SaveStageIn records how a stage and its executions ended.
type SaveStageIn struct {
	Plan       string             `json:"plan"`
	Stage      record.Stage       `json:"stage"`
	Executions []ExecutionSummary `json:"executions,omitempty"`
	// Review is the execution that has reviewed the stage's result; "" = none has.
	Review string `json:"review,omitempty"`
	// Envelope is the investigation's, as it was when the stage began.
	Envelope record.Envelope `json:"envelope,omitzero"`
	// Outside: the stage's text is not what its agent's contract asks for, so the chain does not go by it.
	Outside bool `json:"outside,omitempty"`
	// Seen are entries that the store must have: see Ref.
	Seen []transcript.Mark `json:"seen,omitempty"`
}

// SaveStageOut is what the chain goes by.
type SaveStageOut struct {
	Outcome agent.Outcome `json:"outcome,omitempty"` // that the output itself names; "" = none
	Output  Output        `json:"output,omitzero"`
	// Fields are the keys of the output that routing rules and questions ask for.
	Fields map[string]json.RawMessage `json:"fields,omitempty"`
	Review *Review                    `json:"review,omitempty"`
}

// Review is an agent's word on a stage's result.
type Review struct {
	Approved bool   `json:"approved"`
	Feedback string `json:"feedback,omitempty"`
}

// Output is a JSON object that a stage hands on.
type Output = record.Output

// ExecutionSummary is what a workflow knows of an execution that ended.
type ExecutionSummary struct {
	Ref        Ref              `json:"ref"`
	Status     agent.Status     `json:"status"`
	StopReason agent.StopReason `json:"stop_reason,omitempty"`
	Forced     bool             `json:"forced,omitempty"`
	Iterations int              `json:"iterations"`
	Usage      agent.Usage      `json:"usage"`
	Error      string           `json:"error,omitempty"`
	// Started and Ended are when the execution's workflow was started and when its result arrived; zero in workflows of
	// older workers.
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
}

// SaveStatusIn records what an investigation waits for, or that it runs.
type SaveStatusIn struct {
	Investigation string       `json:"investigation"`    // or the conversation's id
	Status        agent.Status `json:"status,omitempty"` // "" = of a conversation, which has none
	Seq           int          `json:"seq"`              // counts what the investigation has said so
	Waits         record.Waits `json:"waits,omitzero"`
	// Acts are what people have done since it said so before, to be masked as the plan says.
	Plan string      `json:"plan,omitempty"`
	Acts []audit.Act `json:"acts,omitempty"`
}

// NoticeIn puts what people should know into an investigation's transcript.
type NoticeIn struct {
	Investigation string `json:"investigation"`
	Plan          string `json:"plan"`
	// Source is the workflow that says it, as in a transcript.Letter: "" is the
	// investigation. Ordinal counts what it has said so.
	Source  string `json:"source,omitempty"`
	Ordinal int    `json:"ordinal"`
	Text    string `json:"text"`
}

// TellIn is what people have done to one workflow of an investigation, or to a conversation.
type TellIn struct {
	Plan string      `json:"plan"`
	Acts []audit.Act `json:"acts"`
}

// PostIn puts a person's words into an investigation's mail.
type PostIn struct {
	Investigation string `json:"investigation"`
	Plan          string `json:"plan"`
	// Source is the workflow that was told, as in a transcript.Letter, and Ordinal
	// which of its letters it is.
	Source  string   `json:"source,omitempty"`
	Ordinal int      `json:"ordinal"`
	Agent   string   `json:"agent,omitempty"`  // "" = all
	Stages  []string `json:"stages,omitempty"` // runs of stages; none = the first that reads it
	By      string   `json:"by,omitempty"`
	Text    []byte   `json:"text"` // as bytes: JSON makes texts of many special characters much larger
}

// HasMailIn asks whether an execution has letters that its next model call would read.
type HasMailIn struct {
	Ref       Ref `json:"ref"`
	Iteration int `json:"iteration"` // of that call
}

// HasMailOut answers it.
type HasMailOut struct {
	Unread bool `json:"unread"`
}

// ExtendBudgetIn raises the bounds of a running investigation.
type ExtendBudgetIn struct {
	Investigation string         `json:"investigation"`
	Key           string         `json:"key"` // of the update that asked for it
	By            plan.Extension `json:"by"`
	Duration      plan.Duration  `json:"duration,omitempty"`
	// Who asked for it.
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
	// Results name the results of the stages, in order; the last that has text is the report.
	Results []Source `json:"results,omitempty"`
	// Summary is the execution that has summed it up; "" = none has.
	Summary  string          `json:"summary,omitempty"`
	Envelope record.Envelope `json:"envelope"`
	// Unsaved are stages that did not come to save themselves.
	Unsaved []record.Stage `json:"unsaved,omitempty"`
	// Acts are what people have done that SaveStatus has not told yet.
	Acts []audit.Act `json:"acts,omitempty"`
	// Outside says, by execution, what of a text that stands for its stage is not what its agent's contract asks for.
	Outside map[string]string `json:"outside,omitempty"`
	// Seen are entries that the store must have: see Ref.
	Seen []transcript.Mark `json:"seen,omitempty"`
}

// FinishOut carries the report up to MaxInlineReport bytes.
type FinishOut struct {
	Report string `json:"report,omitempty"`
	// ReportRef names the whole report in the store when it is larger.
	ReportRef string `json:"report_ref,omitempty"`
	Summary   string `json:"summary,omitempty"`
	// Proof says in one line what code has not found in what the report cites; "" = all, or there is nothing to find.
	Proof string `json:"proof,omitempty"`
	// Failed is set if the investigation has failed, for want of a report; Error says so.
	Failed agent.EndReason `json:"failed,omitempty"`
	Error  string          `json:"error,omitempty"`
	Usage  agent.Usage     `json:"usage"` // of the whole investigation, as its record says
	// Undelivered says what of people's words nobody has read.
	Undelivered []string `json:"undelivered,omitempty"`
}

// BeginScoreIn asks for an investigation that has ended to be judged.
type BeginScoreIn struct {
	Investigation string `json:"investigation"`
	By            string `json:"by,omitempty"` // who asks; "" = the chain
}

// BeginScoreOut is what the judge works by.
type BeginScoreOut struct {
	N     int                `json:"n"` // of the score, from 1
	Ref   Ref                `json:"ref"`
	Agent plan.AgentSkeleton `json:"agent"`
	// Prior are the investigation's results, and Peers those who worked on it.
	Prior []Source `json:"prior,omitempty"`
	Peers []Peer   `json:"peers,omitempty"`

	Chain            string `json:"chain"`
	AlertType        string `json:"alert_type,omitempty"`
	SearchAttributes bool   `json:"search_attributes,omitempty"` // see ResolveOut
	PlanVersion      int    `json:"plan_version,omitempty"`      // workers that know no such version leave the judge to others
}

// SaveScoreIn records how an investigation was judged.
type SaveScoreIn struct {
	N     int              `json:"n"`
	Judge ExecutionSummary `json:"judge"`
}

// ReconcileOut counts the investigations whose record was put right.
type ReconcileOut struct {
	Closed int `json:"closed"`
}

// OpenConversationIn starts a conversation. The request itself is read from the
// workflow's start event.
type OpenConversationIn struct {
	Conversation string `json:"conversation"`
	RunID        string `json:"run_id"` // the first run's
}

// OpenConversationOut is what a conversation is steered by.
type OpenConversationOut struct {
	Plan  string             `json:"plan"` // hash of the plan in the store
	Agent plan.AgentSkeleton `json:"agent"`
	// Level: see ResolveOut. PlanVersion is the plan's: workers that know no such version leave the conversation to others.
	Level       Level `json:"level,omitempty"`
	PlanVersion int   `json:"plan_version,omitempty"`
}

// ReadReplyIn asks for the text that a turn ended with.
type ReadReplyIn struct {
	Ref       Ref `json:"ref"`
	Iteration int `json:"iteration"`
}

// ReadReplyOut carries the text up to MaxInlineReport bytes.
type ReadReplyOut struct {
	Text    string `json:"text,omitempty"`
	TextRef string `json:"text_ref,omitempty"` // of the whole, when it is larger
}

// MaxInlineReport bounds the report in a workflow's result, in bytes.
const MaxInlineReport = 64 << 10

// ServeIn is for an agent that does nothing itself.
type ServeIn struct {
	Ref Ref `json:"ref"`
}
