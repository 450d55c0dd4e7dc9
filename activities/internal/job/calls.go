package job

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Approve holds the parts of a call that its approver sees.
type Approve struct {
	ID        string     `json:"id"` // of the call, unique within the execution
	Risk      agent.Risk `json:"risk,omitempty"`
	Arguments string     `json:"arguments,omitempty"` // canonical, masked and marked: see package reveal
	// Ref names the blob with all of the arguments if they are longer than Arguments; Size is their length in bytes.
	Ref  string `json:"ref,omitempty"`
	Size int    `json:"size,omitempty"`
	// Hidden is how many bytes of the arguments are masked.
	Hidden int `json:"hidden,omitempty"`
	// Digest is the call's digest: see tool.Decision.
	Digest string `json:"digest"`
	// Approvers lists the people who may decide. Those in NotBy must not approve.
	Approvers plan.Approvers `json:"approvers,omitzero"`
	NotBy     []string       `json:"not_by,omitempty"`
	// Notes are further facts that the approver needs.
	Notes []string `json:"notes,omitempty"`
	// Remember is the tool's definition if the approval may be remembered, otherwise empty.
	Remember string `json:"remember,omitempty"`
	// Edit names the blob with a person's arguments, if they replace the agent's: see Decision.
	Edit string `json:"edit,omitempty"`
	// Reason is the agent's text in the reply that asks for the call, or else its reasoning. PlanStep is the step of a
	// plan that the call carries out. Description is the tool server's description of the tool. All are masked and
	// shortened; empty means none.
	Reason      string `json:"reason,omitempty"`
	PlanStep    string `json:"plan_step,omitempty"`
	Description string `json:"description,omitempty"`
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

// GivenDigest returns the digest of the call that was decided; "" if there is no decision.
func (d *Decision) GivenDigest() string {
	if d == nil {
		return ""
	}
	return d.Digest
}

// Said returns the decision as the transcript keeps it.
func (d *Decision) Said() string {
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
		text += " by " + d.Names()
	}
	if d.Reason != "" {
		text += " (" + d.Reason + ")"
	}
	if d.Pending != "" {
		text += "; " + d.Pending
	}
	return text
}

// Names returns the verified names of all who decided.
func (d Decision) Names() string {
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
	// Sent is how many requests of the call earlier attempts may have sent, according to their ServerAway.
	Sent int `json:"sent,omitempty"`
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
