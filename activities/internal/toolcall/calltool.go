// Package toolcall makes the calls that agents ask for, and has people approve them.
package toolcall

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/remember"
)

// Run is the activity CallTool.
func Run(ctx context.Context, a *job.Worker, in job.CallToolIn) (job.CallToolOut, error) {
	ctx, stop := a.Attend(ctx)
	defer stop()
	key := fmt.Sprint(in.Ref.Execution, "/", in.Iteration, "/call ", in.Call)
	return job.MakeCall(ctx, a, key, func(ctx context.Context, known bool) (job.CallToolOut, error) {
		in.Begun = in.Begun && !known
		return callTool(ctx, a, in)
	})
}

func callTool(ctx context.Context, a *job.Worker, in job.CallToolIn) (job.CallToolOut, error) {
	j, err := a.Job(ctx, in.Ref)
	if err != nil {
		return job.CallToolOut{}, err
	}
	c := toolCall{Calls: Calls{j}, in: in, local: activity.GetInfo(ctx).IsLocalActivity}
	entry, err := c.run(ctx)
	if c.call.Queue == "" && !c.call.Own {
		c.Learn(ctx, c.call.Name, c.Agent.Tools.QuickUnder, c.timing)
	}
	if err != nil {
		return job.CallToolOut{}, job.StoreFailure(job.Ended(ctx, err))
	}
	out := job.CallToolOut{
		Status: entry.Status, ErrorType: entry.ErrorType, Fault: entry.Fault, Pause: pauseOf(entry), Approve: c.reapproval, Seen: entry.Mark(),
	}
	if len(out.Details) > maxFailureDetails {
		out.Details = nil
	}
	return out, nil
}

// pauseOf returns for how long a result pauses the agent's heartbeats. A shared result did so in the other investigation.
func pauseOf(e transcript.Entry) int {
	if e.Shared > 0 {
		return 0
	}
	return e.Pause
}

// maxFailureDetails is the maximum size of the failure details returned to a workflow, in bytes.
const maxFailureDetails = 1024

// toolCall is one call of a reply.
type toolCall struct {
	Calls
	in   job.CallToolIn
	call transcript.Call
	// reply is the reply that asks for the call.
	reply transcript.Entry
	state callState
	// local reports that the call is made within the workflow task. It is a fact about the attempt, not about the call.
	local bool
	// intent is the intent row to write with the result, or nil.
	intent *transcript.Row
	// unrecorded is the decision to record with the result, because no intent row records it.
	unrecorded *job.Decision
	// claim must be made directly before the request goes out; nil means no claim is needed.
	claim *claim
	// sends is how many requests may have reached the tool's server; 0 also for tools without a server.
	sends int
	// timing is how long the tool took, if that counts; elapsed also covers the time to open a session.
	timing  job.Timing
	elapsed time.Duration
	// rule is the rule that allows the call, or nil. outdated reports that a rule allowed the call with the tool's earlier
	// definition. byRule reports that, according to the intent, a rule allowed the call, whether or not it is still in force.
	// Both are about the rule: each can be true in every state.
	rule             *remember.Rule
	outdated, byRule bool
	// judged is the policy's decision.
	judged tool.Decision
	// isRecorded means that a recording answers the call, which is not made.
	isRecorded bool
	// reapproval is set if the call has changed since it was approved: it needs a new decision.
	reapproval *job.Approve
}

