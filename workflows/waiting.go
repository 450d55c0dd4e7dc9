package workflows

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/reveal"
)

// teller reports a workflow's waits to its parent, one message at a time, so that
// the last message is the current one.
type teller struct {
	waiting func() Waiting
	version int                 // of the waits
	said    int                 // version that was sent last, or is being sent
	told    bool                // whether the last message contained anything
	many    bool                // whether it reports for several agents
	known   map[string]Approval // approvals that the parent knows, by name
}

// changed makes the teller send a message, unless this message and the last one are both empty.
func (t *teller) changed() { t.version++ }

// serve sends messages to the parent until ctx ends.
func (t *teller) serve(ctx workflow.Context, watch *watch, execution string) {
	parent := workflow.GetInfo(ctx).ParentWorkflowExecution
	if parent == nil {
		return
	}
	watch.whenever(ctx, func() bool { return t.version != t.said }, func(ctx workflow.Context) {
		if pause := betweenTellings(workflow.GetInfo(ctx).GetCurrentHistoryLength()); t.many && pause > 0 {
			_ = workflow.NewTimerWithOptions(ctx, pause, workflow.TimerOptions{Summary: "more to tell at once"}).Get(ctx, nil)
		}
		t.said = t.version
		now := t.waiting()
		something := !now.empty() || len(now.Ended)+len(now.Subs) > 0
		if !something && !t.told {
			return
		}
		t.told = something
		now.Execution = execution
		t.tell(ctx, parent.ID, now)
	})
}

// tell sends a message. For an approval that the parent knows, it sends only the name. Otherwise the arguments would fill
// both histories with every further approval or decision. After a replay it sends everything again, because after a reset
// the parent may have less or other data. Message content is not compared with the history, so it may depend on replays.
func (t *teller) tell(ctx workflow.Context, parent string, now Waiting) {
	told, known, size := slices.Clone(now.Approvals), map[string]Approval{}, 0
	for n, a := range now.Approvals {
		known[a.Name()] = a
		if before, ok := t.known[a.Name()]; ok && bytes.Equal(jsonOf(before), jsonOf(a)) {
			told[n] = Approval{Execution: a.Execution, CallID: a.CallID}
		}
		size += len(told[n].Arguments)
	}
	if size > maxArgumentsTold {
		told = record.Waits{Approvals: told}.Bare().Approvals
	}
	now.Approvals, t.known = told, nil
	if workflow.SignalExternalWorkflow(ctx, parent, "", SignalWaiting, now).Get(ctx, nil) == nil && !workflow.IsReplaying(ctx) {
		t.known = known
	}
}

// maxArgumentsTold bounds the arguments in one message, in bytes: Temporal takes 2 MB, in which they are escaped.
const maxArgumentsTold = 512 << 10

// after restores the full approvals of a child's waits: for those sent only by name, it takes the previously received ones.
func (w Waiting) after(before Waiting) Waiting {
	told := w.Approvals
	w.Approvals = nil
	for _, a := range told {
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

// settle waits until the latest message is sent. Call it before a run continues as new.
func (t *teller) settle(ctx workflow.Context) {
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

// hear passes the waits that children report to keep.
func hear(ctx workflow.Context, watch *watch, keep func(Waiting)) {
	options := workflow.SignalChannelOptions{Description: "Internal: a child says what it waits for."}
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
