package workflows

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// waitReporter reports a workflow's waits to its parent, one message at a time, so that
// the last message is the current one.
type waitReporter struct {
	waiting  func() Waiting
	version  int                 // of the waits
	said     int                 // version that was sent last, or is being sent
	nonEmpty bool                // whether the last message contained anything
	many     bool                // whether it reports for several agents
	known    map[string]Approval // approvals that the parent knows, by name
}

// changed makes the reporter send a message, unless this message and the last one are both empty.
func (t *waitReporter) changed() { t.version++ }

// serve sends messages to the parent until ctx ends.
func (t *waitReporter) serve(ctx workflow.Context, watch *watch, execution string) {
	parent := workflow.GetInfo(ctx).ParentWorkflowExecution
	if parent == nil {
		return
	}
	watch.whenever(ctx, func() bool { return t.version != t.said }, func(ctx workflow.Context) {
		if pause := reportInterval(workflow.GetInfo(ctx).GetCurrentHistoryLength()); t.many && pause > 0 {
			_ = workflow.NewTimerWithOptions(ctx, pause, workflow.TimerOptions{Summary: "batch of further changes"}).Get(ctx, nil)
		}
		t.said = t.version
		now := t.waiting()
		something := !now.empty() || len(now.Ended)+len(now.Subs) > 0
		if !something && !t.nonEmpty {
			return
		}
		t.nonEmpty = something
		now.Execution = execution
		t.send(ctx, parent.ID, now)
	})
}

// send sends a message. For an approval that the parent knows, it sends only the name. Otherwise the arguments would fill
// both histories with every further approval or decision. After a replay it sends everything again, because after a reset
// the parent may have less or other data. Temporal does not compare a message's content with the history, so it may depend
// on replays.
func (t *waitReporter) send(ctx workflow.Context, parent string, now Waiting) {
	toSend, known, size := slices.Clone(now.Approvals), map[string]Approval{}, 0
	for n, a := range now.Approvals {
		known[a.Name()] = a
		if before, ok := t.known[a.Name()]; ok && bytes.Equal(jsonOf(before), jsonOf(a)) {
			toSend[n] = Approval{Execution: a.Execution, CallID: a.CallID}
		}
		size += len(toSend[n].Arguments)
	}
	if size > maxWaitArguments {
		toSend = record.Waits{Approvals: toSend}.Bare().Approvals
	}
	now.Approvals, t.known = toSend, nil
	if workflow.SignalExternalWorkflow(ctx, parent, "", SignalWaiting, now).Get(ctx, nil) == nil && !workflow.IsReplaying(ctx) {
		t.known = known
	}
}

// maxWaitArguments bounds the arguments in one message, in bytes: Temporal takes 2 MB, in which they are escaped.
const maxWaitArguments = 512 << 10

// after restores the full approvals of a child's waits: for those sent only by name, it takes the previously received ones.
func (w Waiting) after(before Waiting) Waiting {
	sent := w.Approvals
	w.Approvals = nil
	for _, a := range sent {
		if a.WorkflowID == "" { // only its name
			n := slices.IndexFunc(before.Approvals, func(b Approval) bool { return b.Name() == a.Name() })
			if n < 0 {
				continue
			}
			a = before.Approvals[n]
		}
		w.Approvals = append(w.Approvals, a)
	}
	return w
}

// awaitSent waits until the latest message is sent. Call it before a run continues as new.
func (t *waitReporter) awaitSent(ctx workflow.Context) {
	if workflow.GetInfo(ctx).ParentWorkflowExecution != nil {
		_ = workflow.Await(ctx, func() bool { return t.said == t.version })
	}
}

// empty reports whether nothing is waited for, so that clocks run.
func (w Waiting) empty() bool {
	return len(w.Approvals)+len(w.Outages)+len(w.Asleep)+len(w.Limits) == 0
}

