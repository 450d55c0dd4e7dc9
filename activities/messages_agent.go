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

// What goes in and out of the activities of an agent: its model calls, its tools, and
// what of the worker's program works in a model's place.

// GenerateIn asks for one model call.
type GenerateIn struct {
	Ref       Ref `json:"ref"`
	Iteration int `json:"iteration"` // from 1; the key of the call in the transcript
	// Provider is the index of the provider in the agent's plan.
	Provider int `json:"provider,omitempty"`
	// Try numbers the calls that are made for the iteration, whichever provider they
	// ask; from 1.
	Try int `json:"try,omitempty"`
	// Fallback says how the provider before this one failed, if this is the first try of this one.
	Fallback *Failure `json:"fallback,omitempty"`
	// Conclude asks for a conclusion without tools.
	Conclude bool `json:"conclude,omitempty"`
	// Reserve: the call is made although a bound of the investigation is reached.
	Reserve bool    `json:"reserve,omitempty"`
	Inputs  []Input `json:"inputs,omitempty"`
	// Prior and Peers are for the first call: the results of earlier stages, and
	// for a synthesis the executions that it joins, for a review those that it looks at.
	Prior []Source `json:"prior,omitempty"`
	Peers []Peer   `json:"peers,omitempty"`
	// Earlier are results of earlier passes, Notes what people and reviews said; also for the first call.
	Earlier []Source `json:"earlier,omitempty"`
	Notes   []Note   `json:"notes,omitempty"`
	// Task is the call that has dispatched the agent, for its first call; nil = none has.
	Task *TaskRef `json:"task,omitempty"`
	// Begun: an attempt within a workflow task has begun the call, and may still be at it.
	Begun bool `json:"begun,omitempty"`
}

// TaskRef is a call of dispatch_agent: its arguments have the task.
type TaskRef struct {
	Execution string `json:"execution"` // that has made it
	Iteration int    `json:"iteration"`
	Call      int    `json:"call"`
}

// Failure says how a model call failed.
type Failure struct {
	ErrorType string `json:"error_type"`
	Error     string `json:"error"`
	Try       int    `json:"try"`
}

// UnansweredIn has written down what an agent's first call has asked.
type UnansweredIn struct {
	Call GenerateIn `json:"call"`
	Why  string     `json:"why"` // nobody has answered
}

// Note is a question and its answer.
type Note = record.Note

// InputKind says what an Input is.
type InputKind string

// The inputs that a workflow hands to the next model call.
const (
	InputNudge     InputKind = "nudge"     // the last reply was empty
	InputRepeating InputKind = "repeating" // the last reply repeated itself and was cut
	InputLimit     InputKind = "limit"     // conclude: the iterations are used up
	InputConclude  InputKind = "conclude"  // conclude: a person asked for it
	InputBound     InputKind = "bound"     // conclude: a bound or the agent's time; Text is the stop reason
	InputAwake     InputKind = "awake"     // the agent's pause of its heartbeats is over
	InputRepair    InputKind = "repair"    // the last reply is not what the contract asks for: Text says why
	InputMessage   InputKind = "message"   // a person's turn in a conversation: Text, or else Update and Run; By
	InputHeartbeat InputKind = "heartbeat" // nobody has spoken in a conversation for a while
	InputScore     InputKind = "score"     // the last reply does not end with a score
	InputMissing   InputKind = "missing"   // say which tools were missing
	InputNotice    InputKind = "notice"    // what people should know and the model is not told: Text
	InputResult    InputKind = "result"    // a result that the workflow decided: Iteration, Call, ErrorType, Text, Done
	InputSubAgent  InputKind = "sub_agent" // one that the agent has dispatched has ended: Sub
	InputTools     InputKind = "tools"     // the last reply was written before any server had listed its tools, and one has now
	InputAnswered  InputKind = "answered"  // the last reply has answered a person, and was not the last word
)

// Input is what reached a workflow and belongs before the next model call.
type Input struct {
	Kind      InputKind `json:"kind"`
	Text      string    `json:"text,omitempty"`
	By        string    `json:"by,omitempty"`
	Iteration int       `json:"iteration,omitempty"`
	Call      int       `json:"call,omitempty"`
	ErrorType string    `json:"error_type,omitempty"`
	// Update is the id of the update that said it, to the run Run of the workflow:
	// without Text, it is read there.
	Update string `json:"update,omitempty"`
	Run    string `json:"run,omitempty"`
	// Done: the workflow has carried the call out. Decision is that of a person, if one had to decide.
	Done     bool      `json:"done,omitempty"`
	Decision *Decision `json:"decision,omitempty"`
	Sub      *SubEnded `json:"sub,omitempty"`
}

