package workflows

import (
	"cmp"
	"slices"
	"strconv"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/audit"
	"github.com/inquest-dev/inquest/internal/record"
)

// mostUrgent returns the status of running work: the most urgent thing that it waits for.
// Tasks for people come first, and among them those that expire; waits that end without
// a person come last. One waiting agent is enough, whatever the others do.
func mostUrgent(w Waiting, questions int, paused bool) agent.Status {
	for _, row := range []struct {
		waits  bool
		status agent.Status
	}{
		{len(w.Approvals) > 0, agent.StatusWaitingApproval},
		{questions+len(w.Limits) > 0, agent.StatusWaitingAnswer},
		{paused, agent.StatusPaused},
		{len(w.Outages) > 0, agent.StatusWaitingProvider},
		{len(w.Asleep) > 0, agent.StatusAsleep},
	} {
		if row.waits {
			return row.status
		}
	}
	return agent.StatusRunning
}

// of returns the waits of one agent.
func (w Waiting) of(name string) (out Waiting) {
	for _, a := range w.Approvals {
		if a.Agent == name {
			out.Approvals = append(out.Approvals, a)
		}
	}
	for _, o := range w.Outages {
		if o.Agent == name || slices.Contains(o.Others, executionName(w.Execution, name)) {
			out.Outages = append(out.Outages, o)
		}
	}
	for _, a := range w.Asleep {
		if a.Agent == name {
			out.Asleep = append(out.Asleep, a)
		}
	}
	for _, l := range w.Limits {
		if l.Agent == name {
			out.Limits = append(out.Limits, l)
		}
	}
	return out
}

// status returns the final status or, while the investigation runs, its most urgent wait.
func (r *investigationRun) status() agent.Status {
	if r.result.Status.Closed() {
		return r.result.Status
	}
	return mostUrgent(r.waiting(), len(r.questions()), r.state.Steering.Paused)
}

// waits returns the people and providers that the investigation waits for.
func (r *investigationRun) waits() record.Waits {
	w := r.waiting()
	return record.Waits{Approvals: w.Approvals, Questions: r.questions(), Outages: w.Outages}
}

// tellStatus keeps the status in lists up to date: in Temporal's by a search attribute, in ours
// by the record and the rows of waiting items. Only this workflow has the status: questions and
// pauses are stored nowhere else, and in a transcript a call that waits for approval looks like
// one that was denied or waits for its worker. Each change costs the marker of a local activity,
// and a change of the status an upsert.
func (r *investigationRun) tellStatus(ctx workflow.Context) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	untold := func() bool {
		known := r.status() == cmp.Or(r.state.Told, agent.StatusRunning) && // as recorded by Resolve
			r.waits().Key() == r.state.Waits && len(r.acts()) == 0
		return !r.result.Status.Closed() && !known
	}
	r.watch.whenever(ctx, untold, func(ctx workflow.Context) {
		r.afterReset(ctx) // otherwise the record would stay closed while the investigation waits
		r.show(ctx)
		run := r.family.run
		acts := r.acts()
		in := activities.SaveStatusIn{
			Investigation: r.id, Status: r.status(), Waits: r.waits(), Plan: r.state.Resolved.Plan, Acts: acts,
		}
		if r.state.tell(ctx, in) {
			r.state.Acts = r.state.Acts[len(acts):]
		}
		if currentRun(ctx) != run {
			r.state.Waits = inDoubt
		}
	})
}

// told is the last status and waits that the store accepted from a workflow.
type told struct {
	Told     agent.Status `json:"told,omitempty"`
	Waits    string       `json:"waits,omitempty"` // the Key of the waits
	Tellings int          `json:"tellings,omitempty"`

	mute bool // the write failed and is retried after a while
}

// maxActsTold bounds the acts of one write: each may have a text of some KB.
const maxActsTold = 4

// acts returns the next acts to write to the store.
func (r *investigationRun) acts() []audit.Act {
	if r.state.Resolved.Level < activities.LevelActs {
		return nil
	}
	return r.state.Acts[:min(len(r.state.Acts), maxActsTold)]
}

// act queues an entry of the audit trail about a person's action.
func (r *investigationRun) act(ctx workflow.Context, act audit.Act) {
	r.state.Acted++
	act.Investigation, act.At, act.Key = r.id, workflow.Now(ctx), strconv.Itoa(r.state.Acted)
	r.state.Acts = append(r.state.Acts, act)
}

// tell writes the status and waits to the store, and reports whether it succeeded.
func (t *told) tell(ctx workflow.Context, in activities.SaveStatusIn) bool {
	t.Tellings++
	in.Seq, t.Waits = t.Tellings, inDoubt
	if saveStatus(ctx, in) == nil {
		t.Told, t.Waits = in.Status, in.Waits.Key()
		return true
	}
	t.Waits, t.mute = inDoubt, true // a reset meanwhile may have set it
	_ = workflow.Sleep(ctx, tellAgain)
	t.mute = false
	return false
}

// inDoubt replaces the Key of the stored waits during a write and after a failed one. No set of
// waits has this Key, so the write is repeated, if necessary by the next run.
const inDoubt = "?"

// saveStatus waits for an unavailable store, like every step that records something. If the waits
// change in the meantime, the change is recorded next.
func saveStatus(ctx workflow.Context, in activities.SaveStatusIn) error {
	const summary = "what is waited for"
	telling := step{activity: act.SaveStatus, in: in, inHistory: inHistory(in), summary: summary, within: storeWithin}
	err := telling.run(storeOptions(ctx, summary), nil)
	if err != nil {
		workflow.GetLogger(ctx).Warn("status not recorded", "status", in.Status, "error", err)
	}
	return err
}

// inHistory returns the version of a status that fits into an activity's arguments, which the history
// stores. It drops the arguments and data of the waiting items if the whole is too large, and
// all waiting items if that is not enough.
func inHistory(in activities.SaveStatusIn) activities.SaveStatusIn {
	if !tooLarge(in) {
		return in
	}
	if in.Waits = in.Waits.Bare(); tooLarge(in) {
		in.Waits = record.Waits{}
	}
	return in
}

func tooLarge(in activities.SaveStatusIn) bool { return jsonSize([]any{in}) > MaxArguments }
