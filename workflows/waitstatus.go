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

// mostUrgent is the status of what is under way: the most urgent thing that it waits for.
// What a person has to do comes first, and of that what expires; what ends by itself comes
// last. One agent that waits is enough, whatever the others do.
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

// of is what one agent of those that wait waits for.
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

// status is how the investigation ended, or what it waits for now.
func (r *investigationRun) status() agent.Status {
	if r.result.Status.Closed() {
		return r.result.Status
	}
	return mostUrgent(r.waiting(), len(r.questions()), r.state.Steering.Paused)
}

// waits are the people and providers that the investigation waits for.
func (r *investigationRun) waits() record.Waits {
	w := r.waiting()
	return record.Waits{Approvals: w.Approvals, Questions: r.questions(), Outages: w.Outages}
}

// tellStatus keeps what the investigation waits for up to date in lists: in Temporal's by a
// search attribute, in ours by the record and what waits. Only this workflow knows it:
// questions and pauses are nowhere else, and in a transcript a call that waits for a person
// looks like one that was denied or waits for its worker. A change costs the marker of a local
// activity, and a change of the status an upsert.
func (r *investigationRun) tellStatus(ctx workflow.Context) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	untold := func() bool {
		known := r.status() == cmp.Or(r.state.Told, agent.StatusRunning) && // as Resolve has recorded it
			r.waits().Key() == r.state.Waits && len(r.acts()) == 0
		return !r.result.Status.Closed() && !known
	}
	r.watch.whenever(ctx, untold, func(ctx workflow.Context) {
		r.afterReset(ctx) // or the record would say that it has ended, whatever it waits for
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

// told is what the store was told a workflow waits for.
type told struct {
	Told     agent.Status `json:"told,omitempty"`
	Waits    string       `json:"waits,omitempty"` // their Key
	Tellings int          `json:"tellings,omitempty"`

	mute bool // the store could not be told, and is told again after a while
}

// maxActsTold bounds the acts that are told together: each may have a text of some KB.
const maxActsTold = 4

// acts are the next ones to tell.
func (r *investigationRun) acts() []audit.Act {
	if r.state.Resolved.Level < activities.LevelActs {
		return nil
	}
	return r.state.Acts[:min(len(r.state.Acts), maxActsTold)]
}

// act has the audit trail told what somebody has done.
func (r *investigationRun) act(ctx workflow.Context, act audit.Act) {
	r.state.Acted++
	act.Investigation, act.At, act.Key = r.id, workflow.Now(ctx), strconv.Itoa(r.state.Acted)
	r.state.Acts = append(r.state.Acts, act)
}

// tell has the store say what is waited for, and reports whether it could.
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

// inDoubt stands for the Key of what the store was told while it is being told, and after it
// could not be: nothing that is waited for has this Key, so the store is told again. That
// goes for the next run, too.
const inDoubt = "?"

// saveStatus waits for a store that is away, like everything that is recorded. If something
// else is waited for by then, that is recorded next.
func saveStatus(ctx workflow.Context, in activities.SaveStatusIn) error {
	const summary = "what is waited for"
	telling := step{activity: act.SaveStatus, in: in, inHistory: inHistory(in), summary: summary, within: storeWithin}
	err := telling.run(storeOptions(ctx, summary), nil)
	if err != nil {
		workflow.GetLogger(ctx).Warn("status not recorded", "status", in.Status, "error", err)
	}
	return err
}

// inHistory is what a status may say in an activity's arguments, which the history holds: what
// waits without its arguments and data if all of it is too large, and nothing of what waits
// if even that is.
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