// SubEnded says how an execution ended that an agent has dispatched.
type SubEnded struct {
	Name      string       `json:"name"` // the agent's
	Execution string       `json:"execution"`
	Status    agent.Status `json:"status"`
	Error     string       `json:"error,omitempty"`
}

// Source names the execution whose final text stands for an earlier stage.
type Source struct {
	Stage     string `json:"stage"`
	Execution string `json:"execution"`
}

// Peer is an execution that a synthesis joins, or a review looks at.
type Peer struct {
	Execution string       `json:"execution"`
	Agent     string       `json:"agent"`
	Status    agent.Status `json:"status"`
	Error     string       `json:"error,omitempty"`
}

// GenerateOut is what a workflow needs of a reply; the reply is in the transcript.
type GenerateOut struct {
	Calls   []Call `json:"calls,omitempty"`
	Preview string `json:"preview,omitempty"`
	Empty   bool   `json:"empty,omitempty"` // neither calls nor a text that can be a report
	// NoReport says why a text is no report. Earlier is the beginning of the text that stands for an empty reply, if there is
	// one: what the model wrote beside its last calls, or its reasoning.
	NoReport transcript.NoReport `json:"no_report,omitempty"`
	Earlier  string              `json:"earlier,omitempty"`
	Finish   string              `json:"finish,omitempty"`
	Model    string              `json:"model,omitempty"`
	Usage    agent.Usage         `json:"usage"`
	// Unread: people have said more to the agent since the call began.
	Unread bool `json:"unread,omitempty"`
	// Exceeded is the bound for which the call was not made.
	Exceeded agent.EndReason `json:"exceeded,omitempty"`
	// AskLimit: people are asked about that bound.
	AskLimit bool `json:"ask_limit,omitempty"`
	// Invalid says what of the reply is not what the agent's contract asks for.
	Invalid string `json:"invalid,omitempty"`
	// Stands: a text that is not what the contract asks for stands for the agent all the same.
	Stands bool `json:"stands,omitempty"`
	// Partial says why the reply is not whole: cut, or withheld in part.
	Partial string `json:"partial,omitempty"`
	// ActionsExecuted is what an action agent says of itself with its last words.
	ActionsExecuted *bool `json:"actions_executed,omitempty"`
	// Quick: the model is known to answer within milliseconds. It is asked within the workflow task next time.
	Quick bool `json:"quick,omitempty"`
	// Kept: the reply was there already. Other: it answers what a workflow task has asked that was lost, and not what is asked now.
	Kept  bool `json:"kept,omitempty"`
	Other bool `json:"other,omitempty"`
	// Scored: the reply of an agent that judges ends with a score.
	Scored bool `json:"scored,omitempty"`
	// Seen is the last entry of the iteration.
	Seen transcript.Mark `json:"seen,omitzero"`
}

// Trouble is what the error of a model call says besides its type and text.
type Trouble struct {
	Provider string `json:"provider,omitempty"` // its name
	// RetryAfter is how long the provider asks to be left alone.
	RetryAfter plan.Duration `json:"retry_after,omitempty"`
	// Open: the model was not asked, because its circuit is open until a probe of RetryAfter from now, or later.
	Open bool `json:"open,omitempty"`
	// Usage is what the provider may charge for the call all the same, by estimate.
	Usage agent.Usage `json:"usage,omitzero"`
}

// ListToolsIn asks one MCP server for its tools, for one execution.
type ListToolsIn struct {
	Ref    Ref    `json:"ref"`
	Server string `json:"server"`
	// Last: a server that cannot be asked is a result, no error.
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
	Queue string `json:"queue,omitempty"` // "" = the main task queue
	// Own: the tool touches only our own store.
	Own bool `json:"own,omitempty"`
	// Quick: the call is known to take milliseconds, and is made within the workflow task.
	Quick bool `json:"quick,omitempty"`
	// Approve is set if a person has to approve the call before it is made.
	Approve *Approve `json:"approve,omitempty"`
	// Sub is set if the workflow carries the call out itself.
	Sub *SubCall `json:"sub,omitempty"`
}

// SubCall is what the workflow needs of a call about sub-agents. A task stays in the transcript.
type SubCall struct {
	Name      string `json:"name,omitempty"`         // of the agent to dispatch
	Execution string `json:"execution_id,omitempty"` // of the one to cancel
}