// ended returns how an agent ended, and whether it has ended.
func (w Waiting) ended(name string) (AgentSummary, bool) {
	n := slices.IndexFunc(w.Ended, func(a AgentSummary) bool { return a.Name == name })
	if n < 0 {
		return AgentSummary{}, false
	}
	return w.Ended[n], true
}

// and combines the waits of two children. If many agents wait for one provider, they become
// one outage (Outage.And), so that each agent's retries cause no new message.
func (w Waiting) and(other Waiting) Waiting {
	w.Approvals = slices.Concat(w.Approvals, other.Approvals)
	w.Asleep = slices.Concat(w.Asleep, other.Asleep)
	w.Subs = slices.Concat(w.Subs, other.Subs)
	w.Limits = slices.Concat(w.Limits, other.Limits)
	w.Outages = slices.Clone(w.Outages)
	for _, o := range other.Outages {
		n := slices.IndexFunc(w.Outages, o.Same)
		if n < 0 {
			w.Outages = append(w.Outages, o)
			continue
		}
		w.Outages[n] = w.Outages[n].And(o)
	}
	return w
}

// receiveWaits passes the waits that children report to keep.
func receiveWaits(ctx workflow.Context, watch *watch, keep func(Waiting)) {
	options := workflow.SignalChannelOptions{Description: "Internal: a child reports what it is waiting for."}
	channel := workflow.GetSignalChannelWithOptions(ctx, SignalWaiting, options)
	watch.whenever(ctx, func() bool { return channel.Len() > 0 }, func(workflow.Context) {
		for w := (Waiting{}); channel.ReceiveAsync(&w); w = (Waiting{}) {
			keep(w)
		}
	})
}

// approvalList lists in Markdown which calls wait for approval, and how to decide them.
func approvalList(waiting []Approval) string {
	var b strings.Builder
	for _, a := range waiting {
		b.WriteString(fmt.Sprintf("\n**approve?** %s%s %s%s · digest `%s` · risk %s · %s · update `%s` of workflow `%s`, call_id `%s`\n",
			a.HiddenNote(), verbatim(reveal.Name(a.Tool), 300), verbatim(a.Arguments, maxArgumentsNoted), more(a), a.Digest, a.Risk,
			reveal.Text(a.Deadline("at "+a.Expires.UTC().Format(time.RFC3339))), UpdateDecide, a.WorkflowID, a.CallID))
		for _, fact := range slices.Concat(a.Why(), a.Facts()) {
			b.WriteString(fmt.Sprintf("\n- %s\n", verbatim(reveal.Text(fact), maxFactNoted)))
		}
	}
	return b.String()
}

// maxArgumentsNoted limits a call's arguments in the details of a workflow, in bytes:
// Temporal accepts 20 KB, and several calls may wait.
const maxArgumentsNoted = 2000

// maxFactNoted limits each fact below a call there, in bytes.
const maxFactNoted = 500

// more returns a note that arguments were cut. An empty string means that they are complete.
func more(a Approval) string {
	if a.Bytes() > min(maxArgumentsNoted, len(a.Arguments)) {
		return fmt.Sprintf(" (the beginning of %d bytes; `starter approvals` shows all)", a.Bytes())
	}
	return ""
}

// outageList lists in Markdown the providers and tool servers that agents wait for.
func outageList(outages []Outage) string {
	var b strings.Builder
	for _, o := range outages {
		what := "provider trouble"
		if o.Server != "" {
			what = "waiting for a tool server"
		}
		b.WriteString(fmt.Sprintf("\n**%s** · %s · %s\n", what, o.Agent, verbatim(o.String(), 500)))
	}
	return b.String()
}

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

// current returns the final status or, while the investigation runs, its most urgent wait.
func (v *statusView) current() agent.Status {
	if v.run.result.Status.Closed() {
		return v.run.result.Status
	}
	return mostUrgent(v.run.waiting(), len(v.run.questions.open()), v.run.state.Steering.Paused)
}

