package activities

import (
	"context"
	"errors"
	"time"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/webhook"
)

// PlaceAlertsOut says when to look again, unless something wakes the intake before; zero means no alerts are waiting.
type PlaceAlertsOut struct {
	Started int           `json:"started"`
	Next    plan.Duration `json:"next,omitempty"`
}

// soon is the delay before the next look after a change that may free a place.
const soon = plan.Duration(time.Second)

// PlaceAlerts assigns the waiting alerts: it starts their investigations, and tells running investigations about others.
func (a *Activities) PlaceAlerts(ctx context.Context) (PlaceAlertsOut, error) {
	ctx, stop := a.worker().Attend(ctx)
	defer stop()
	out, err := alertIntake{a.worker()}.placeAlerts(ctx)
	return out, job.StoreFailure(job.Ended(ctx, err))
}

// alertIntake places the alerts that webhooks have received.
type alertIntake struct{ *job.Worker }

func (a alertIntake) placeAlerts(ctx context.Context) (out PlaceAlertsOut, err error) {
	placed, err := a.Alerts.PlaceAlerts(ctx, a.Intake.Flood)
	if err != nil {
		return out, err
	}
	var errs []error // one failure does not hold up the others
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
		case errors.Is(err, record.ErrNotFound): // what it did not read waits for another investigation
			out.Next, err = soon, a.Alerts.AlertEnded(ctx, n.Lead)
		case err == nil:
			err = a.Alerts.AlertsTold(ctx, n.Lead)
		}
		errs = append(errs, err)
	}
	if out.Started > 0 && out.Next == 0 {
		out.Next = soon // to tell it about other alerts
	}
	return out, errors.Join(errs...)
}

func (a alertIntake) startAlert(ctx context.Context, s webhook.Start) (started bool, err error) {
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

// wakeTime limits makeRoom, which Finish calls within a workflow task.
const wakeTime = time.Second

// makeRoom wakes the intake when an alert's investigation has ended or, with "", if any alerts are waiting. A failure
// does no harm: while any alerts are waiting, the intake also looks by itself.
func (a alertIntake) makeRoom(ctx context.Context, investigation string) {
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
		a.Logger.Warn("the alert intake was not woken; it will check for free slots later", "investigation", investigation, "error", err)
	}
}

// forgetAlerts deletes old alerts, as many as time allows. The next turn continues.
func (a alertIntake) forgetAlerts(ctx context.Context) {
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