// Decision is what a person said about a call.
type Decision struct {
	Approved bool      `json:"approved"`
	By       string    `json:"by,omitempty"` // "" = nobody
	Reason   string    `json:"reason,omitempty"`
	At       time.Time `json:"at"`
	// Digest is that of the call that was decided. No other one is made.
	Digest string `json:"digest,omitempty"`
	// Who decided, as the channel has checked it; nil = it has not.
	Who *agent.Identity `json:"who,omitempty"`
	// Also have approved the call before, where several people have to.
	Also []string `json:"also,omitempty"`
	// Edit names in the store the arguments that a person has put in the place of the agent's; "" = nobody has.
	Edit string `json:"edit,omitempty"`
	// Question is what a person asks the agent in the place of the call.
	Question string `json:"question,omitempty"`
	// Pending says what the call still waits for; "" = it is decided.
	Pending string `json:"pending,omitempty"`
}

// digest is that of the call that was decided; "" = nobody did.
func (d *Decision) digest() string {
	if d == nil {
		return ""
	}
	return d.Digest
}

// said is the decision as the transcript keeps it.
func (d *Decision) said() string {
	if d == nil {
		return ""
	}
	return d.String()
}

// String is the decision in words.
func (d Decision) String() string {
	text := "denied"
	switch {
	case d.Approved && d.Edit != "":
		text = "approved with other arguments"
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

// names are those of all who have decided, as they were checked.
func (d Decision) names() string {
	return strings.Join(append(slices.Clone(d.Also), d.Who.Named(d.By)), " and ")
}

// EditCallIn looks at the arguments that a person has put in the place of those of a call.
type EditCallIn struct {
	Ref       Ref             `json:"ref"`
	Iteration int             `json:"iteration"`
	Call      int             `json:"call"` // from 0
	Arguments json.RawMessage `json:"arguments"`
}

// EditCallOut is the call as it would be made with them, and where they are kept.
type EditCallOut struct {
	Approve *Approve `json:"approve,omitempty"` // nil: Refused says why they cannot be
	Edit    string   `json:"edit,omitempty"`
	Refused string   `json:"refused,omitempty"`
}

// CallToolIn runs the n-th call of an iteration's reply.
type CallToolIn struct {
	Ref       Ref `json:"ref"`
	Iteration int `json:"iteration"`
	Call      int `json:"call"` // from 0
	// Decision is that of a person, for a call that needs one.
	Decision *Decision `json:"decision,omitempty"`
	// Last: a server that cannot be reached is a result, no error.
	Last bool `json:"last,omitempty"`
	// Begun: an attempt within a workflow task has begun the call, and may still be at it.
	Begun bool `json:"begun,omitempty"`
	// Intended: an attempt whose worker has died had written the call's intent, as its heartbeat says.
	Intended bool `json:"intended,omitempty"`
}

// CallToolOut says how it went; the result is in the transcript.
type CallToolOut struct {
	Status    string `json:"status"`
	ErrorType string `json:"error_type,omitempty"`
	// Fault is what programs can read of a failure. Details of more than 1 KB are in the transcript alone.
	agent.Fault
	// Pause is for how many minutes the agent asked to pause its heartbeats; 0 = it did not.
	Pause int `json:"pause,omitempty"`
	// Approve is set if the call was not made: it is not the one that was approved.
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

// CallOwnToolsOut says what the workflow has to do about it; the results are in the transcript.
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

// PlanResultIn asks for what came of a plan.
type PlanResultIn struct {
	Ref    Ref      `json:"ref"`
	Prior  []Source `json:"prior,omitempty"`
	Inputs []Input  `json:"inputs,omitempty"` // results that the workflow decided
}

// RunHookIn runs a hook of a stage.
type RunHookIn struct {
	// Ref is the hook's: its execution, and of a post_process the agent that speaks for the stage.
	Ref   Ref      `json:"ref"`
	Point string   `json:"point"`
	Prior []Source `json:"prior,omitempty"`
	Notes []Note   `json:"notes,omitempty"` // what people answered
	// Result is the execution whose final text the stage hands on; of a post_process.
	Result string `json:"result,omitempty"`
}

// RunHookOut says whether the hook has an output, the final text of its execution.
type RunHookOut struct {
	Changed bool `json:"changed,omitempty"`
	// Seen is the last entry of the hook.
	Seen transcript.Mark `json:"seen,omitzero"`
}

// RunMockIn runs the function that works in an agent's place.
type RunMockIn struct {
	Ref   Ref      `json:"ref"`
	Prior []Source `json:"prior,omitempty"`
	Notes []Note   `json:"notes,omitempty"` // what people answered
}