// run makes the call, or ends without making it. The first row that applies decides:
//
//	situation                                      | outcome
//	the journal has the result                     | that result
//	another attempt may still be making the call   | left to a regular attempt, or tried again later
//	a recording answers it, the policy allows it   | the recorded result, or that there is none
//	in a workflow task, the tool is not safe       | left to a regular attempt
//	in a workflow task, a person or rule allows it | left to a regular attempt
//	the policy refuses it, or an earlier attempt   | our text as the result
//	  has begun it and it must not run twice       |
//	it has changed since it was allowed            | an approval request
//	it is a call of a memory tool                  | its result, in one transaction with its effect
//	otherwise                                      | the tool's result, masked
func (c *toolCall) run(ctx context.Context) (transcript.Entry, error) {
	known, err := c.Transcripts.LookupCall(ctx, c.Ref.Scope(), c.in.Iteration, c.in.Call, c.Writer)
	if err != nil {
		return transcript.Entry{}, err
	}
	if len(known.Step) > 0 {
		return known.Step[0], nil
	}
	if err := c.RequireSeen(ctx, known.Log); err != nil {
		return transcript.Entry{}, err
	}
	if err := c.read(ctx, known.Log); err != nil {
		return transcript.Entry{}, err
	}
	if err := c.RequireShared(c.in.Iteration, false); err != nil {
		return transcript.Entry{}, err
	}
	if err := c.left(ctx, known.Log); err != nil {
		return transcript.Entry{}, err
	}
	if c.state == notBegun && !c.local && (c.in.Intended || job.IntendedBefore(ctx)) {
		c.state = lost
	}
	if c.state == notBegun && c.reply.At.Before(c.Held) {
		c.state = restored
	}
	decision, refusal, err := c.decide(ctx, known.Catalogues)
	gated := decision.NeedsApproval || decision.Rule != nil
	if err == nil && refusal == nil && gated && !c.local {
		decision, refusal, err = c.confirm(ctx, decision)
	}
	if refusal != nil && c.state.begunEarlier() && c.once(decision) {
		refusal = c.interrupted()
	}
	switch {
	case err != nil:
		return transcript.Entry{}, err
	case c.isRecorded && refusal == nil:
		return c.replay(ctx)
	case c.local && refusal == nil && !decision.Spec.Own && decision.Spec.Class() != tool.Safe: // earlier builds planned such calls as quick
		return transcript.Entry{}, job.NotQuick(job.ErrorNotQuick, "a call that may change something needs its own activity")
	case c.local && gated:
		return transcript.Entry{}, job.NotQuick(job.ErrorNotQuick, "the server of an approved call must first confirm the tool's definition")
	case refusal != nil:
		c.refuse()
		return c.write(ctx, refusal.Result())
	case c.reapproval != nil:
		return transcript.Entry{}, c.recordStale(ctx)
	case memory.IsTool(decision.Spec.Name):
		entries, err := c.remember(ctx, []*toolCall{c})
		if err != nil {
			return transcript.Entry{}, err
		}
		return entries[0], nil
	}
	return c.make(ctx, decision)
}

// make makes the call and writes its result, masked.
func (c *toolCall) make(ctx context.Context, decision tool.Decision) (entry transcript.Entry, err error) {
	result, err := c.result(ctx, decision)
	if err != nil {
		return entry, err
	}
	err = c.Keep(ctx, func(ctx context.Context) error {
		masked, err := c.Masked(ctx, decision.Spec.Name, result)
		if err == nil {
			entry, err = c.write(ctx, masked)
		}
		return err
	})
	return entry, err
}

// read finds the call and whether an earlier attempt has begun it. For a call that must not run twice, an intent from a
// run that Temporal has since reset also counts.
func (c *toolCall) read(ctx context.Context, entries []transcript.Entry) (err error) {
	for _, e := range entries {
		switch e.Kind {
		case transcript.KindReply:
			c.reply = e
		case transcript.KindCall:
			c.state, c.byRule = begun, e.Rule != ""
		}
	}
	if c.call, err = c.NthCall(c.reply, c.in.Iteration, c.in.Call); err == nil {
		err = c.edited(ctx)
	}
	if err != nil || c.state == begun || c.call.Class != string(tool.NonIdempotent) {
		return err
	}
	before, err := c.Transcripts.Begun(ctx, c.Ref.Scope(), transcript.CallKey(c.in.Iteration, c.in.Call), c.reply.Seq)
	if before {
		c.state = begunBeforeReset
	}
	return err
}

