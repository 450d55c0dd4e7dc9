package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/webhook"
)

// fakeAlerts returns the alerts that the test placed. It and fakeIntake record their calls.
type fakeAlerts struct {
	placed webhook.Placed
	did    []string
	old    int64           // number of old alerts; one is deleted per call
	keys   map[string]bool // keys of sent guidance: Temporal accepts each once
}

func (f *fakeAlerts) note(format string, args ...any) error {
	f.did = append(f.did, fmt.Sprintf(format, args...))
	return nil
}

func (f *fakeAlerts) PlaceAlerts(context.Context, func(string) webhook.Limits) (webhook.Placed, error) {
	return f.placed, nil
}

func (f *fakeAlerts) AlertStarted(_ context.Context, id, investigation string) error {
	return f.note("%s started %s", id, investigation)
}

func (f *fakeAlerts) AlertEnded(_ context.Context, id string) error { return f.note("%s ended", id) }

func (f *fakeAlerts) AlertsTold(_ context.Context, lead string) error {
	return f.note("%s was told", lead)
}

func (f *fakeAlerts) AlertsUnread(_ context.Context, investigation string) error {
	return f.note("%s did not read", investigation)
}

func (f *fakeAlerts) AlertsWait(_ context.Context, investigation string) (bool, error) {
	return investigation == "" || investigation == "of an alert", nil
}

func (f *fakeAlerts) ForgetAlerts(_ context.Context, before time.Time) (int64, error) {
	f.old--
	return f.old, f.note("those before %s are deleted", time.Since(before).Round(time.Hour))
}

type fakeIntake struct{ *fakeAlerts }

func (f fakeIntake) KeepAlerts() time.Duration { return 48 * time.Hour }

func (f fakeIntake) Flood(string) webhook.Limits { return webhook.DefaultLimits }

func (f fakeIntake) WakeIntake(context.Context) error { return f.note("woken") }

func (f fakeIntake) StartAlert(_ context.Context, workflow string, _ json.RawMessage) (string, error) {
	switch workflow {
	case "wrong":
		return "", webhook.ErrRefused
	case "away":
		return "", errors.New("Temporal is away")
	}
	return "of " + workflow, nil
}

func (f fakeIntake) EndedAlert(_ context.Context, investigation string) (bool, error) {
	return investigation == "gone", nil
}

func (f fakeIntake) GuideOnce(_ context.Context, investigation, key, _, by string) error {
	if investigation == "gone" {
		return record.ErrNotFound
	}
	if f.keys[key] {
		return nil
	}
	if f.keys == nil {
		f.keys = map[string]bool{}
	}
	f.keys[key] = true
	return f.note("%s guides %s", by, investigation)
}

// One failure does not hold up other work, and alerts that can never start are given up.
func TestPlaceAlerts(t *testing.T) {
	t.Parallel()
	f := &fakeAlerts{placed: webhook.Placed{
		Starts: []webhook.Start{{ID: "a", Workflow: "away"}, {ID: "b", Workflow: "wrong"}, {ID: "c", Workflow: "fine"}},
		Silent: map[string]string{"d": "gone", "e": "there"},
		News:   []webhook.News{{Lead: "f", Webhook: "am", Investigation: "there"}, {Lead: "g", Investigation: "gone"}},
		Next:   time.Minute,
	}}
	a := alertIntake{&job.Worker{Alerts: f, Intake: fakeIntake{f}, Logger: slog.New(slog.DiscardHandler)}}
	out, err := a.placeAlerts(t.Context())
	if err == nil || out.Started != 1 || out.Next != plan.Duration(time.Second) {
		t.Errorf("%+v, %v", out, err)
	}
	want := []string{"b ended", "c started of fine", "d ended", "webhook am guides there", "f was told", "g ended"}
	if diff := cmp.Diff(want, f.did); diff != "" {
		t.Error(diff)
	}
}

// News with the same text as earlier news is sent, too. News that was sent is not sent again if recording it failed.
func TestSameNews(t *testing.T) {
	t.Parallel()
	f := &fakeAlerts{}
	a := alertIntake{&job.Worker{Alerts: f, Intake: fakeIntake{f}, Logger: slog.New(slog.DiscardHandler)}}
	for _, at := range []time.Time{{}, {}, time.Unix(1, 0)} {
		f.placed.News = []webhook.News{{
			Lead: "f", Webhook: "am", Investigation: "there", Joined: 1, ToldAt: at,
			Alerts: []webhook.NewsOf{{Title: "disk full", What: webhook.NewsJoined}},
		}}
		if _, err := a.placeAlerts(t.Context()); err != nil {
			t.Error(err)
		}
	}
	want := []string{"webhook am guides there", "f was told", "f was told", "webhook am guides there", "f was told"}
	if diff := cmp.Diff(want, f.did); diff != "" {
		t.Error(diff)
	}
}

// Old alerts are deleted until none are left, after the configured time.
func TestForgetAlerts(t *testing.T) {
	t.Parallel()
	f := &fakeAlerts{old: 2}
	(alertIntake{&job.Worker{Alerts: f, Intake: fakeIntake{f}, Logger: slog.New(slog.DiscardHandler)}}).forgetAlerts(t.Context())
	const one = "those before 48h0m0s are deleted"
	if diff := cmp.Diff([]string{one, one}, f.did); diff != "" {
		t.Error(diff)
	}
}

// unreadMail has the letters that no agent has read.
type unreadMail struct {
	job.Mailbox
	by string
}

func (m unreadMail) Unread(context.Context, string) ([]transcript.Letter, error) {
	return []transcript.Letter{{By: m.by, Text: "more"}}, nil
}

// Alerts that were sent to agents that did not read them go to another investigation.
func TestUnreadNews(t *testing.T) {
	t.Parallel()
	f := &fakeAlerts{}
	for _, by := range []string{"ana", webhook.By("am", "")} {
		a := recorder{&job.Worker{Alerts: f, Mail: unreadMail{by: by}}}
		lines, err := a.undelivered(t.Context(), "i of "+by)
		if err != nil || len(lines) != 1 {
			t.Errorf("%q, %v", lines, err)
		}
	}
	if diff := cmp.Diff([]string{"i of webhook am did not read"}, f.did); diff != "" {
		t.Error(diff)
	}
}

// Only the end of an alert's investigation makes room for others.
func TestMakeRoom(t *testing.T) {
	t.Parallel()
	f := &fakeAlerts{}
	a := alertIntake{&job.Worker{Alerts: f, Intake: fakeIntake{f}, Logger: slog.New(slog.DiscardHandler)}}
	a.makeRoom(t.Context(), "of a person")
	a.makeRoom(t.Context(), "of an alert")
	(alertIntake{&job.Worker{}}).makeRoom(t.Context(), "of an alert")
	if diff := cmp.Diff([]string{"woken"}, f.did); diff != "" {
		t.Error(diff)
	}
}
