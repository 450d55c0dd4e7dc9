package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Waiting is what an investigation or a conversation waits for, as its workflow said last.
type Waiting struct {
	Investigation string // or the conversation's id
	WorkflowID    string
	RunID         string // of the run that said so
	Seq           int    // counts what the workflow has said so
	// Status is the investigation's. A conversation has none.
	Status agent.Status
	// Project is that of an investigation, as the store has it; "" = a conversation's, or it was not the store that was asked.
	Project string
	Waits
}

// Waits are the people and providers that are waited for.
type Waits struct {
	Approvals []Approval `json:"approvals,omitempty"`
	Questions []Question `json:"questions,omitempty"`
	Outages   []Outage   `json:"outages,omitempty"`
}

// Len is how many there are.
func (w Waits) Len() int { return len(w.Approvals) + len(w.Questions) + len(w.Outages) }

// Key differs between waits that differ. It is short: a workflow keeps it.
func (w Waits) Key() string {
	var key strings.Builder
	for _, a := range w.Approvals {
		key.WriteString(fmt.Sprintf("%s %.12s %d\n", a.Name(), a.Digest, a.Expires.UnixMilli()))
		if facts := len(a.ApprovedBy) + len(a.Notes); facts > 0 {
			key.WriteString(fmt.Sprintf("%d\n", facts))
		}
	}
	for _, q := range w.Questions {
		key.WriteString(fmt.Sprintf("%s %d\n", q.ID, q.Expires.UnixMilli()))
	}
	for _, o := range w.Outages {
		key.WriteString(fmt.Sprintf("%s %d %d\n", o.Execution, o.Tries, o.Next.UnixMilli()))
	}
	return key.String()
}

// Bare returns the same without the texts and the data, which may be large.
func (w Waits) Bare() Waits {
	w.Approvals, w.Questions = slices.Clone(w.Approvals), slices.Clone(w.Questions)
	for n := range w.Approvals {
		a := &w.Approvals[n]
		a.Size, a.Arguments = a.Bytes(), ""
		a.Reason, a.PlanStep, a.Description = "", "", ""
	}
	for n := range w.Questions {
		w.Questions[n].Data = nil
	}
	return w
}

// Approval is a tool call that waits for a person.
type Approval struct {
	CallID    string     `json:"call_id"` // unique within the execution
	Tool      string     `json:"tool"`
	Risk      agent.Risk `json:"risk,omitempty"`
	Arguments string     `json:"arguments,omitempty"` // canonical JSON, masked, with deceiving characters marked
	// ArgumentsRef names all of the arguments in the store, Size bytes, where they are longer.
	ArgumentsRef string `json:"arguments_ref,omitempty"`
	Size         int    `json:"size,omitempty"`
	// Hidden is how many bytes of the arguments are masked: who approves does not see them.
	Hidden int `json:"hidden,omitempty"`
	// Digest is that of the call: its server, tool, definition and arguments.
	Digest    string `json:"digest,omitempty"`
	Agent     string `json:"agent"`
	Execution string `json:"execution"`
	// WorkflowID takes the update "decide".
	WorkflowID string    `json:"workflow_id"`
	Expires    time.Time `json:"expires,omitzero"` // then it counts as denied, or others are asked; zero while it is paused
	// Approvers are groups, roles and people (@name) that may decide; none = everybody.
	Approvers []string `json:"approvers,omitempty"`
	// Needed is how many different people have to approve it, if more than one; ApprovedBy have.
	Needed     int      `json:"approvals_needed,omitempty"`
	ApprovedBy []string `json:"approved_by,omitempty"`
	// Notes tell who decides what came before: a change, an edit, an answer of the agent.
	Notes []string `json:"notes,omitempty"`
	// Remember is the tool's definition, if the approval may be remembered by a rule; "" = it may not.
	Remember string `json:"remember,omitempty"`
	// EscalatesTo may decide, too, from Expires on. An empty string means that the call is denied then.
	EscalatesTo string `json:"escalates_to,omitempty"`
	// Reason is what the agent wrote, or else thought, when it asked for the call: a model's words, which may be wrong or deceive. PlanStep is
	// the step of a plan that the call carries out, and Description what the tool's server says of the tool. All are masked,
	// shortened, and on one line. Calls that have waited since before they were recorded have none.
	Reason      string `json:"agent_reason,omitempty"`
	PlanStep    string `json:"plan_step,omitempty"`
	Description string `json:"tool_description,omitempty"`
}

// Name tells the call from all others of its investigation.
func (a Approval) Name() string { return a.Execution + "/" + a.CallID }

// Bytes is how long the whole of the arguments is.
func (a Approval) Bytes() int { return max(a.Size, len(a.Arguments)) }

// HiddenNote tells who approves a call how much of it is hidden; "" = nothing.
func (a Approval) HiddenNote() string {
	if a.Hidden == 0 {
		return ""
	}
	return fmt.Sprintf("(%d bytes of the arguments are hidden: masked) ", a.Hidden)
}

// Why explains the call, each line labelled with whose words it has. The lines may have characters that deceive.
func (a Approval) Why() (lines []string) {
	for _, said := range []struct{ by, text string }{
		{"the agent says", a.Reason}, {"plan step", a.PlanStep}, {"the tool's description", a.Description},
	} {
		if said.text != "" {
			lines = append(lines, said.by+": "+said.text)
		}
	}
	return lines
}

