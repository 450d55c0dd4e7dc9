package workflows

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// approvals are an agent's calls that wait, or have waited, for a person.
type approvals struct {
	pending []*approval
	decided map[string]string // by call id: what was decided, for who decides again
}

// approval is one call that waits.
type approval struct {
	Approval
	// rules say who decides; of EscalateTo, as many as escalated may by now.
	rules     plan.Approvers
	escalated int
	notBy     []string
	handedTo  string // the only one who may decide; "" = all that may at all
	edit      string // see activities.Decision
	editing   bool   // somebody's arguments are being looked at
	iteration int    // of the reply that asks for the call,
	n         int    // which is its n-th
	decision  *activities.Decision
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

// settle decides a call, once.
func (a *approvals) settle(p *approval, d activities.Decision) {
	p.decision = &d
	if a.decided == nil {
		a.decided = map[string]string{}
	}
	a.decided[p.CallID] = d.String()
}

// answered: everybody who decides knows what came of it.
func (a *approvals) answered() bool {
	return !slices.ContainsFunc(a.pending, func(p *approval) bool { return p.editing })
}

func (a *approvals) find(callID string) *approval {
	for _, p := range a.pending {
		if p.CallID == callID && p.decision == nil {
			return p
		}
	}
	return nil
}

// ask lists a reply's calls that need a person, the first of which is its n-th. All of them
// wait at once.
func (r *agentRun) ask(ctx workflow.Context, first int, calls []activities.Call) []*approval {
	asked := make([]*approval, len(calls))
	for n, call := range calls {
		if call.Approve != nil {
			asked[n] = r.askFor(ctx, first+n, call.Name, *call.Approve)
		}
	}
	r.noteCalls(ctx)
	return asked
}

// askFor lists one call that needs a person, also one that waited before as another.
func (r *agentRun) askFor(ctx workflow.Context, n int, name string, call activities.Approve) *approval {
	asked := &approval{
		rules: call.Approvers, notBy: call.NotBy, edit: call.Edit, iteration: r.state.Iteration, n: n,
		Approval: Approval{
			CallID: call.ID, Tool: name, Risk: call.Risk, Needed: call.Approvers.Needed, Approvers: call.Approvers.Who,
			Agent: r.in.Agent.Name, Execution: r.in.Ref.Execution, WorkflowID: workflow.GetInfo(ctx).WorkflowExecution.ID,
			Expires: workflow.Now(ctx).Add(r.patience()), Notes: append(r.answers(name), call.Notes...),
			Reason: call.Reason, PlanStep: call.PlanStep, Description: call.Description,
		},
	}
	asked.EscalatesTo = asked.next()
	asked.show(call)
	delete(r.approvals.decided, call.ID)
	r.approvals.pending = append(r.approvals.pending, asked)
	r.teller.changed()
	return asked
}

// show puts a call into what people see.
func (a *approval) show(call activities.Approve) {
	a.Arguments, a.ArgumentsRef, a.Size, a.Hidden, a.Digest = call.Arguments, call.Ref, call.Size, call.Hidden, call.Digest
	a.Remember = call.Remember
}

// judge has those decide on a call who are to by what the policy says of it now.
func (a *approval) judge(call activities.Approve) {
	a.rules, a.notBy, a.Risk, a.Needed = call.Approvers, call.NotBy, call.Risk, call.Approvers.Needed
	a.EscalatesTo = a.next()
	if a.handedTo == "" {
		a.Approvers = a.deciders()
	}
}

// patience is how long a call waits for those that may decide.
func (r *agentRun) patience() time.Duration {
	return cmp.Or(r.in.Agent.ApprovalTimeout.D(), defaultApproval)
}

// await waits until a person has decided, or nobody did in time.
func (r *agentRun) await(ctx workflow.Context, a *approval) *activities.Decision {
	paused := func() bool { return r.steering.Paused }
	done := func() bool { return a.decision != nil || r.steering.Concluding || r.behind != nil }
	moved := func() {
		r.teller.changed()
		r.noteCalls(ctx)
	}
	for {
		inTime, err := awaitPeople(ctx, "approval of "+a.Tool, &a.Expires, paused, done, moved)
		if a.decision != nil {
			return a.decision
		}
		if err == nil && !inTime && a.escalated < len(a.rules.EscalateTo) {
			r.escalate(ctx, a)
			continue
		}
		reason := a.undecided()
		switch {
		case err != nil:
			reason = "it was cancelled before anybody had decided"
		case r.behind != nil:
			reason = "the store lost entries of the investigation before anybody had decided"
		case inTime:
			reason = "nobody had decided when the agent was told to conclude"
		}
		r.settle(ctx, a, activities.Decision{Reason: reason, At: workflow.Now(ctx)})
		return a.decision
	}
}

// undecided is why a call counts as denied whose time is up.
func (a *approval) undecided() string {
	if len(a.ApprovedBy) > 0 {
		return fmt.Sprintf("it was approved by %s alone, and %d people have to", strings.Join(a.ApprovedBy, ", "), a.Needed)
	}
	return "nobody decided in time"
}

// escalate has the next ones decide, too, who have as long as those before them.
func (r *agentRun) escalate(ctx workflow.Context, a *approval) {
	a.escalated++
	a.handedTo = ""
	a.Approvers = a.deciders()
	a.EscalatesTo = a.next()
	a.Expires = workflow.Now(ctx).Add(r.patience())
	a.Notes = append(a.Notes, fmt.Sprintf("Nobody decided in time: %s may decide now, too.", a.rules.EscalateTo[a.escalated-1]))
	r.teller.changed()
	r.noteCalls(ctx)
}

// next returns who may decide, too, when the time of those before them is up. An empty string means that the call is denied
// then.
func (a *approval) next() string {
	if a.escalated < len(a.rules.EscalateTo) {
		return a.rules.EscalateTo[a.escalated]
	}
	return ""
}

// deciders are the groups, roles and people that may decide by now; none = everybody.
func (a *approval) deciders() []string {
	out := slices.Concat(a.rules.Who, a.rules.EscalateTo[:min(a.escalated, len(a.rules.EscalateTo))])
	if len(a.rules.Who) > 0 && slices.Contains(a.rules.EscalateTo, a.handedTo) && !slices.Contains(out, a.handedTo) {
		out = append(out, a.handedTo) // before its time
	}
	return out
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

// short is who has decided what, without the words, which the result has. A reply may ask for many calls.
func short(d activities.Decision) *activities.Decision {
	out := activities.Decision{
		Approved: d.Approved, By: fit(d.Who.Named(d.By), 100), At: d.At, Digest: d.Digest, Question: fit(d.Question, 100),
	}
	if d.Who != nil {
		out.Who = &agent.Identity{Name: out.By, Channel: fit(d.Who.Channel, 20)}
	}
	return &out
}

// denied is a call's result when it was not approved, or a person asks something first.
func denied(in activities.CallToolIn, call activities.Call) *activities.Input {
	if d := in.Decision; d.Question != "" {
		return &activities.Input{
			Kind: activities.InputResult, Iteration: in.Iteration, Call: in.Call, ErrorType: activities.ResultNotRun, Decision: short(*d),
			Text: fmt.Sprintf("The call of %s was not made: %s asks you first: %s\n"+
				"Answer in the text of your next reply. If the call is still needed, ask for it again with your answer or after it.",
				call.Name, cmp.Or(d.By, "a person"), d.Question),
		}
	}
	return &activities.Input{
		Kind: activities.InputResult, Iteration: in.Iteration, Call: in.Call, ErrorType: activities.ResultDenied, Decision: short(*in.Decision),
		Text: fmt.Sprintf("The call of %s was not made: %s.", call.Name, in.Decision),
	}
}
