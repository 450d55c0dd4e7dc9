package workflows

import (
	"cmp"
	"errors"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
)

// approvals are an agent's calls that wait, or have waited, for a person.
type approvals struct {
	pending []*approval
	decided map[string]string // by call id: what was decided, for who decides again
}

// approval is one call that waits.
type approval struct {
	Approval
	decision *activities.Decision
}

// open lists the calls that wait now.
func (a *approvals) open() []Approval {
	var out []Approval
	for _, p := range a.pending {
		if p.decision == nil {
			out = append(out, p.Approval)
		}
	}
	return out
}

func (a *approvals) find(callID string) *approval {
	for _, p := range a.pending {
		if p.CallID == callID && p.decision == nil {
			return p
		}
	}
	return nil
}

// check refuses a decision that decides nothing.
func (a *approvals) check(d Decide) error {
	if d.Approved == nil {
		return errors.New(`"approved" is missing: true or false`)
	}
	if how, ok := a.decided[d.CallID]; ok {
		return fmt.Errorf("call %q was decided already: %s", d.CallID, how)
	}
	waiting := a.find(d.CallID)
	if waiting == nil {
		return fmt.Errorf("no call %q waits for a decision", d.CallID)
	}
	if d.Digest != "" && d.Digest != waiting.Digest {
		return fmt.Errorf("the call %q that waits is another one than you have seen: its digest is %s", d.CallID, waiting.Digest)
	}
	if len(d.Reason) > maxReason {
		return fmt.Errorf("the reason is longer than %d bytes", maxReason)
	}
	return agent.CheckBy(d.By)
}

// maxReason bounds why a call is approved or denied, in bytes.
const maxReason = 1000

// settle decides a call, once.
func (a *approvals) settle(p *approval, d activities.Decision) {
	p.decision = &d
	if a.decided == nil {
		a.decided = map[string]string{}
	}
	a.decided[p.CallID] = d.String()
}

const decideInput = `{"call_id": "…", "approved": true or false, "by": "…", "reason": "…", "digest": "…"}`

// serveDecisions registers the update that approves and denies calls.
func (r *agentRun) serveDecisions(ctx workflow.Context) error {
	decide := func(ctx workflow.Context, d Decide) (activities.Decision, error) {
		call := r.approvals.find(d.CallID)
		out := activities.Decision{Approved: *d.Approved, By: d.By, Reason: d.Reason, At: workflow.Now(ctx), Digest: call.Digest}
		r.settle(ctx, call, out)
		return out, nil
	}
	return update[Decide, activities.Decision]{
		UpdateDecide, "Approve or deny a tool call that waits. Input: " + decideInput, decideInput, reading[Decide], r.approvals.check, decide,
	}.serve(ctx)
}

// ask lists a reply's calls that need a person. All of them wait at once.
func (r *agentRun) ask(ctx workflow.Context, calls []activities.Call) []*approval {
	asked := make([]*approval, len(calls))
	for n, call := range calls {
		if call.Approve != nil {
			asked[n] = r.askFor(ctx, call.Name, *call.Approve)
		}
	}
	r.noteCalls(ctx)
	return asked
}

// askFor lists one call that needs a person, also one that waited before as another.
func (r *agentRun) askFor(ctx workflow.Context, name string, call activities.Approve) *approval {
	asked := &approval{Approval: Approval{
		CallID: call.ID, Tool: name, Risk: call.Risk, Arguments: call.Arguments, ArgumentsRef: call.Ref, Size: call.Size, Hidden: call.Hidden,
		Digest: call.Digest, Agent: r.in.Agent.Name, Execution: r.in.Ref.Execution, WorkflowID: workflow.GetInfo(ctx).WorkflowExecution.ID,
		Expires: workflow.Now(ctx).Add(cmp.Or(r.in.Agent.ApprovalTimeout.D(), defaultApproval)),
	}}
	delete(r.approvals.decided, call.ID)
	r.approvals.pending = append(r.approvals.pending, asked)
	r.teller.changed()
	return asked
}

// await waits until a person has decided, or nobody did in time.
func (r *agentRun) await(ctx workflow.Context, a *approval) *activities.Decision {
	paused := func() bool { return r.steering.Paused }
	done := func() bool { return a.decision != nil || r.steering.Concluding }
	moved := func() {
		r.teller.changed()
		r.noteCalls(ctx)
	}
	inTime, err := awaitPeople(ctx, "approval of "+a.Tool, &a.Expires, paused, done, moved)
	if a.decision != nil {
		return a.decision
	}
	reason := "nobody decided in time"
	switch {
	case err != nil:
		reason = "it was cancelled before anybody had decided"
	case inTime:
		reason = "nobody had decided when the agent was told to conclude"
	}
	r.settle(ctx, a, activities.Decision{Reason: reason, At: workflow.Now(ctx)})
	return a.decision
}

// settle decides a call, once, and tells who waits for it.
func (r *agentRun) settle(ctx workflow.Context, a *approval, d activities.Decision) {
	r.approvals.settle(a, d)
	r.teller.changed()
	r.noteCalls(ctx)
}

// noteCalls says that calls run, or that they wait for a person.
func (r *agentRun) noteCalls(ctx workflow.Context) {
	if open := len(r.approvals.open()); open > 0 {
		r.note(ctx, fmt.Sprintf("waiting for a person to approve %d tool call(s)", open))
		return
	}
	r.note(ctx, "running tool calls")
}

// denied is a call's result when it was not approved.
func denied(in activities.CallToolIn, call activities.Call) *activities.Input {
	return &activities.Input{
		Kind: activities.InputResult, Iteration: in.Iteration, Call: in.Call, ErrorType: activities.ResultDenied,
		Text: fmt.Sprintf("The call of %s was not made: %s.", call.Name, in.Decision),
	}
}
