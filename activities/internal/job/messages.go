package job

import (
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Prepared reports whether the source is the output of this stage's pre_process rather than a stage.
func (s Source) Prepared() bool { return strings.Contains(s.Execution, "/"+PreProcess+":") }

// The points at which a stage has hooks, named as in its configuration.
const (
	PreProcess  = "pre_process"
	PostProcess = "post_process"
)

// HookExecution names the output of a hook the way an agent's execution is named. Agent names cannot contain a colon.
func HookExecution(stage, point, name string) string { return stage + "/" + point + ":" + name }

// Inputs and outputs of activities go into history: references, counters and short previews, never content. JSON field
// names are short words for the same reason.

// Ref identifies the agent and the investigation that an activity works for.
type Ref struct {
	Investigation string `json:"investigation"`
	Execution     string `json:"execution"`      // "<stage>/<agent>", for a dispatched agent "<stage>/<agent>/<name>-<n>"
	Plan          string `json:"plan"`           // hash of the plan in the store
	Data          string `json:"data,omitempty"` // hash of the request's data in the store
	Stage         int    `json:"stage"`
	Agent         int    `json:"agent"` // or plan.SynthesisIndex, plan.ReviewIndex
	// Sub is the path from that agent to the one it dispatched: see plan.Agent.Sub.
	Sub string `json:"sub,omitempty"`
	// Started is when the execution's workflow started. Zero means unknown: workers of earlier versions do not set it.
	Started time.Time `json:"started,omitzero"`
	// Seen holds entries of the investigation that the workflow knows to be written. An activity makes no call if the store
	// lacks any of them.
	Seen []transcript.Mark `json:"seen,omitempty"`
}

// Scope returns the execution's part of the transcript.
func (r Ref) Scope() transcript.Scope {
	return transcript.Scope{Investigation: r.Investigation, Execution: r.Execution}
}

// StageRun returns the name of the stage run that the execution belongs to.
func (r Ref) StageRun() string {
	run, _, _ := strings.Cut(r.Execution, "/")
	return run
}

// Session identifies the execution to tool servers that keep state for it.
func (r Ref) Session() string { return r.Investigation + "/" + r.Execution }

// ServeIn is the input for an agent that does nothing itself.
type ServeIn struct {
	Ref Ref `json:"ref"`
}

// Inputs and outputs of an agent's activities: its model calls, its tools, and functions of the worker's program that
// replace a model.

// GenerateIn asks for one model call.
type GenerateIn struct {
	Ref       Ref `json:"ref"`
	Iteration int `json:"iteration"` // from 1; the key of the call in the transcript
	// Provider is the index of the provider in the agent's plan.
	Provider int `json:"provider,omitempty"`
	// Try numbers the calls made for the iteration, across all providers, from 1.
	Try int `json:"try,omitempty"`
	// Fallback describes the failure of the previous provider, if this is the first try of this provider.
	Fallback *Failure `json:"fallback,omitempty"`
	// Conclude asks for a conclusion without tools.
	Conclude bool `json:"conclude,omitempty"`
	// Reserve means that the call is made even though a bound of the investigation is reached.
	Reserve bool    `json:"reserve,omitempty"`
	Inputs  []Input `json:"inputs,omitempty"`
	// Prior and Peers are for the first call. Prior holds the results of earlier stages. Peers holds the executions that a
	// synthesis joins or a review examines.
	Prior []Source `json:"prior,omitempty"`
	Peers []Peer   `json:"peers,omitempty"`
	// Earlier holds results of earlier passes, and Notes what people and reviews said; both are for the first call.
	Earlier []Source `json:"earlier,omitempty"`
	Notes   []Note   `json:"notes,omitempty"`
	// From is the first iteration of a long conversation that the model sees; Skipped counts the turns before it. Zero means all.
	From    int `json:"from,omitempty"`
	Skipped int `json:"skipped,omitempty"`
	// Task is the call that dispatched the agent, for its first call; nil if none did.
	Task *TaskRef `json:"task,omitempty"`
	// Begun means that an attempt within a workflow task has begun the call and may still be running.
	Begun bool `json:"begun,omitempty"`
}

// TaskRef identifies a call of dispatch_agent, whose arguments contain the task.
type TaskRef struct {
	Execution string `json:"execution"` // the execution that made the call
	Iteration int    `json:"iteration"`
	Call      int    `json:"call"`
}

// Failure describes a failed model call.
type Failure struct {
	ErrorType string `json:"error_type"`
	Error     string `json:"error"`
	Try       int    `json:"try"`
}

// UnansweredIn records the prompt of an agent's first call, which got no answer.
type UnansweredIn struct {
	Call GenerateIn `json:"call"`
	Why  string     `json:"why"` // why no model has answered
}

// DecidedIn holds results that the workflow decided and that no model call has recorded.
type DecidedIn struct {
	Ref     Ref     `json:"ref"`
	Results []Input `json:"results"`
}

// DecidedOut holds the entries of the results, newest last.
type DecidedOut struct {
	Seen []transcript.Mark `json:"seen,omitempty"`
}

// Note is a question and its answer.
type Note = record.Note

// InputKind is the kind of an Input.
type InputKind string

// The inputs that a workflow passes to the next model call.
const (
	InputNudge     InputKind = "nudge"     // the last reply was empty
	InputRepeating InputKind = "repeating" // the last reply repeated itself and was cut
	InputLimit     InputKind = "limit"     // conclude: the iterations are used up
	InputConclude  InputKind = "conclude"  // conclude: a person asked for it
	InputBound     InputKind = "bound"     // conclude: a bound or the agent's time; Text is the stop reason
	InputAwake     InputKind = "awake"     // the agent's pause of its heartbeats is over
	InputRepair    InputKind = "repair"    // the last reply violates the contract; Text explains how
	InputMessage   InputKind = "message"   // a person's turn in a conversation: Text, or else Update and Run; By
	InputHeartbeat InputKind = "heartbeat" // a conversation has been idle for a while
	InputScore     InputKind = "score"     // the last reply does not end with a score
	InputMissing   InputKind = "missing"   // asks which tools were missing
	InputNotice    InputKind = "notice"    // for people only, not for the model: Text
	InputResult    InputKind = "result"    // a result that the workflow decided: Iteration, Call, ErrorType, Text, Done
	InputSubAgent  InputKind = "sub_agent" // an agent that this agent dispatched has ended: Sub
	InputTools     InputKind = "tools"     // the last reply was written before any server had listed its tools, and one has now
	InputAnswered  InputKind = "answered"  // the last reply answered a person and was not the final one
)

// Input is an event that the workflow received and that belongs before the next model call.
type Input struct {
	Kind      InputKind `json:"kind"`
	Text      string    `json:"text,omitempty"`
	By        string    `json:"by,omitempty"`
	Iteration int       `json:"iteration,omitempty"`
	Call      int       `json:"call,omitempty"`
	ErrorType string    `json:"error_type,omitempty"`
	// Update is the id of the update with the message, sent to the workflow run Run. If Text is empty, the message is read
	// from there.
	Update string `json:"update,omitempty"`
	Run    string `json:"run,omitempty"`
	// Done means that the workflow has carried the call out. Decision is a person's decision, if one was needed.
	Done     bool      `json:"done,omitempty"`
	Decision *Decision `json:"decision,omitempty"`
	Sub      *SubEnded `json:"sub,omitempty"`
}

// SubEnded describes how a dispatched execution ended.
type SubEnded struct {
	Name      string       `json:"name"` // the agent's
	Execution string       `json:"execution"`
	Status    agent.Status `json:"status"`
	Error     string       `json:"error,omitempty"`
}

// Source names the execution whose final text is the result of an earlier stage.
type Source struct {
	Stage     string `json:"stage"`
	Execution string `json:"execution"`
}

// Peer is an execution that a synthesis joins or a review examines.
type Peer struct {
	Execution string       `json:"execution"`
	Agent     string       `json:"agent"`
	Status    agent.Status `json:"status"`
	Error     string       `json:"error,omitempty"`
}

// GenerateOut summarises a reply for the workflow; the reply is in the transcript.
type GenerateOut struct {
	Calls   []Call `json:"calls,omitempty"`
	Preview string `json:"preview,omitempty"`
	Empty   bool   `json:"empty,omitempty"` // neither calls nor a text that can be a report
	// NoReport is why a text is no report. Earlier is the beginning of the text that replaces an empty reply, if there is
	// one: the text beside the model's last calls, or its reasoning.
	NoReport transcript.NoReport `json:"no_report,omitempty"`
	Earlier  string              `json:"earlier,omitempty"`
	Finish   string              `json:"finish,omitempty"`
	Model    string              `json:"model,omitempty"`
	Usage    agent.Usage         `json:"usage"`
	// Unread means that people have sent the agent more messages since the call began.
	Unread bool `json:"unread,omitempty"`
	// Exceeded is the bound that prevented the call.
	Exceeded agent.EndReason `json:"exceeded,omitempty"`
	// AskLimit means that people are asked about that bound.
	AskLimit bool `json:"ask_limit,omitempty"`
	// Invalid describes how the reply violates the agent's contract.
	Invalid string `json:"invalid,omitempty"`
	// Stands means that a text is used as the agent's result although it violates the contract.
	Stands bool `json:"stands,omitempty"`
	// Partial is why the reply is incomplete: cut, or partly withheld.
	Partial string `json:"partial,omitempty"`
	// ActionsExecuted is the statement in an action agent's final reply about its actions.
	ActionsExecuted *bool `json:"actions_executed,omitempty"`
	// Quick means that the model is known to answer within milliseconds, so the next call is made within the workflow task.
	Quick bool `json:"quick,omitempty"`
	// Kept means that the reply was already stored. Other means that it answers the input of a lost workflow task, not this
	// one.
	Kept  bool `json:"kept,omitempty"`
	Other bool `json:"other,omitempty"`
	// Scored means that a judge's reply ends with a score.
	Scored bool `json:"scored,omitempty"`
	// Seen is the last entry of the iteration.
	Seen transcript.Mark `json:"seen,omitzero"`
}

// Trouble holds the details of a model call's error.
type Trouble struct {
	Provider string `json:"provider,omitempty"` // the provider's name
	// RetryAfter is how long the provider asks the caller to wait.
	RetryAfter plan.Duration `json:"retry_after,omitempty"`
	// Open means that the model was not asked because its circuit is open. The next probe is in RetryAfter, or later.
	Open bool `json:"open,omitempty"`
	// Usage estimates the provider's possible charge for the failed call.
	Usage agent.Usage `json:"usage,omitzero"`
}

// ListToolsIn asks one MCP server for its tools, for one execution.
type ListToolsIn struct {
	Ref    Ref    `json:"ref"`
	Server string `json:"server"`
	// Last makes an unreachable server a result instead of an error.
	Last bool `json:"last,omitempty"`
	// Within is how long the server may take. If it is set, a server that cannot be started is a result, too: it need not be
	// asked again. Zero means 45 seconds.
	Within plan.Duration `json:"within,omitempty"`
}

// ListToolsOut says how many tools there are; the catalogue is in the store.
type ListToolsOut struct {
	Tools int    `json:"tools"`
	Error string `json:"error,omitempty"`
	// Detail explains the error in the words of the server or the operating system: masked, and in one short line.
	Detail string `json:"detail,omitempty"`
}

// RunHookIn runs a hook of a stage.
type RunHookIn struct {
	// Ref names the hook's execution and, for a post_process, the agent whose text is the stage's result.
	Ref   Ref      `json:"ref"`
	Point string   `json:"point"`
	Prior []Source `json:"prior,omitempty"`
	Notes []Note   `json:"notes,omitempty"` // people's answers
	// Result is the execution whose final text the stage hands on; for a post_process only.
	Result string `json:"result,omitempty"`
}

// RunHookOut reports whether the hook has an output, which is its execution's final text.
type RunHookOut struct {
	Changed bool `json:"changed,omitempty"`
	// Seen is the last entry of the hook.
	Seen transcript.Mark `json:"seen,omitzero"`
}

// RunMockIn runs the function that replaces an agent.
type RunMockIn struct {
	Ref   Ref      `json:"ref"`
	Prior []Source `json:"prior,omitempty"`
	Notes []Note   `json:"notes,omitempty"` // people's answers
}
