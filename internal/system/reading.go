package system

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// Status is the current state of an investigation.
type Status struct {
	workflows.Status
	// Agents holds the status of the running agents, by workflow ID.
	Agents map[string]workflows.AgentStatus
	// Stale is why the usage does not come from the store; nil means that it does.
	Stale error
	// Result is set for an ended investigation that the store does not know.
	Result *Result
}

// Record is everything that the store has about an investigation.
type Record struct {
	Investigation record.Investigation `json:"investigation"`
	Stages        []record.Stage       `json:"stages"`
	Executions    []record.Execution   `json:"executions"`
	Entries       []transcript.Entry   `json:"entries"`
	// Status is set if the investigation has ended.
	Status *workflows.Status `json:"status,omitempty"`
	// Scores are the judgments in the order in which they were requested.
	Scores []record.Score `json:"scores,omitempty"`
	// Ratings are those of people, oldest first.
	Ratings []record.Rating `json:"ratings,omitempty"`
	// Review is nil until the investigation has ended.
	Review *record.Review `json:"review,omitempty"`
	// Forks are the IDs of the investigations that were forked from this one, oldest first.
	Forks []string `json:"forks,omitempty"`
	// Questions are those that people have to answer.
	Questions []record.Question `json:"questions,omitempty"`
	// UnknownCalls may or may not have taken effect, unless their late answers say so. Running calls are not included.
	UnknownCalls []transcript.UnknownCall `json:"unknown_calls,omitempty"`
	// Stale is why Temporal could not be asked whether the investigation was terminated; nil means that it was asked.
	Stale error `json:"-"`
}

// Score returns the newest score that a judge has reached, else the newest attempt, else nil.
func (r Record) Score() (last *record.Score) {
	for n := range r.Scores {
		if r.Scores[n].Score != nil || last == nil || last.Score == nil {
			last = &r.Scores[n]
		}
	}
	return last
}

// Fate describes the outcome of a call or question that is no longer pending. An empty string means unknown.
func (r Record) Fate(name string) string {
	if text := decision(r.Entries, name); text != "" {
		return text
	}
	if i := r.Investigation; i.Status.Closed() {
		at := ""
		if i.EndedAt != nil {
			at = ", " + record.When(i.EndedAt.Local(), time.Now())
		}
		return fmt.Sprintf("the investigation has ended (%s%s)", i.Status, at)
	}
	return ""
}

// decision describes a person's decision about a call, with its time.
func decision(entries []transcript.Entry, name string) string {
	for _, e := range entries {
		if e.Call == nil || e.Superseded || name != e.Call.ID && name != e.Execution+"/"+e.Call.ID {
			continue
		}
		if said := cmp.Or(e.Decision, e.ErrorType); said != "" { // the error type is "denied" or "expired"
			return fmt.Sprintf("%s, %s", said, record.When(e.At.Local(), time.Now()))
		}
	}
	return ""
}

// Listing is a list of investigations, newest first.
type Listing struct {
	All []record.Investigation
	// Remote means that there is no store here. The list comes from Temporal, which knows less.
	Remote bool
	// Stale is why Temporal could not be asked which investigations were terminated; nil means that it was asked.
	Stale error
	// About describes investigations in one line, by ID, where the store knows them.
	About map[string]string
	// Scores holds the last score of each judged investigation, by ID.
	Scores map[string]int
	// Reviews holds the reviews of the ended investigations, by ID.
	Reviews map[string]*record.Review
}

// Event is something that happened in a followed investigation. One of its fields is set.
type Event struct {
	// Update holds the news from the store.
	Update *record.Update
	// Blind is why no more updates follow: ErrNoStore, ErrOtherStore or an error from the store.
	Blind error
	// Status is the investigation's current status, sent if there is no store.
	Status *Status
	// Connection was lost or is back.
	Connection *Connection
}

// Connection describes a connection that Follow needs.
type Connection struct {
	To   string    // "Temporal" or "the store"
	Lost time.Time // zero means that it is back
}

// ErrOtherStore means that the local store is not the one that the investigation's workers use.
var ErrOtherStore = errors.New("the investigation is not in this store; its workers use a different one")

// Result is how an investigation ended.
type Result = workflows.InvestigationResult

// ResultOf makes a result from the fields of a record.
func ResultOf(r record.Investigation) Result {
	return Result{ID: r.ID, Status: r.Status, EndReason: r.EndReason, Report: r.Report, Usage: r.Usage, Error: r.Error,
		Undelivered: r.Envelope.Undelivered, NotChecked: r.Envelope.NotChecked, NoToolResult: r.Envelope.NoToolResult}
}
