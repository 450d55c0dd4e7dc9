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

// Waiting holds the current waits of an investigation or a conversation, according to the last report of its workflow.
type Waiting struct {
	Investigation string // or ID of the conversation
	WorkflowID    string
	RunID         string // of the reporting run
	Seq           int    // counts the workflow's reports
	// Status is the status of the investigation. A conversation has none.
	Status agent.Status
	// Project is the investigation's project, as stored; empty for a conversation, or if the data does not come from the store.
	Project string
	Waits
}

// Waits holds the people and providers that are waited for.
type Waits struct {
	Approvals []Approval `json:"approvals,omitempty"`
	Questions []Question `json:"questions,omitempty"`
	Outages   []Outage   `json:"outages,omitempty"`
}

// Len returns the number of waits.
func (w Waits) Len() int { return len(w.Approvals) + len(w.Questions) + len(w.Outages) }

// Key differs for different waits. It is short, because a workflow keeps it.
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

// Bare returns a copy without the texts and data, which may be large.
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
	// ArgumentsRef names the complete arguments in the store if they are too long, and Size is their length in bytes.
	ArgumentsRef string `json:"arguments_ref,omitempty"`
	Size         int    `json:"size,omitempty"`
	// Hidden is how many bytes of the arguments are masked and thus invisible to approvers.
	Hidden int `json:"hidden,omitempty"`
	// Digest is the digest of the call: its server, tool, definition and arguments.
	Digest    string `json:"digest,omitempty"`
	Agent     string `json:"agent"`
	Execution string `json:"execution"`
	// WorkflowID is the workflow that accepts the update "decide".
	WorkflowID string    `json:"workflow_id"`
	Expires    time.Time `json:"expires,omitzero"` // then it is denied or escalated; zero while paused
	// Approvers lists groups, roles and people (@name) that may decide; empty means everyone.
	Approvers []string `json:"approvers,omitempty"`
	// Needed is how many different people must approve, if more than one. ApprovedBy lists those who have.
	Needed     int      `json:"approvals_needed,omitempty"`
	ApprovedBy []string `json:"approved_by,omitempty"`
	// Notes list earlier events for the approver: a change, an edit, an answer of the agent.
	Notes []string `json:"notes,omitempty"`
	// Remember is the tool's definition if a rule may remember the approval; empty means that it may not.
	Remember string `json:"remember,omitempty"`
	// EscalatesTo names who may decide, too, from Expires on. An empty string means that the call is then denied.
	EscalatesTo string `json:"escalates_to,omitempty"`
	// Reason is the agent's text, or else its thoughts, when it asked for the call: a model's words, which may be wrong or
	// misleading. PlanStep is the step of a plan that the call carries out, and Description is the server's description of the
	// tool. All are masked, shortened, and on one line. They are empty for calls that have been waiting since before these fields
	// were recorded.
	Reason      string `json:"agent_reason,omitempty"`
	PlanStep    string `json:"plan_step,omitempty"`
	Description string `json:"tool_description,omitempty"`
}

// Name distinguishes the call from all others of its investigation.
func (a Approval) Name() string { return a.Execution + "/" + a.CallID }

// Bytes returns the length of the complete arguments.
func (a Approval) Bytes() int { return max(a.Size, len(a.Arguments)) }

// HiddenNote tells approvers how much of a call is hidden; empty means nothing.
func (a Approval) HiddenNote() string {
	if a.Hidden == 0 {
		return ""
	}
	return fmt.Sprintf("(%d bytes of the arguments are masked) ", a.Hidden)
}

// Why explains the call. Each line is labelled with its source. The lines may contain deceptive characters.
func (a Approval) Why() (lines []string) {
	for _, said := range []struct{ by, text string }{
		{"the agent says", a.Reason}, {"plan step", a.PlanStep}, {"tool description", a.Description},
	} {
		if said.text != "" {
			lines = append(lines, said.by+": "+said.text)
		}
	}
	return lines
}

// Deadline says what happens to the call when its time is up. when is that time: "in 59 min", or "at 15:04".
func (a Approval) Deadline(when string) string {
	switch {
	case a.Expires.IsZero():
		return "no deadline while paused"
	case a.EscalatesTo != "":
		return "escalates to " + a.EscalatesTo + " " + when + " unless decided"
	}
	return "auto-denied " + when + " unless approved"
}

// Left says how much time is left to decide: "in 59 min".
func (a Approval) Left(now time.Time) string { return "in " + Span(a.Expires.Sub(now)) }

// LeftAt is Left with the time of day, in the time zone of now.
func (a Approval) LeftAt(now time.Time) string {
	return fmt.Sprintf("%s (%s)", a.Left(now), a.Expires.In(now.Location()).Format("15:04:05 MST"))
}

