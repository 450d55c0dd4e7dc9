package activities

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/internal/memory"
	"github.com/inquest-dev/inquest/internal/ratelimit"
	"github.com/inquest-dev/inquest/internal/remember"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// CallTool runs one call that a reply asked for and appends its result. Whatever goes wrong with the call becomes a
// result for the model. An intent row is written before the call, so a call that is not idempotent is never made twice
// (design: rule 2). As a local activity, CallTool makes only quick calls and leaves anything slow to a regular activity.
func (a *Activities) CallTool(ctx context.Context, in CallToolIn) (CallToolOut, error) {
	ctx, stop := a.attend(ctx)
	defer stop()
	key := fmt.Sprint(in.Ref.Execution, "/", in.Iteration, "/call ", in.Call)
	return makeCall(ctx, a, key, func(ctx context.Context, known bool) (CallToolOut, error) {
		in.Begun = in.Begun && !known
		return a.callTool(ctx, in)
	})
}

func (a *Activities) callTool(ctx context.Context, in CallToolIn) (CallToolOut, error) {
	j, err := a.job(ctx, in.Ref)
	if err != nil {
		return CallToolOut{}, err
	}
	c := toolCall{job: j, in: in, local: activity.GetInfo(ctx).IsLocalActivity}
	entry, err := c.run(ctx)
	if c.took > 0 && c.call.Queue == "" && !c.call.Own {
		c.learn(ctx, c.call.Name, c.agent.Tools.QuickUnder, c.took, c.answered)
	}
	if err != nil {
		return CallToolOut{}, storeFailure(ended(ctx, err))
	}
	out := CallToolOut{
		Status: entry.Status, ErrorType: entry.ErrorType, Fault: entry.Fault, Pause: entry.Pause, Approve: c.anew, Seen: entry.Mark(),
	}
	if len(out.Details) > maxToldDetails {
		out.Details = nil
	}
	return out, nil
}

// maxToldDetails is the maximum size of the failure details returned to a workflow, in bytes.
const maxToldDetails = 1024

// toolCall is one call of a reply.
type toolCall struct {
	*job
	in   CallToolIn
	call transcript.Call
	// reply is the reply that asks for the call.
	reply transcript.Entry
	// local reports that the call is made within the workflow task.
	local bool
	// intent is the intent row to write with the result, or nil. began reports that an intent is written or goes with the
	// result.
	intent *transcript.Row
	began  bool
	// lost reports that Temporal knows an intent was written but the store has none.
	lost bool
	// untold is the decision to record with the result, because no intent row records it.
	untold *Decision
	// claim must be made directly before the request goes out; nil means no claim is needed.
	claim *claim
	// sends is how many requests may have reached the tool's server; 0 also for tools without a server.
	sends int
	// took is how long the tool took; zero means unknown. answered reports that the tool replied, so that even a short time
	// counts.
	took     time.Duration
	answered bool
	// rule is the rule that allows the call, or nil. noRules is the error of reading the rules. ruled reports that a rule
	// allowed the call with the tool's earlier definition.
	rule    *remember.Rule
	noRules error
	ruled   bool
	// byRule reports that, according to its intent, a rule allowed the call, whether or not that rule is still in force.
	byRule bool
	// judged is the policy's decision.
	judged tool.Decision
	// refused reports that the call is not made and that its result is our text.
	refused bool
	// anew is set if the call has changed since it was approved: it needs a new decision.
	anew *Approve
}

func (c *toolCall) run(ctx context.Context) (transcript.Entry, error) {
	known, err := c.Transcripts.LookupCall(ctx, c.ref.scope(), c.in.Iteration, c.in.Call, c.writer)
	if err != nil {
		return transcript.Entry{}, err
	}
	if len(known.Step) > 0 {
		return known.Step[0], nil
	}
	if err := c.requireSeen(ctx, known.Log); err != nil {
		return transcript.Entry{}, err
	}
	begun, err := c.read(ctx, known.Log)
	if err == nil && begun {
		err = c.left(ctx, known.Log)
	}
	if !begun && !c.local && (c.in.Intended || intendedBefore(ctx)) {
		begun, c.lost = true, true
	}
	if err != nil {
		return transcript.Entry{}, err
	}
	decision, refusal, err := c.decide(ctx, known.Catalogues)
	gated := decision.NeedsApproval || decision.Rule != nil
	if err == nil && refusal == nil && gated && !c.local {
		decision, refusal, err = c.confirm(ctx, decision, begun)
	}
	if refusal != nil && begun && c.once(decision) {
		refusal = c.interrupted()
	}
	switch {
	case err != nil:
		return transcript.Entry{}, err
	case c.local && refusal == nil && !decision.Spec.Own && decision.Spec.Class() != tool.Safe: // earlier builds planned such calls as quick
		return transcript.Entry{}, notQuick(ErrorNotQuick, "a call that may change something is an activity of its own")
	case c.local && gated:
		return transcript.Entry{}, notQuick(ErrorNotQuick, "the call takes a person's word or a rule, and its server is asked first")
	case refusal != nil:
		c.refused = true
		return c.write(ctx, refusal.Result())
	case c.anew != nil:
		return transcript.Entry{}, c.tellAnew(ctx)
	case memory.IsTool(decision.Spec.Name):
		entries, err := c.remember(ctx, []*toolCall{c})
		if err != nil {
			return transcript.Entry{}, err
		}
		return entries[0], nil
	}
	result, err := c.result(ctx, decision, begun)
	if err != nil {
		return transcript.Entry{}, err
	}
	var entry transcript.Entry
	err = c.keep(ctx, func(ctx context.Context) error {
		masked, err := c.masked(ctx, decision.Spec.Name, result)
		if err == nil {
			entry, err = c.write(ctx, masked)
		}
		return err
	})
	return entry, err
}