// waits returns the people and providers that the investigation waits for.
func (v *statusView) waits() record.Waits {
	w := v.run.waiting()
	return record.Waits{Approvals: w.Approvals, Questions: v.run.questions.open(), Outages: w.Outages}
}

// recordStatus keeps the status in lists up to date: in Temporal's by a search attribute, in ours
// by the record and the rows of waiting items. Only this workflow has the status: questions and
// pauses are stored nowhere else, and in a transcript a call that waits for approval looks like
// one that was denied or waits for its worker. Each change costs the marker of a local activity,
// and a change of the status an upsert.
func (v *statusView) recordStatus(ctx workflow.Context) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	unrecorded := func() bool {
		known := v.current() == cmp.Or(v.run.state.Told, agent.StatusRunning) && // as recorded by Resolve
			v.waits().Key() == v.run.state.Waits && len(v.run.acts()) == 0
		return !v.run.result.Status.Closed() && !known
	}
	v.run.watch.whenever(ctx, unrecorded, func(ctx workflow.Context) {
		v.run.afterReset(ctx) // otherwise the record would stay closed while the investigation waits
		v.show(ctx)
		run := v.run.family.run
		acts := v.run.acts()
		in := activities.SaveStatusIn{
			Investigation: v.run.id, Status: v.current(), Waits: v.waits(), Plan: v.run.state.Resolved.Plan, Acts: acts,
		}
		if v.run.state.write(ctx, in) {
			v.run.state.Acts = v.run.state.Acts[len(acts):]
		}
		if currentRun(ctx) != run {
			v.run.state.Waits = inDoubt
		}
	})
}

// recordedStatus is the last status and waits that the store accepted from a workflow.
type recordedStatus struct {
	Told     agent.Status `json:"told,omitempty"`
	Waits    string       `json:"waits,omitempty"` // the Key of the waits
	Tellings int          `json:"tellings,omitempty"`

	mute bool // the write failed and is retried after a while
}

// maxActsPerWrite bounds the acts of one write: each may have a text of some KB.
const maxActsPerWrite = 4

// acts returns the next acts to write to the store.
func (r *investigationRun) acts() []audit.Act {
	if r.state.Resolved.Level < activities.LevelActs {
		return nil
	}
	return r.state.Acts[:min(len(r.state.Acts), maxActsPerWrite)]
}

// act queues an entry of the audit trail about a person's action.
func (r *investigationRun) act(ctx workflow.Context, act audit.Act) {
	r.state.Acted++
	act.Investigation, act.At, act.Key = r.id, workflow.Now(ctx), strconv.Itoa(r.state.Acted)
	r.state.Acts = append(r.state.Acts, act)
}

// write writes the status and waits to the store, and reports whether it succeeded.
func (t *recordedStatus) write(ctx workflow.Context, in activities.SaveStatusIn) bool {
	t.Tellings++
	in.Seq, t.Waits = t.Tellings, inDoubt
	if saveStatus(ctx, in) == nil {
		t.Told, t.Waits = in.Status, in.Waits.Key()
		return true
	}
	t.Waits, t.mute = inDoubt, true // afterReset may have cleared it during the write
	_ = workflow.Sleep(ctx, rewriteAfter)
	t.mute = false
	return false
}

// inDoubt replaces the Key of the stored waits during a write and after a failed one. No set of
// waits has this Key, so the write is repeated, if necessary by the next run.
const inDoubt = "?"

// saveStatus waits for an unavailable store, like every step that records something. If the waits
// change in the meantime, the change is recorded next.
func saveStatus(ctx workflow.Context, in activities.SaveStatusIn) error {
	const summary = "pending items"
	write := step{activity: act.SaveStatus, in: in, inHistory: inHistory(in), summary: summary, within: storeWithin}
	err := write.run(storeOptions(ctx, summary), nil)
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