// Deadline says what happens to the call when its time is up, which is at when: "in 59 min", or "at 15:04".
func (a Approval) Deadline(when string) string {
	switch {
	case a.Expires.IsZero():
		return "no deadline while it is paused"
	case a.EscalatesTo != "":
		return "escalates to " + a.EscalatesTo + " " + when + " unless decided"
	}
	return "auto-denied " + when + " unless approved"
}

// Left says how long a person has from now on: "in 59 min".
func (a Approval) Left(now time.Time) string { return "in " + Span(a.Expires.Sub(now)) }

// LeftAt is Left with the time of day, in the time zone of now.
func (a Approval) LeftAt(now time.Time) string {
	return fmt.Sprintf("%s (%s)", a.Left(now), a.Expires.In(now.Location()).Format("15:04:05 MST"))
}

// Span writes a time span for people, in its largest unit or two: "45 s", "59 min", "1 h 30 min", "3 d".
func Span(d time.Duration) string {
	d = max(d, 0)
	switch hours, minutes := int(d.Hours()), int(d.Minutes()); {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", minutes)
	case hours < 24 && minutes%60 > 0:
		return fmt.Sprintf("%d h %d min", hours, minutes%60)
	case hours < 24:
		return fmt.Sprintf("%d h", hours)
	}
	return fmt.Sprintf("%d d", int(d.Hours())/24)
}

// Facts tell who decides on a call who may, who has, and what came before. They may have
// characters that deceive.
func (a Approval) Facts() []string {
	var lines []string
	if len(a.Approvers) > 0 {
		lines = append(lines, "may be decided by "+strings.Join(a.Approvers, ", "))
	}
	if a.Needed > 1 {
		line := fmt.Sprintf("needs %d people", a.Needed)
		if len(a.ApprovedBy) > 0 {
			line += ", approved by " + strings.Join(a.ApprovedBy, ", ")
		}
		lines = append(lines, line)
	}
	return append(lines, a.Notes...)
}

// Question is what an investigation asks people.
type Question struct {
	ID       string `json:"id"`   // unique within the investigation, also across resets
	Kind     string `json:"kind"` // clarification, confirmation or agent_review
	Stage    string `json:"stage"`
	Question string `json:"question"`
	// Data is what the stage's output has under "data", if that is at most 4 KB.
	Data     json.RawMessage `json:"data,omitempty"`
	Expires  time.Time       `json:"expires,omitzero"` // zero while it is paused
	Answered bool            `json:"answered,omitempty"`
	// Review: the chain has the stage's result looked at. It needs an approval, without which it goes back.
	Review bool `json:"review,omitempty"`
}

// Outage is a model's provider, or a tool server, that an agent waits for.
type Outage struct {
	Agent     string `json:"agent"`
	Execution string `json:"execution,omitempty"`
	Provider  string `json:"provider,omitempty"`
	// Server is the name of a tool server. If it is set, no provider is waited for, and Provider is "server NAME".
	Server    string    `json:"server,omitempty"`
	Model     string    `json:"model"`
	ErrorType string    `json:"error_type"` // of the last try
	Error     string    `json:"error"`
	Since     time.Time `json:"since"` // the first try that failed
	Tries     int       `json:"tries"`
	Next      time.Time `json:"next"`  // try
	Until     time.Time `json:"until"` // then it is given up
	// Fallback is the model that is asked after that; "" = none, and the agent fails.
	Fallback string `json:"fallback,omitempty"`
	// Others are the executions that wait for the same. The numbers are those of the one that
	// is the last to try again.
	Others []string `json:"others,omitempty"`
}

// Same: two agents wait for one provider and model, and then for the same.
func (o Outage) Same(other Outage) bool {
	return o.Provider == other.Provider && o.Model == other.Model && o.Fallback == other.Fallback
}

// And is the outage that two agents wait out, as the one sees it that has waited longer.
func (o Outage) And(other Outage) Outage {
	if other.Since.Before(o.Since) {
		o, other = other, o
	}
	o.Others = slices.Concat(o.Others, []string{other.Execution}, other.Others)
	return o
}

// String says it to people.
func (o Outage) String() string {
	text := fmt.Sprintf("%s: %s, since %s, %d tries, next at %s, gives up at %s",
		cmp.Or(o.Provider, o.Model), o.Error, Clock(o.Since), o.Tries, Clock(o.Next), Clock(o.Until))
	switch {
	case o.Fallback != "":
		text += ", then asks " + o.Fallback
	case o.Server == "":
		text += ", no fallback"
	}
	if n := len(o.Others); n > 0 {
		text += fmt.Sprintf("; %d more wait for it", n)
	}
	return text
}

// Expired: what expires at that time waits for nobody any more.
func Expired(at time.Time) bool { return !at.IsZero() && !at.After(time.Now()) }

// Until says to people when something expires.
func Until(at time.Time, layout string) string {
	if at.IsZero() {
		return "until its time is up, none of which passes while it is paused"
	}
	return "until " + at.Format(layout)
}

// Clock is a time of day for people.
func Clock(t time.Time) string { return t.UTC().Format("15:04:05 MST") }
