package api

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdktemporal "go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/system"
)

// schedulesOf are the schedules of a Temporal that never starts anything.
type schedulesOf struct {
	sdk.ScheduleClient
	*temporal
}

func (f *temporal) ScheduleClient() sdk.ScheduleClient { return schedulesOf{temporal: f} }

func (s schedulesOf) Create(_ context.Context, o sdk.ScheduleOptions) (sdk.ScheduleHandle, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.schedules[o.ID] != nil {
		return nil, sdktemporal.ErrScheduleAlreadyRunning
	}
	action := *o.Action.(*sdk.ScheduleWorkflowAction)
	body, err := converter.GetDefaultDataConverter().ToPayload(action.Args[0])
	action.Args = []any{body}
	if s.schedules == nil {
		s.schedules = map[string]*sdk.ScheduleDescription{}
	}
	s.schedules[o.ID] = &sdk.ScheduleDescription{Schedule: sdk.Schedule{Action: &action, Spec: &o.Spec, State: &sdk.ScheduleState{}}}
	return scheduleOf{schedulesOf: s, id: o.ID}, err
}

func (s schedulesOf) GetHandle(_ context.Context, id string) sdk.ScheduleHandle {
	return scheduleOf{schedulesOf: s, id: id}
}

func (s schedulesOf) List(context.Context, sdk.ScheduleListOptions) (sdk.ScheduleListIterator, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &scheduleList{slices.Sorted(maps.Keys(s.schedules))}, nil
}

type scheduleList struct{ ids []string }

func (l *scheduleList) HasNext() bool { return len(l.ids) > 0 }

func (l *scheduleList) Next() (*sdk.ScheduleListEntry, error) {
	entry := sdk.ScheduleListEntry{ID: l.ids[0]}
	l.ids = l.ids[1:]
	return &entry, nil
}

type scheduleOf struct {
	sdk.ScheduleHandle
	schedulesOf
	id string
}

// change calls fn with the schedule.
func (s scheduleOf) change(fn func(d *sdk.ScheduleDescription)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.schedules[s.id]
	if d == nil {
		return serviceerror.NewNotFound("no such schedule")
	}
	fn(d)
	return nil
}

func (s scheduleOf) Describe(context.Context) (out *sdk.ScheduleDescription, err error) {
	return out, s.change(func(d *sdk.ScheduleDescription) { out = new(*d) })
}

func (s scheduleOf) Pause(_ context.Context, o sdk.SchedulePauseOptions) error {
	return s.change(func(d *sdk.ScheduleDescription) { d.Schedule.State = &sdk.ScheduleState{Paused: true, Note: o.Note} })
}

func (s scheduleOf) Unpause(_ context.Context, o sdk.ScheduleUnpauseOptions) error {
	return s.change(func(d *sdk.ScheduleDescription) { d.Schedule.State = &sdk.ScheduleState{Note: o.Note} })
}

func (s scheduleOf) Trigger(context.Context, sdk.ScheduleTriggerOptions) error {
	return s.change(func(d *sdk.ScheduleDescription) {
		d.Info.RunningWorkflows = []sdk.ScheduleWorkflowExecution{{WorkflowID: "nightly-2026"}}
	})
}

func (s scheduleOf) Delete(context.Context) error {
	return s.change(func(*sdk.ScheduleDescription) { delete(s.schedules, s.id) })
}

// A schedule belongs to a project. Its request is masked and checked before Temporal gets it.
func TestSchedules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const path = "/api/v1/schedules"
	body := system.ScheduleBody{
		StartBody: system.StartBody{Project: "payments", Chain: "shop", Data: []byte(`"is it well? password: hunter2hunter2"`)},
		Schedule:  agent.Schedule{Name: "nightly", Cron: []string{"0 8 * * *"}, Check: true},
	}
	if got := w.call("viewer", "POST", path, body); got.status != 403 {
		t.Errorf("a viewer: %d %s", got.status, got.body)
	}
	made := read[system.Schedule](w, "operator", "POST", path, body)
	if made.Project != "payments" || made.By != "operator" || !made.Check || made.Timezone != "" || made.Chain != "shop" {
		t.Errorf("made %+v", made)
	}
	for id, d := range w.temporal.schedules { // there is one
		action := d.Schedule.Action.(*sdk.ScheduleWorkflowAction)
		var req agent.Request
		if err := converter.GetDefaultDataConverter().FromPayload(action.Args[0].(*commonpb.Payload), &req); err != nil {
			t.Fatal(err)
		}
		secret := strings.Contains(string(req.Data), "hunter2")
		if id != "inquest-schedule-inquest/payments/nightly" || action.ID != "payments.nightly" || secret || !req.Again || req.Validate() != nil {
			t.Errorf("%s starts %s with %+v", id, action.ID, req)
		}
	}
	for what, change := range map[string]func(*system.ScheduleBody){
		"unknown chain": func(b *system.ScheduleBody) { b.Chain = "dog" }, "has a schedule nightly already": func(*system.ScheduleBody) {},
		"session of its own": func(b *system.ScheduleBody) { b.Session = "mine" }, "at most 65536": func(b *system.ScheduleBody) {
			b.Data = []byte(`"` + strings.Repeat("x", 70000) + `"`)
		},
		`either \"every\" or \"cron\"`: func(b *system.ScheduleBody) { b.Schedule.Every = "1h" },
	} {
		wrong := body
		change(&wrong)
		if got := w.call("operator", "POST", path, wrong); got.status != 422 || !strings.Contains(got.body, what) {
			t.Errorf("%s: %d %s", what, got.status, got.body)
		}
	}
	const one = path + "/nightly?project=payments"
	reason := map[string]string{"action": "pause", "reason": "too loud"}
	if s := read[system.Schedule](w, "operator", "POST", one, reason); !s.Paused || s.Note != "paused by operator: too loud" {
		t.Errorf("paused: %+v", s)
	}
	if s := read[system.Schedule](w, "operator", "POST", one, map[string]string{"action": "run"}); s.Running != "nightly-2026" {
		t.Errorf("run: %+v", s)
	}
	if got := w.call("operator", "POST", one, `{"action":"run"}`); got.status != 422 || !strings.Contains(got.body, "is running") {
		t.Errorf("run again: %d %s", got.status, got.body)
	}
	if all := read[system.Page[system.Schedule]](w, "viewer", "GET", path+"?project=payments", nil); len(all.Items) != 1 {
		t.Errorf("listed %+v", all)
	}
	if got := w.call("operator", "DELETE", path+"/nightly?project=search", nil); got.status == 200 {
		t.Errorf("in another project: %d %s", got.status, got.body)
	}
	read[system.Named](w, "operator", "DELETE", one, nil)
	if got := w.call("operator", "POST", one, `{"action":"pause"}`); got.status != 404 {
		t.Errorf("a deleted one: %d %s", got.status, got.body)
	}
}
