package job

import (
	"context"
	"encoding/json"
	"time"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/webhook"
)

// Alerts stores what webhooks have received.
type Alerts interface {
	// PlaceAlerts returns what to start and what to report, and repeats it until the other methods confirm it.
	PlaceAlerts(ctx context.Context, limits func(name string) webhook.Limits) (webhook.Placed, error)
	AlertStarted(ctx context.Context, id, investigation string) error
	AlertEnded(ctx context.Context, id string) error
	AlertsTold(ctx context.Context, lead string) error
	// AlertsUnread marks joined alerts as unread when an investigation ends before reading everything that AlertsTold
	// confirmed.
	AlertsUnread(ctx context.Context, investigation string) error
	// AlertsWait reports whether any alerts wait for PlaceAlerts. With an investigation, it reports whether an alert
	// started it.
	AlertsWait(ctx context.Context, investigation string) (bool, error)
	// ForgetAlerts deletes a batch of the alerts that ended before a time. Call it until it deletes none.
	ForgetAlerts(ctx context.Context, before time.Time) (deleted int64, err error)
}

// Intake starts and guides investigations of alerts.
type Intake interface {
	// StartAlert starts an investigation, once per workflow id. The error is webhook.ErrRefused if it can never start.
	StartAlert(ctx context.Context, workflow string, request json.RawMessage) (investigation string, err error)
	// GuideOnce sends guidance to an investigation's agents, once per key. The error is record.ErrNotFound if it has ended.
	GuideOnce(ctx context.Context, investigation, key, text, by string) error
	// EndedAlert reports whether an investigation has ended, or no longer exists.
	EndedAlert(ctx context.Context, investigation string) (bool, error)
	// WakeIntake schedules a PlaceAlerts call soon.
	WakeIntake(ctx context.Context) error
	// Flood returns the limits on starts by a webhook.
	Flood(webhook string) webhook.Limits
	// KeepAlerts returns how long the store keeps alerts that are over.
	KeepAlerts() time.Duration
}

// Mailbox holds people's messages until the agents' next model calls (internal/store has the exact semantics).
type Mailbox interface {
	Post(ctx context.Context, letter transcript.Letter, stages []string) error
	TakeMail(ctx context.Context, scope transcript.Scope) ([]transcript.Letter, error)
	Unread(ctx context.Context, investigation string) ([]transcript.Letter, error)
}

// Threads records conversations and their turns (internal/store has the exact semantics).
type Threads interface {
	SaveThread(ctx context.Context, t record.Thread) error
	EndThread(ctx context.Context, id string, at time.Time) error
	SaveTurn(ctx context.Context, thread string, t record.Turn) error
	TurnOf(ctx context.Context, thread, message string) (record.Turn, error)
}

// Runs queries the workflows in Temporal.
type Runs interface {
	// Open returns the running investigations by workflow id, with the id of their last run. Temporal's list may be slightly
	// out of date.
	Open(ctx context.Context) (runs map[string]string, err error)
	// Ending returns how a workflow with the given first run ended, without the record's usage and report. EndedAt is nil if
	// it is running. If Temporal does not know it, the error is record.ErrNotFound.
	Ending(ctx context.Context, workflowID, firstRunID string) (record.Investigation, error)
	// CancelChildren requests cancellation of a workflow's running children whose ids begin with the prefix and a slash,
	// whichever run started them. It spares those in keep and those of the requesting run; run is "" if the workflow has
	// ended. A request from a run that was replaced has no effect.
	CancelChildren(ctx context.Context, workflowID, run, prefix string, keep []string) error
}

// Runbooks fetches runbooks.
type Runbooks interface {
	// Fetch returns the text at a URL, for an investigation of a project. Its errors are for people, and contain no secrets.
	Fetch(ctx context.Context, project, url string) (string, error)
}