// left returns the error for an attempt that finds the call begun and must not yet decide its outcome; nil means that no
// attempt has begun the call, or that it was interrupted. A local attempt hands over to a regular one. A regular attempt
// waits for the result for a while if the call may still be running on another worker.
func (c *toolCall) left(ctx context.Context, log []transcript.Entry) error {
	if !c.state.begunEarlier() {
		return nil
	}
	if c.local {
		return job.NotQuick(job.ErrorReplaced, "another attempt has started the call")
	}
	n := slices.IndexFunc(log, func(e transcript.Entry) bool { return e.Kind == transcript.KindCall })
	if n < 0 || !c.in.Begun || c.Now(ctx).Sub(log[n].At) > cmp.Or(c.Abandoned, job.Abandoned) {
		return nil
	}
	return job.UnderWayElsewhere()
}

// result makes the call, unless it may already have been made, and returns its outcome.
func (c *toolCall) result(ctx context.Context, decision tool.Decision) (tool.Result, error) {
	spec := decision.Spec
	earlier := c.state.begunEarlier()
	if earlier && spec.Class() == tool.NonIdempotent {
		return tool.OutcomeUnknown(spec.Name, c.interruption()), nil
	}
	if c.local && !c.ready(spec.Name) {
		return tool.Result{}, job.NotQuick(job.ErrorNotQuick, "this worker has no session with the server yet")
	}
	wait, err := c.reserve(ctx, decision)
	if err != nil {
		return tool.Result{}, err
	}
	if wait > 0 {
		wait = wait.Round(time.Second) + time.Second
		limited := tool.Failure(tool.ErrorRateLimited, fmt.Sprintf(
			"Rate limit: this agent's calls to tool %s are limited to %d per minute. Try again later; retry_after: %s.",
			spec.Name, decision.RatePerMinute, wait))
		limited.RetryAfter = wait.Seconds()
		return limited, nil
	}
	if earlier || spec.Own { // the tool writes to our own store, which is its journal
		return c.execute(ctx, decision)
	}
	return c.intended(ctx, decision)
}

// intended makes the call. For a call that must not run twice, it writes the intent directly before the request goes
// out, so the call can be retried if its server cannot be reached. For other calls, it writes the intent only if the
// call takes a while, for live views. Within a workflow task, the intent also tells the next attempt that the call has
// begun and may have crashed its worker. A Go tool can crash it immediately, so its intent is written first.
func (c *toolCall) intended(ctx context.Context, decision tool.Decision) (tool.Result, error) {
	server, _ := tool.Split(decision.Spec.Name)
	if decision.Spec.Class() == tool.NonIdempotent || c.local && server == "" {
		c.claim = &claim{call: c}
		return c.execute(ctx, decision)
	}
	intent := c.intends(ctx, c.in.Decision)
	c.state = intended
	written, soon := make(chan error, 1), job.ShowAfter
	if c.local {
		soon = job.ShowAfterInTask
	}
	late := time.AfterFunc(soon, func() {
		_, err := c.append(ctx, intent)
		written <- err
	})
	result, err := c.execute(ctx, decision)
	if late.Stop() || <-written != nil {
		c.intent = &intent // written with the result
	}
	return result, err
}

// intends returns the call's intent row.
func (c *toolCall) intends(ctx context.Context, d *job.Decision) transcript.Row {
	return transcript.Row{
		Key: transcript.CallKey(c.in.Iteration, c.in.Call), Kind: transcript.KindCall, At: c.Now(ctx),
		Body: transcript.Body{Call: &c.call, Result: c.decided(d)},
		Acts: c.decidedActs(ctx, d),
	}
}

// decided returns who or what approved the call, for the journal.
func (c *toolCall) decided(d *job.Decision) transcript.Result {
	if c.rule != nil {
		return transcript.Result{Decision: c.rule.Said(), Rule: c.rule.ID}
	}
	return transcript.Result{Decision: d.Said(), Digest: d.GivenDigest()}
}

func (c *toolCall) append(ctx context.Context, row transcript.Row) ([]transcript.Entry, error) {
	return c.Transcripts.Append(ctx, c.Step(row))
}