// Span formats a duration for people in its largest unit or two: "45 s", "59 min", "1 h 30 min", "3 d".
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

// Facts tells approvers the possible deciders, the earlier decisions and the earlier events. The lines may contain deceptive
// characters.
func (a Approval) Facts() []string {
	var lines []string
	if len(a.Approvers) > 0 {
		lines = append(lines, "can be decided by "+strings.Join(a.Approvers, ", "))
	}
	if a.Needed > 1 {
		line := fmt.Sprintf("needs %d approvals", a.Needed)
		if len(a.ApprovedBy) > 0 {
			line += ", approved by " + strings.Join(a.ApprovedBy, ", ")
		}
		lines = append(lines, line)
	}
	return append(lines, a.Notes...)
}

// Question is a question of an investigation to people.
type Question struct {
	ID       string `json:"id"`   // unique within the investigation, also across resets
	Kind     string `json:"kind"` // clarification, confirmation or agent_review
	Stage    string `json:"stage"`
	Question string `json:"question"`
	// Data is the "data" of the stage's output, if it is at most 4 KB.
	Data     json.RawMessage `json:"data,omitempty"`
	Expires  time.Time       `json:"expires,omitzero"` // zero while it is paused
	Answered bool            `json:"answered,omitempty"`
	// Review means that the chain requires an approval of the stage's result. Without it, the chain goes back to a stage.
	Review bool `json:"review,omitempty"`
}

// Outage is a model provider or a tool server that an agent waits for.
type Outage struct {
	Agent     string `json:"agent"`
	Execution string `json:"execution,omitempty"`
	Provider  string `json:"provider,omitempty"`
	// Server is the name of a tool server. If it is set, the agent waits for no provider, and Provider is "server NAME".
	Server    string    `json:"server,omitempty"`
	Model     string    `json:"model"`
	ErrorType string    `json:"error_type"` // of the last try
	Error     string    `json:"error"`
	Since     time.Time `json:"since"` // the first failed try
	Tries     int       `json:"tries"`
	Next      time.Time `json:"next"`  // try
	Until     time.Time `json:"until"` // then the agent gives up
	// Fallback is the model that is called after that; empty means that there is none and the agent fails.
	Fallback string `json:"fallback,omitempty"`
	// Others lists other executions with the same outage. The numbers are those of the one that tries again last.
	Others []string `json:"others,omitempty"`
}

// Same reports whether two agents wait for the same provider and model, with the same fallback.
func (o Outage) Same(other Outage) bool {
	return o.Provider == other.Provider && o.Model == other.Model && o.Fallback == other.Fallback && o.Starting() == other.Starting()
}

// And combines the outages of two agents, from the view of the one that has waited longer.
func (o Outage) And(other Outage) Outage {
	if other.Since.Before(o.Since) {
		o, other = other, o
	}
	o.Others = slices.Concat(o.Others, []string{other.Execution}, other.Others)
	return o
}

// ServerStarting is the ErrorType of a wait for a tool server that starts. It is no error.
const ServerStarting = "ServerStarting"

// Starting reports whether the agent waits for a tool server that starts.
func (o Outage) Starting() bool { return o.ErrorType == ServerStarting }

// Why says what the agent waits for, and the error.
func (o Outage) Why() string {
	source := cmp.Or(o.Provider, o.Model) + ": "
	return source + strings.TrimPrefix(o.Error, source)
}

// String describes the outage for people.
func (o Outage) String() string {
	text := fmt.Sprintf("%s, since %s, ", o.Why(), Clock(o.Since))
	if !o.Starting() {
		text += fmt.Sprintf("%s, next at %s, ", Counted(o.Tries, "failed attempt"), Clock(o.Next))
	}
	text += "gives up at " + Clock(o.Until)
	switch {
	case o.Fallback != "":
		text += ", then falls back to " + o.Fallback
	case o.Server == "":
		text += ", no fallback"
	}
	if n := len(o.Others); n > 0 {
		text += "; " + Counted(n, "more agent") + " waiting"
	}
	return text
}

// Counted formats a number of things: "1 failed attempt", "2 failed attempts".
func Counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// Expired reports whether the time has passed, so that nothing waits.
func Expired(at time.Time) bool { return !at.IsZero() && !at.After(time.Now()) }

// Until says when something expires, for people.
func Until(at time.Time, layout string) string {
	if at.IsZero() {
		return "no deadline while paused"
	}
	return "until " + at.Format(layout)
}

// Clock formats a time of day for people.
func Clock(t time.Time) string { return t.UTC().Format("15:04:05 MST") }
