package activities

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/webhook"
)

// Alerts is what webhooks have received.
type Alerts interface {
	// PlaceAlerts says what is to be started and told, again until the others have been called.
	PlaceAlerts(ctx context.Context, limits func(name string) webhook.Limits) (webhook.Placed, error)
	AlertStarted(ctx context.Context, id, investigation string) error
	AlertEnded(ctx context.Context, id string) error
	AlertsTold(ctx context.Context, lead string) error
	// AlertsUnread says that an investigation ends in which not all was read that AlertsTold is about.
	AlertsUnread(ctx context.Context, investigation string) error
	// AlertsWait reports whether any wait for what PlaceAlerts does or, with an investigation, whether that is an alert's.
	AlertsWait(ctx context.Context, investigation string) (bool, error)
	// ForgetAlerts deletes some of those that were over before a time, until there are none.
	ForgetAlerts(ctx context.Context, before time.Time) (deleted int64, err error)
}

// Intake starts and guides investigations of alerts.
type Intake interface {
	// StartAlert starts an investigation, once for its workflow id. The error is webhook.ErrRefused if it never can.
	StartAlert(ctx context.Context, workflow string, request json.RawMessage) (investigation string, err error)
	// GuideOnce puts words before an investigation's agents, once for a key. The error is record.ErrNotFound if it has ended.
	GuideOnce(ctx context.Context, investigation, key, text, by string) error
	// EndedAlert reports whether an investigation has ended, or is gone.
	EndedAlert(ctx context.Context, investigation string) (bool, error)
	// WakeIntake has PlaceAlerts called soon.
	WakeIntake(ctx context.Context) error
	// Flood is what a webhook may start.
	Flood(webhook string) webhook.Limits
	// KeepAlerts is how long the store has alerts that are over.
	KeepAlerts() time.Duration
}

// PlaceAlertsOut says when to look again, if nobody says so before; 0 = nothing waits.
type PlaceAlertsOut struct {
	Started int           `json:"started"`
	Next    plan.Duration `json:"next,omitempty"`
}

// soon is when it is looked again after something has changed that decides what waits.
const soon = plan.Duration(time.Second)

// PlaceAlerts gives places to the alerts that wait: it starts their investigations, and tells those that run of others.
func (a *Activities) PlaceAlerts(ctx context.Context) (PlaceAlertsOut, error) {
	ctx, stop := a.attend(ctx)
	defer stop()
	out, err := a.placeAlerts(ctx)
	return out, storeFailure(ended(ctx, err))
}

func (a *Activities) placeAlerts(ctx context.Context) (out PlaceAlertsOut, err error) {
	placed, err := a.Alerts.PlaceAlerts(ctx, a.Intake.Flood)
	if err != nil {
		return out, err
	}
	var errs []error // one that fails does not hold up the others
	for _, s := range placed.Starts {
		started, err := a.startAlert(ctx, s)
		if errs = append(errs, err); started {
			out.Started++
		}
	}
	out.Next = plan.Duration(placed.Next)
	for id, investigation := range placed.Silent {
		gone, err := a.Intake.EndedAlert(ctx, investigation)
		if err == nil && gone {
			out.Next, err = soon, a.Alerts.AlertEnded(ctx, id)
		}
		errs = append(errs, err)
	}
	for _, n := range placed.News {
		err := a.Intake.GuideOnce(ctx, n.Investigation, n.Key(), n.Text(), webhook.By(n.Webhook, ""))
		switch {
		case errors.Is(err, record.ErrNotFound): // what it has not heard waits for another one
			out.Next, err = soon, a.Alerts.AlertEnded(ctx, n.Lead)
		case err == nil:
			err = a.Alerts.AlertsTold(ctx, n.Lead)
		}
		errs = append(errs, err)
	}
	if out.Started > 0 && out.Next == 0 {
		out.Next = soon // what they are to hear of others
	}
	return out, errors.Join(errs...)
}

func (a *Activities) startAlert(ctx context.Context, s webhook.Start) (started bool, err error) {
	investigation, err := a.Intake.StartAlert(ctx, s.Workflow, s.Request)
	if errors.Is(err, webhook.ErrRefused) {
		a.Logger.Error("the investigation of an alert cannot be started", "webhook", s.Webhook, "alert", s.ID, "error", err)
		return false, a.Alerts.AlertEnded(ctx, s.ID)
	}
	if err == nil {
		err = a.Alerts.AlertStarted(ctx, s.ID, investigation)
	}
	return err == nil, err
}

// wakeTime bounds makeRoom, which Finish calls within a workflow task.
const wakeTime = time.Second

// makeRoom has alerts that wait looked at when an investigation has ended, if it was an alert's, or with "" if any wait. What
// fails is made up for: the intake looks by itself while any wait.
func (a *Activities) makeRoom(ctx context.Context, investigation string) {
	if a.Alerts == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, wakeTime)
	defer cancel()
	wait, err := a.Alerts.AlertsWait(ctx, investigation)
	if err == nil && wait {
		err = a.Intake.WakeIntake(ctx)
	}
	if err != nil {
		a.Logger.Warn("nobody was told that there may be room for alerts", "investigation", investigation, "error", err)
	}
}

// forgetAlerts deletes alerts that are over for long, as many as there is time for: the next turn has more.
func (a *Activities) forgetAlerts(ctx context.Context) {
	if a.Alerts == nil {
		return
	}
	var all int64
	for deleted, err := int64(1), error(nil); deleted > 0; all += deleted {
		if deleted, err = a.Alerts.ForgetAlerts(ctx, time.Now().Add(-a.Intake.KeepAlerts())); err != nil {
			a.Logger.Warn("old alerts were not deleted", "error", err)
			break
		}
	}
	if all > 0 {
		a.Logger.Info("old alerts were deleted", "alerts", all)
	}
}
