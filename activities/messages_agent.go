package activities

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

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
}

// ListToolsOut says how many tools there are; the catalogue is in the store.
type ListToolsOut struct {
	Tools int    `json:"tools"`
	Error string `json:"error,omitempty"`
}

// Call is a tool call that a reply asks for. Its arguments are in the transcript.
type Call struct {
	Name  string `json:"name"`
	Queue string `json:"queue,omitempty"` // "" means the main task queue
	// Own means that the tool touches only our own store.
	Own bool `json:"own,omitempty"`
	// Quick means that the call is known to take milliseconds, so it is made within the workflow task.
	Quick bool `json:"quick,omitempty"`
	// Approve is set if a person has to approve the call first.
	Approve *Approve `json:"approve,omitempty"`
	// Sub is set if the workflow carries the call out itself.
	Sub *SubCall `json:"sub,omitempty"`
}

// SubCall summarises a call concerning sub-agents for the workflow. The task stays in the transcript.
type SubCall struct {
	Name      string `json:"name,omitempty"`         // of the agent to dispatch
	Execution string `json:"execution_id,omitempty"` // of the execution to cancel
}

// Decision is a person's decision about a call.
type Decision struct {
	Approved bool      `json:"approved"`
	By       string    `json:"by,omitempty"` // "" means no name, or that nobody decided
	Reason   string    `json:"reason,omitempty"`
	At       time.Time `json:"at"`
	// Digest is the digest of the call that was decided. Only a call with this digest is made.
	Digest string `json:"digest,omitempty"`
	// The decider's identity, verified by the channel; nil if it was not verified.
	Who *agent.Identity `json:"who,omitempty"`
	// Also lists the people who approved the call before, if several approvals are needed.
	Also []string `json:"also,omitempty"`
	// Edit names the blob with a person's arguments that replace the agent's; "" means none.
	Edit string `json:"edit,omitempty"`
	// Question is a person's question to the agent instead of an approval.
	Question string `json:"question,omitempty"`
	// Pending describes a requirement that the call still waits for; "" means it is decided.
	Pending string `json:"pending,omitempty"`
}

// digest returns the digest of the call that was decided; "" if there is no decision.
func (d *Decision) digest() string {
	if d == nil {
		return ""
	}
	return d.Digest
}

// said returns the decision as the transcript keeps it.
func (d *Decision) said() string {
	if d == nil {
		return ""
	}
	return d.String()
}

// String describes the decision in words.
func (d Decision) String() string {
	text := "denied"
	switch {
	case d.Approved && d.Edit != "":
		text = "approved with edited arguments"
	case d.Approved:
		text = "approved"
	case d.Question != "":
		text = "sent back with a question"
	case d.Pending != "":
		text = "handed on"
	}
	if d.By != "" {
		text += " by " + d.names()
	}
	if d.Reason != "" {
		text += " (" + d.Reason + ")"
	}
	if d.Pending != "" {
		text += "; " + d.Pending
	}
	return text
}

// names returns the verified names of all who decided.
func (d Decision) names() string {
	return strings.Join(append(slices.Clone(d.Also), d.Who.Named(d.By)), " and ")
}

// EditCallIn checks the arguments that a person wants to use for a call.
type EditCallIn struct {
	Ref       Ref             `json:"ref"`
	Iteration int             `json:"iteration"`
	Call      int             `json:"call"` // from 0
	Arguments json.RawMessage `json:"arguments"`
}

// EditCallOut is the call as it would be made with them, and where they are stored.
type EditCallOut struct {
	Approve *Approve `json:"approve,omitempty"` // nil: Refused says why the arguments are refused
	Edit    string   `json:"edit,omitempty"`
	Refused string   `json:"refused,omitempty"`
}

// CallToolIn runs the n-th call of an iteration's reply.
type CallToolIn struct {
	Ref       Ref `json:"ref"`
	Iteration int `json:"iteration"`
	Call      int `json:"call"` // from 0
	// Decision is a person's decision, for a call that needs one.
	Decision *Decision `json:"decision,omitempty"`
	// Last makes an unreachable server a result instead of an error.
	Last bool `json:"last,omitempty"`
	// Begun means that an attempt within a workflow task has begun the call and may still be running.
	Begun bool `json:"begun,omitempty"`
	// Intended means that an attempt whose worker died had written the call's intent, according to its heartbeat.
	Intended bool `json:"intended,omitempty"`
}

// CallToolOut is the outcome of the call; the result is in the transcript.
type CallToolOut struct {
	Status    string `json:"status"`
	ErrorType string `json:"error_type,omitempty"`
	// Fault is the machine-readable part of a failure. Details larger than 1 KB are only in the transcript.
	agent.Fault
	// Pause is how many minutes the agent asked to pause its heartbeats; zero means it did not ask.
	Pause int `json:"pause,omitempty"`
	// Approve is set if the call was not made because it differs from the approved call.
	Approve *Approve `json:"approve,omitempty"`
	// Seen is the entry of the result.
	Seen transcript.Mark `json:"seen,omitzero"`
}

// CallOwnToolsIn runs calls of an iteration's reply that touch only our own store, in order.
type CallOwnToolsIn struct {
	Ref       Ref   `json:"ref"`
	Iteration int   `json:"iteration"`
	Calls     []int `json:"calls"` // from 0, ascending
}

// CallOwnToolsOut holds the parts that the workflow acts on; the results are in the transcript.
type CallOwnToolsOut struct {
	Pause int `json:"pause,omitempty"` // see CallToolOut
	// Seen is the entry of the last result.
	Seen transcript.Mark `json:"seen,omitzero"`
}

// PlanCallsIn asks for the calls of a plan.
type PlanCallsIn struct {
	Ref   Ref      `json:"ref"`
	Prior []Source `json:"prior,omitempty"`
}

// PlanResultIn asks for the results of a plan.
type PlanResultIn struct {
	Ref    Ref      `json:"ref"`
	Prior  []Source `json:"prior,omitempty"`
	Inputs []Input  `json:"inputs,omitempty"` // results that the workflow decided
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
