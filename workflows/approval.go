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
	"github.com/inquest-dev/inquest/internal/record"
)

// approvals holds an agent's calls that wait, or have waited, for a person.
type approvals struct {
	run     *agentRun
	pending []*approval
	decided map[string]string // the decision by call ID, for repeated decisions
}

// approval is one call that waits.
type approval struct {
	Approval
	// rules say who may decide. escalated counts the entries of EscalateTo that may decide by now.
	rules     plan.Approvers
	escalated int
	notBy     []string
	handedTo  string // the only one who may decide; empty means everyone that the rules allow
	edit      string // see activities.Decision
	editing   bool   // new arguments are being checked
	iteration int    // of the reply that requests the call
	n         int    // index of the call in that reply
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

// recordDecision decides a call, once.
func (a *approvals) recordDecision(p *approval, d activities.Decision) {
	p.decision = &d
	if a.decided == nil {
		a.decided = map[string]string{}
	}
	a.decided[p.CallID] = d.String()
}

// answered reports whether all decisions have been processed.
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

// ask registers the calls of a reply that need a person's approval. first is the index of the first call. All of
// them wait at once.
func (as *approvals) ask(ctx workflow.Context, first int, calls []activities.Call) []*approval {
	asked := make([]*approval, len(calls))
	for n, call := range calls {
		if call.Approve != nil {
			asked[n] = as.askFor(ctx, first+n, call.Name, *call.Approve)
		}
	}
	as.noteCalls(ctx)
	return asked
}

// askFor registers one call that needs approval, or an already approved one whose content has changed.
func (as *approvals) askFor(ctx workflow.Context, n int, name string, call activities.Approve) *approval {
	asked := &approval{
		rules: call.Approvers, notBy: call.NotBy, edit: call.Edit, iteration: as.run.state.Iteration, n: n,
		Approval: Approval{
			CallID: call.ID, Tool: name, Risk: call.Risk, Needed: call.Approvers.Needed, Approvers: call.Approvers.Who,
			Agent: as.run.in.Agent.Name, Execution: as.run.in.Ref.Execution, WorkflowID: workflow.GetInfo(ctx).WorkflowExecution.ID,
			Expires: workflow.Now(ctx).Add(as.patience()), Notes: append(as.answers(name), call.Notes...),
			Reason: call.Reason, PlanStep: call.PlanStep, Description: call.Description,
		},
	}
	asked.EscalatesTo = asked.next()
	asked.show(call)
	delete(as.decided, call.ID)
	as.pending = append(as.pending, asked)
	as.run.waitReporter.changed()
	return asked
}

// show copies a call into the fields that people see.
func (a *approval) show(call activities.Approve) {
	a.Arguments, a.ArgumentsRef, a.Size, a.Hidden, a.Digest = call.Arguments, call.Ref, call.Size, call.Hidden, call.Digest
	a.Remember = call.Remember
}

// judge applies the policy's current rules about who may decide on the call.
func (a *approval) judge(call activities.Approve) {
	a.rules, a.notBy, a.Risk, a.Needed = call.Approvers, call.NotBy, call.Risk, call.Approvers.Needed
	a.EscalatesTo = a.next()
	if a.handedTo == "" {
		a.Approvers = a.deciders()
	}
}

// patience is how long a call waits for a decision before it escalates or is denied.
func (as *approvals) patience() time.Duration {
	return cmp.Or(as.run.in.Agent.ApprovalTimeout.D(), defaultApproval)
}

// await waits until a person decides, the time is up, or the agent has to stop. Then the call counts as denied.
func (as *approvals) await(ctx workflow.Context, a *approval) *activities.Decision {
	paused := func() bool { return as.run.steering.Paused }
	done := func() bool { return a.decision != nil || as.run.steering.Concluding || as.run.behind != nil }
	moved := func() {
		as.run.waitReporter.changed()
		as.noteCalls(ctx)
	}
	for {
		inTime, err := awaitPeople(ctx, "approval of "+a.Tool, &a.Expires, paused, done, moved)
		if a.decision != nil {
			return a.decision
		}
		if err == nil && !inTime && a.escalated < len(a.rules.EscalateTo) {
			as.escalate(ctx, a)
			continue
		}
		reason := a.undecided()
		switch {
		case err != nil:
			reason = "the agent was cancelled before the call was decided on"
		case as.run.behind != nil:
			reason = "the store lost entries of the investigation before the call was decided on"
		case inTime:
			reason = "there was no decision before the agent was told to conclude"
		}
		as.apply(ctx, a, activities.Decision{Reason: reason, At: workflow.Now(ctx)})
		return a.decision
	}
}

// undecided returns why a call whose time is up counts as denied.
func (a *approval) undecided() string {
	if len(a.ApprovedBy) > 0 {
		return fmt.Sprintf("only %s approved it, but %d people must", strings.Join(a.ApprovedBy, ", "), a.Needed)
	}
	return "the approval timed out"
}

// escalate lets the next group decide, too. It gets as much time as the previous one.
func (as *approvals) escalate(ctx workflow.Context, a *approval) {
	a.escalated++
	a.handedTo = ""
	a.Approvers = a.deciders()
	a.EscalatesTo = a.next()
	a.Expires = workflow.Now(ctx).Add(as.patience())
	a.Notes = append(a.Notes, fmt.Sprintf("The approval timed out and was escalated: %s can now decide as well.",
		a.rules.EscalateTo[a.escalated-1]))
	as.run.waitReporter.changed()
	as.noteCalls(ctx)
}

// next returns the group, role or person that may also decide once the current time is up. An empty string means that
// the call is denied then.
func (a *approval) next() string {
	if a.escalated < len(a.rules.EscalateTo) {
		return a.rules.EscalateTo[a.escalated]
	}
	return ""
}

// deciders returns the groups, roles and people that may decide by now. Empty means everyone.
func (a *approval) deciders() []string {
	out := slices.Concat(a.rules.Who, a.rules.EscalateTo[:min(a.escalated, len(a.rules.EscalateTo))])
	if len(a.rules.Who) > 0 && slices.Contains(a.rules.EscalateTo, a.handedTo) && !slices.Contains(out, a.handedTo) {
		out = append(out, a.handedTo) // the call was handed to it before the escalation reached it
	}
	return out
}

// apply records the decision on a call, and updates the status and the parent.
func (as *approvals) apply(ctx workflow.Context, a *approval, d activities.Decision) {
	as.recordDecision(a, d)
	as.run.waitReporter.changed()
	as.noteCalls(ctx)
}

// noteCalls updates the status: calls wait for a person, or are running.
func (as *approvals) noteCalls(ctx workflow.Context) {
	if open := len(as.open()); open > 0 {
		as.run.note(ctx, "waiting for a person to approve "+record.Counted(open, "tool call"))
		return
	}
	as.run.note(ctx, "running tool calls")
}

// versionRecordDecided marks the change that records decisions about calls that were not made before the agent ended.
const versionRecordDecided = "2026-11-29-record-decisions-at-the-end"

// recordDecided writes the results of decided calls that no model call has recorded, and with them the decisions. The
// agent has ended, so no further model call will do it.
func (r *agentRun) recordDecided(ctx workflow.Context) {
	decided := slices.DeleteFunc(slices.Clone(r.state.Inputs), func(in activities.Input) bool {
		return in.Kind != activities.InputResult || in.Decision == nil
	})
	if len(decided) == 0 || r.behind != nil ||
		workflow.GetVersion(ctx, versionRecordDecided, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return
	}
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	var out activities.DecidedOut
	in := activities.DecidedIn{Ref: r.ref(), Results: decided}
	if err := storeStep(ctx, "record decisions about calls that were not made", act.RecordDecided, in, &out); err != nil {
		workflow.GetLogger(ctx).Warn("decisions are not in the audit trail", "execution", r.in.Ref.Execution, "error", err)
	}
	r.saw(out.Seen...)
}

// short returns a decision without its free text. A reply may request many calls.
func short(d activities.Decision) *activities.Decision {
	out := activities.Decision{
		Approved: d.Approved, By: fit(d.Who.Named(d.By), 100), At: d.At, Digest: d.Digest, Question: fit(d.Question, 100),
	}
	if d.Who != nil {
		out.Who = &agent.Identity{Name: out.By, Channel: fit(d.Who.Channel, 20)}
	}
	return &out
}

// denied returns the result of a call that was not approved, or that a person has a question about.
func denied(in activities.CallToolIn, call activities.Call) *activities.Input {
	if d := in.Decision; d.Question != "" {
		return &activities.Input{
			Kind: activities.InputResult, Iteration: in.Iteration, Call: in.Call, ErrorType: activities.ResultNotRun, Decision: short(*d),
			Text: fmt.Sprintf("Tool %s was not called. Question from %s: %s\n"+
				"Answer in the text of your next reply. If you still need the call, request it again with or after your answer.",
				call.Name, cmp.Or(d.By, "a person"), d.Question),
		}
	}
	return &activities.Input{
		Kind: activities.InputResult, Iteration: in.Iteration, Call: in.Call, ErrorType: activities.ResultDenied, Decision: short(*in.Decision),
		Text: fmt.Sprintf("Tool %s was not called: %s.", call.Name, in.Decision),
	}
}