// read finds the call and reports whether it has begun, which means its intent is written. For a call that must not run
// twice, an intent from a run that Temporal has since reset also counts.
func (c *toolCall) read(ctx context.Context, entries []transcript.Entry) (begun bool, err error) {
	for _, e := range entries {
		switch e.Kind {
		case transcript.KindReply:
			c.reply = e
		case transcript.KindCall:
			begun, c.began, c.byRule = true, true, e.Rule != ""
		}
	}
	if c.call, err = c.nth(c.reply, c.in.Iteration, c.in.Call); err == nil {
		err = c.edited(ctx)
	}
	if err == nil && !begun && c.call.Class == string(tool.NonIdempotent) {
		return c.Transcripts.Begun(ctx, c.ref.scope(), transcript.CallKey(c.in.Iteration, c.in.Call), c.reply.Seq)
	}
	return begun, err
}

// left returns the error for an attempt that finds the call begun and must not yet decide its outcome; nil means the
// call was interrupted. A local attempt hands over to a regular one. A regular attempt waits for the result for a while
// if the call may still be running on another worker.
func (c *toolCall) left(ctx context.Context, log []transcript.Entry) error {
	if c.local {
		return notQuick(ErrorReplaced, "another attempt has begun the call")
	}
	n := slices.IndexFunc(log, func(e transcript.Entry) bool { return e.Kind == transcript.KindCall })
	if n < 0 || !c.in.Begun || c.now(ctx).Sub(log[n].At) > cmp.Or(c.Abandoned, Abandoned) {
		return nil
	}
	return underWayElsewhere()
}

// result makes the call, unless it may already have been made, and returns its outcome.
func (c *toolCall) result(ctx context.Context, decision tool.Decision, begun bool) (tool.Result, error) {
	spec := decision.Spec
	if begun && spec.Class() == tool.NonIdempotent {
		return outcomeUnknown(spec.Name, c.interruption()), nil
	}
	if c.local && !c.ready(spec.Name) {
		return tool.Result{}, notQuick(ErrorNotQuick, "this worker has no session with the server yet")
	}
	wait, err := c.reserve(ctx, decision)
	if err != nil {
		return tool.Result{}, err
	}
	if wait > 0 {
		wait = wait.Round(time.Second) + time.Second
		limited := tool.Failure(tool.ErrorRateLimited, fmt.Sprintf(
			"Rate limit: this agent can call tool %s %d times a minute. Try again later; retry_after: %s.",
			spec.Name, decision.RatePerMinute, wait))
		limited.RetryAfter = wait.Seconds()
		return limited, nil
	}
	if begun || spec.Own { // our own store is its own journal
		return c.execute(ctx, decision)
	}
	return c.intended(ctx, decision)
}

