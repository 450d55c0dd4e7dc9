package notify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/report"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// Version is the version of Event. Later builds of the same version may add fields.
const Version = 1

// Event is what happened to an investigation: the body of a webhook's request (docs/reference/notification.schema.json).
type Event struct {
	Version int    `json:"version"`
	ID      string `json:"id"` // the same in every attempt, and in the header webhook-id
	Type    Type   `json:"type"`
	// Time is when it happened.
	Time          time.Time     `json:"time"`
	Investigation Investigation `json:"investigation"`
	// Escalation is 1 for the first channel that an open question was escalated to. It is absent in other notifications.
	Escalation int `json:"escalation,omitempty"`
	// Approval and Question are what a person has to decide or answer, as in the inbox of the API. A waiting event has one of them.
	Approval *record.Approval `json:"approval,omitempty"`
	Question *record.Question `json:"question,omitempty"`
	// Check is the verdict of a finished check of a schedule.
	Check *agent.Check `json:"check,omitempty"`
	// Report is the result of an investigation that has finished, as the API returns it, without the evidence.
	Report *report.Report `json:"report,omitempty"`
}

// Type is the type of an event.
type Type string

const typePrefix = "investigation."

// The types of events.
const (
	TypeStarted  Type = typePrefix + "started"
	TypeWaiting  Type = typePrefix + "waiting"
	TypeFinished Type = typePrefix + "finished"
)

// Investigation is the investigation that an event is about.
type Investigation struct {
	ID         string            `json:"id"`
	WorkflowID string            `json:"workflow_id"`
	Project    string            `json:"project"`
	Chain      string            `json:"chain"`
	AlertType  string            `json:"alert_type,omitempty"`
	Severity   string            `json:"severity,omitempty"` // metadata.severity
	Status     agent.Status      `json:"status"`
	By         string            `json:"by,omitempty"` // who started it
	Schedule   string            `json:"schedule,omitempty"`
	Metadata   map[string]string `json:"metadata,omitempty"`
	StartedAt  time.Time         `json:"started_at"`
	EndedAt    *time.Time        `json:"ended_at,omitempty"`
	URL        string            `json:"url,omitempty"` // of the page
}

// event returns the event of a notification. It returns nil if people need not know it: if it is no longer true, because a question was
// answered or the investigation runs again after a reset; about a check whose verdict has not changed; about a trial; and about a
// conversation, whose people see what it waits for.
func (o *owner) event(ctx context.Context, m record.Notification) (*Event, error) {
	r, err := o.Store.Investigation(ctx, m.Investigation)
	if errors.Is(err, record.ErrNotFound) || r.Envelope.Trial {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var act audit.Act
	filter := record.ActFilter{Investigation: m.Investigation, After: m.Act - 1, Limit: 1}
	if err := o.Store.Acts(ctx, filter, func(a audit.Act) error { act = a; return nil }); err != nil {
		return nil, err
	}
	e := Event{
		Version: Version, Time: act.At, Escalation: m.Escalation,
		ID: fmt.Sprintf("evt_%.16x", sha256.Sum256(fmt.Appendf(nil, "%s %d %d", m.Investigation, m.Act, m.Escalation))),
		Investigation: Investigation{
			ID: r.ID, WorkflowID: r.WorkflowID, Project: cmp.Or(r.Project, agent.DefaultProject), Chain: r.Chain,
			AlertType: r.AlertType, Status: r.Status, Severity: r.Metadata[agent.Severity], By: r.Envelope.By,
			Metadata: r.Metadata, StartedAt: r.StartedAt, EndedAt: r.EndedAt, URL: system.PageOf(o.PageURL, r.ID),
		},
	}
	check := r.Envelope.Check
	switch s := r.Envelope.Schedule; {
	case s == nil:
	case s.Check && (act.What == audit.Started || act.What == audit.Ended && r.Unchanged()):
		return nil, nil
	default:
		e.Investigation.Schedule = s.Name
	}
	switch {
	case act.What == audit.Started:
		e.Type = TypeStarted
		return &e, nil
	case act.What == audit.Asked:
		e.Type = TypeWaiting
		return o.waiting(ctx, e, act)
	case act.What == audit.Ended && r.EndedAt != nil:
		e.Type, e.Check = TypeFinished, check
		if m.Channel == "" { // routes do not look at the report, which is large
			return &e, nil
		}
		return o.finished(ctx, e)
	}
	return nil, nil
}

// maxLater limits how many later acts are looked at.
const maxLater = 1000

// waiting adds what people have to decide. It returns nil if that is no longer open.
func (o *owner) waiting(ctx context.Context, e Event, act audit.Act) (*Event, error) {
	all, err := o.Store.Waiting(ctx, e.Investigation.ID)
	if err != nil {
		return nil, err
	}
	var asked, again struct{ Digest string }
	_ = json.Unmarshal(act.Detail, &asked) // a question has no digest
	later := record.ActFilter{Investigation: act.Investigation, After: act.N, Limit: maxLater}
	repeated := false // with other approvers, for example: that notification replaces this one
	err = o.Store.Acts(ctx, later, func(a audit.Act) error {
		again.Digest = ""
		_ = json.Unmarshal(a.Detail, &again)
		repeated = repeated || a.What == audit.Asked && a.Execution == act.Execution && a.Call == act.Call && again == asked
		return nil
	})
	if err != nil || repeated {
		return nil, err
	}
	for _, w := range all {
		for _, a := range w.Approvals {
			if a.Execution == act.Execution && a.CallID == act.Call && a.Digest == asked.Digest {
				e.Approval = &a
				return &e, nil
			}
		}
		for _, q := range w.Questions {
			if q.ID == act.Call && act.Execution == "" && !q.Answered {
				e.Question = &q
				return &e, nil
			}
		}
	}
	return nil, nil
}

// finished adds the report.
func (o *owner) finished(ctx context.Context, e Event) (*Event, error) {
	w, err := o.System.Whole(ctx, e.Investigation.ID)
	if err != nil {
		return nil, err
	}
	r, err := report.Checked(ctx, w, terminal.Summary(w.Investigation), o.System.Evidence)
	if err != nil {
		return nil, err
	}
	r.Evidence = nil
	e.Report = &r
	return &e, nil
}