// outcomeUnknown is the result of an interrupted call that must not run twice.
func outcomeUnknown(name, why string) tool.Result { return tool.OutcomeUnknown(name, why) }

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
	c.began = true
	written, soon := make(chan error, 1), told
	if c.local {
		soon = toldLocally
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
func (c *toolCall) intends(ctx context.Context, d *Decision) transcript.Row {
	return transcript.Row{
		Key: transcript.CallKey(c.in.Iteration, c.in.Call), Kind: transcript.KindCall, At: c.now(ctx),
		Body: transcript.Body{Call: &c.call, Result: c.decided(d)},
		Acts: c.decidedActs(ctx, d),
	}
}

// decided returns who or what approved the call, for the journal.
func (c *toolCall) decided(d *Decision) transcript.Result {
	if c.rule != nil {
		return transcript.Result{Decision: c.rule.Said(), Rule: c.rule.ID}
	}
	return transcript.Result{Decision: d.said(), Digest: d.digest()}
}

// reserve takes a place in the tool's rate limit. A positive wait means the limit is used up for that long.
func (c *toolCall) reserve(ctx context.Context, decision tool.Decision) (wait time.Duration, err error) {
	if decision.RatePerMinute == 0 {
		return 0, nil
	}
	return c.Limits.Reserve(ctx, ratelimit.Reservation{
		Agent: c.agent.Definition, Tool: decision.Spec.Name, Key: c.key(), Limit: decision.RatePerMinute, Window: time.Minute,
	})
}

// key is the call's idempotency key. It is the same for every attempt, and differs if another reply asks for a call in
// the same place after a Temporal reset.
func (c *toolCall) key() string {
	digest := sha256.Sum256([]byte(c.reply.Writer.RunID + "\n" + c.call.Name + "\n" + c.call.Arguments))
	return fmt.Sprintf("%s/%s/%d/%d/%x", c.ref.Investigation, c.ref.Execution, c.in.Iteration, c.in.Call, digest[:6])
}

// execute makes the call, within the tool's timeout.
func (c *toolCall) execute(ctx context.Context, decision tool.Decision) (tool.Result, error) {
	spec := decision.Spec
	callCtx, cancel := tool.WithPausable(ctx, decision.Within(c.agent.Timeouts.Tool.D()))
	defer cancel()
	call := tool.Call{
		Name: spec.Name, Arguments: decision.Arguments, Session: c.ref.session(),
		Investigation: c.ref.Investigation, Execution: c.ref.Execution, Iteration: c.in.Iteration,
		Class: spec.Class(), Key: c.key(), Late: c.late(ctx, spec.Name),
		Ask: c.ask(callCtx),
	}
	if c.claim != nil {
		call.Fence = func(context.Context) error { return c.claim.ensure(ctx) } // ctx, not callCtx: time spent on the store is not the tool's
	}
	ready, began := c.ready(spec.Name), time.Now()
	live := newLive(c.job, c.in.Iteration+1, 0) // the position of the model's next reply
	defer live.stop()
	call.Progress = c.tellProgress(ctx, live, spec.Name)
	result, err := c.send(callCtx, call)
	c.sends = result.Sends
	if c.claim != nil {
		written, asking := c.claim.state()
		c.began = c.began || written
		if asking && err == nil && result.ErrorType == tool.ErrorTimeout && !result.Sent {
			err = errors.New("the intent of the call was not written in time")
		}
	}
	c.answered = err == nil && ctx.Err() == nil && result.ErrorType != tool.ErrorUnavailable
	if ready {
		c.took = time.Since(began)
	}
	switch {
	case err != nil:
		return tool.Result{}, err
	case ctx.Err() != nil && result.Status == tool.StatusError: // cut: the workflow decides what to report
		return tool.Result{}, ctx.Err()
	case result.ErrorType == tool.ErrorUnavailable && !c.in.Last && (spec.Class() != tool.NonIdempotent || !c.began && !result.Sent):
		if result, err = c.masked(ctx, spec.Name, result); err != nil {
			return result, err
		}
		return result, serverUnavailable(result.Away, errors.New(result.Content))
	case result.Sent && result.Status == tool.StatusError && spec.Class() == tool.NonIdempotent:
		unknown := outcomeUnknown(spec.Name, result.Content)
		unknown.Artifacts = result.Artifacts
		return unknown, nil
	}
	return result, nil
}

func (c *toolCall) send(ctx context.Context, call tool.Call) (tool.Result, error) {
	if server, _ := tool.Split(call.Name); server != "" {
		return c.Servers.Call(ctx, call)
	}
	if err := call.Allowed(ctx); err != nil {
		return tool.Result{}, err
	}
	return c.Builtins.Call(ctx, c.agent, call)
}

func (c *toolCall) append(ctx context.Context, row transcript.Row) ([]transcript.Entry, error) {
	return c.Transcripts.Append(ctx, transcript.Step{Scope: c.ref.scope(), Writer: c.writer, Rows: []transcript.Row{row}})
}

// nth returns the n-th call of a reply.
func (j *job) nth(reply transcript.Entry, iteration, n int) (transcript.Call, error) {
	if reply.Seq == 0 && len(j.ref.Seen) == 0 { // otherwise requireSeen has checked
		return transcript.Call{}, storeBehind(j.ref.Investigation, fmt.Sprintf("reply %d of %s", iteration, j.ref.Execution))
	}
	if n < 0 || n >= len(reply.Calls) {
		return transcript.Call{}, final(ErrorNotFound, fmt.Errorf("%s: iteration %d has no call %d", j.ref.Execution, iteration, n))
	}
	return reply.Calls[n], nil
}
