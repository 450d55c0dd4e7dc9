package workflows

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
)

// Decide is a person's decision on a call that waits for one. Exactly one of Approved, Ask
// and HandTo is set.
type Decide struct {
	CallID   string `json:"call_id"`
	Approved *bool  `json:"approved,omitempty"`
	// Arguments replace those that the agent wrote, and are approved in their place.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Ask puts a question to the agent. The call is not made: the agent answers, and may request
	// the call again.
	Ask string `json:"ask,omitempty"`
	// HandTo delegates the decision to a group, a role, or a person as @name.
	HandTo string `json:"hand_to,omitempty"`
	By     string `json:"by,omitempty"` // an unverified name
	Reason string `json:"reason,omitempty"`
	// Digest is the digest of the call that the person saw. A decision about another call is
	// refused. If empty, the decision is about the call that currently waits.
	Digest string `json:"digest,omitempty"`
	// Identity is the decider's identity as verified by the channel. Nil means that it was not verified.
	Identity *agent.Identity `json:"identity,omitempty"`
}

// MaxReason limits the reason of a decision, and a question to the agent, in characters.
const MaxReason = 1000

// maxEdit limits the arguments that replace the agent's, in bytes.
const maxEdit = 16 << 10

// check rejects a decision that is invalid or does not fit the waiting call.
func (a *approvals) check(d Decide) error {
	if err := d.check(); err != nil {
		return err
	}
	if how, ok := a.decided[d.CallID]; ok {
		return notPending("call %q was already decided: %s", d.CallID, how)
	}
	waiting := a.find(d.CallID)
	switch {
	case waiting == nil:
		return notPending("no pending call %q", d.CallID)
	case d.Digest != "" && d.Digest != waiting.Digest:
		return fmt.Errorf("call %q is not the one you saw: its digest is now %s. Look at it again", d.CallID, waiting.Digest)
	case waiting.editing:
		return fmt.Errorf("the arguments of call %q are being edited: look at the call again before you decide", d.CallID)
	}
	return waiting.checkWho(d)
}

// check validates a decision independently of the call.
func (d Decide) check() error {
	kinds := 0
	for _, is := range []bool{d.Approved != nil, d.Ask != "", d.HandTo != ""} {
		if is {
			kinds++
		}
	}
	switch {
	case kinds == 0:
		return errors.New(`set one of "approved" (true or false), "ask" and "hand_to"`)
	case kinds > 1:
		return errors.New(`set only one of "approved", "ask" and "hand_to"`)
	case len(d.Arguments) > 0 && (d.Approved == nil || !*d.Approved):
		return errors.New(`"arguments" requires "approved": true`)
	case len(d.Arguments) > maxEdit:
		return fmt.Errorf("the arguments are longer than %d bytes", maxEdit)
	case utf8.RuneCountInString(d.Reason) > MaxReason:
		return fmt.Errorf("the reason is longer than %d characters", MaxReason)
	case utf8.RuneCountInString(d.Ask) > MaxReason:
		return fmt.Errorf("the question is longer than %d characters", MaxReason)
	}
	return errors.Join(agent.CheckBy(d.By), agent.CheckBy(d.HandTo), d.Identity.Check())
}

// name returns the name that the decider gave, else the verified name.
func (d Decide) name() string {
	if d.By == "" && d.Identity != nil {
		return d.Identity.Name
	}
	return d.By
}

// checkWho rejects a decision by a person who may not make it.
func (a *approval) checkWho(d Decide) error {
	deciders := a.deciders()
	approves := d.Approved != nil && *d.Approved
	switch who := d.Identity; {
	case !a.rules.Checks() && (a.handedTo == "" || d.HandTo != ""):
		return nil
	case who == nil:
		return fmt.Errorf("a decision on call %q needs a verified identity (allowed: %s). "+
			"Decide with \"starter decide\" or the HTTP API", d.CallID, orAnyone(a.Approvers))
	case len(deciders) > 0 && !who.Among(deciders):
		return fmt.Errorf("%s may not decide on call %q. Allowed: %s", who.Name, d.CallID, strings.Join(deciders, ", "))
	case d.HandTo != "" && !a.mayGoTo(d.HandTo):
		return fmt.Errorf("call %q cannot be handed to %s, who may not decide. Allowed: %s, and members of these groups",
			d.CallID, d.HandTo, strings.Join(slices.Concat(a.rules.Who, a.rules.EscalateTo), ", "))
	case a.handedTo != "" && d.HandTo == "" && !who.Among([]string{a.handedTo}):
		return fmt.Errorf("call %q was handed to %s; to take it back, hand it to yourself (--hand-to @%s, or \"hand_to\")",
			d.CallID, a.handedTo, who.Name)
	case approves && a.rules.NotOwn && len(a.notBy) == 0:
		return fmt.Errorf("the requester of this investigation is unknown, and requesters may not approve their own calls "+
			"(approve_own: false). Deny call %q, and start the investigation with "+
			"\"starter run\" or the HTTP API, which record the requester", d.CallID)
	case approves && has(a.notBy, who.Name):
		return fmt.Errorf("%s requested this investigation and may not approve its calls (approve_own: false)", who.Name)
	case approves && len(d.Arguments) == 0 && has(a.ApprovedBy, who.Name):
		return fmt.Errorf("%s has already approved call %q: another person must approve it as well", who.Name, d.CallID)
	}
	return nil
}

// mayGoTo reports whether a call may be handed to the given group, role or person: one that may decide now or after an
// escalation, or any person if a group is among these.
func (a *approval) mayGoTo(to string) bool {
	listed := slices.Concat(a.rules.Who, a.rules.EscalateTo)
	group := func(name string) bool { return !strings.HasPrefix(name, agent.Person) }
	return len(a.rules.Who) == 0 || slices.Contains(listed, to) || !group(to) && slices.ContainsFunc(listed, group)
}

// has reports whether a name is in the list, ignoring case.
func has(names []string, name string) bool {
	return slices.ContainsFunc(names, func(other string) bool { return strings.EqualFold(other, name) })
}

func orAnyone(names []string) string {
	if len(names) == 0 {
		return "anyone with a verified identity"
	}
	return strings.Join(names, ", ")
}

const decideInput = `{"call_id": "…", "approved": true or false, "by": "…", "reason": "…", "digest": "…"}; "ask": "…" or ` +
	`"hand_to": "…" can replace "approved"; "arguments": {…} can be added to "approved": true`

// serveDecisions registers the update for decisions on calls.
func (as *approvals) serveDecisions(ctx workflow.Context) error {
	return update[Decide, activities.Decision]{
		UpdateDecide, "Decide on a pending tool call: approve or deny it, change its arguments, ask the agent a question, or hand it " +
			"to others. Input: " + decideInput, decideInput, reading[Decide], as.checkDecision, as.decide,
	}.serve(ctx)
}

func (as *approvals) checkDecision(d Decide) error {
	if d.Ask != "" && as.run.in.Agent.Pattern != agent.Iterating {
		return errors.New("this agent has no model to answer questions: approve or deny the call")
	}
	return as.check(d)
}

// decide applies a decision to a waiting call.
func (as *approvals) decide(ctx workflow.Context, d Decide) (activities.Decision, error) {
	call := as.find(d.CallID)
	out := activities.Decision{By: d.name(), Reason: d.Reason, At: workflow.Now(ctx), Digest: call.Digest, Who: d.Identity}
	switch {
	case d.HandTo != "":
		call.handedTo, call.Approvers = d.HandTo, []string{d.HandTo}
		call.Notes = append(call.Notes, fmt.Sprintf("%s handed the call to %s. %s", orSomeone(d.Identity.Named(d.By)), d.HandTo, d.Reason))
		as.keepWaiting(ctx, &out, "it is pending for "+d.HandTo)
		return out, nil
	case d.Ask != "":
		out.Question = d.Ask
		as.run.state.Asked = append(as.run.state.Asked, asked{Tool: call.Tool, By: orSomeone(d.Identity.Named(d.By)), Question: d.Ask})
	case *d.Approved:
		if len(d.Arguments) > 0 {
			if err := as.change(ctx, call, d); err != nil {
				return out, err
			}
			out.Digest = call.Digest
		}
		out.Approved, out.Also, out.Edit = true, call.ApprovedBy, call.edit
		if left := call.rules.Needed - len(call.ApprovedBy) - 1; left > 0 {
			call.ApprovedBy = append(slices.Clone(call.ApprovedBy), d.Identity.Name)
			as.keepWaiting(ctx, &out, fmt.Sprintf("approvals still needed from other people: %d", left))
			return out, nil
		}
	}
	as.apply(ctx, call, out)
	return out, nil
}

// keepWaiting records that the call still waits after this decision.
func (as *approvals) keepWaiting(ctx workflow.Context, d *activities.Decision, what string) {
	d.Pending = what
	as.run.waitReporter.changed()
	as.noteCalls(ctx)
}

// change replaces the agent's arguments with a person's, if the policy allows them.
// Earlier approvals are dropped, because they were for the old arguments.
func (as *approvals) change(ctx workflow.Context, call *approval, d Decide) error {
	call.editing = true
	defer func() { call.editing = false }()
	in := activities.EditCallIn{Ref: as.run.in.Ref, Iteration: call.iteration, Call: call.n, Arguments: d.Arguments}
	var out activities.EditCallOut
	if err := storeStep(ctx, "arguments of "+call.Tool, act.EditCall, in, &out); err != nil {
		return err
	}
	switch {
	case call.decision != nil:
		return notApplied(ErrorNotPending, "the call has been decided in the meantime: %s", call.decision)
	case out.Approve == nil:
		return notApplied(ErrorNotTaken, "invalid arguments: %s", out.Refused)
	}
	changed := *call
	changed.judge(*out.Approve)
	changed.show(*out.Approve)
	changed.edit, changed.ApprovedBy = out.Edit, nil
	if err := changed.checkWho(d); err != nil { // the call keeps waiting unchanged
		return notApplied(ErrorNotTaken, "%s", err)
	}
	*call = changed
	call.Notes = append(call.Notes, orSomeone(d.Identity.Named(d.By))+" changed the arguments.")
	return nil
}

func notApplied(errorType, format string, args ...any) error {
	return temporal.NewNonRetryableApplicationError(fit(fmt.Sprintf(format, args...), maxWhy), errorType, nil)
}

// asked is a person's question about a tool call, put before deciding on it.
type asked struct {
	Tool     string `json:"tool"`
	By       string `json:"by"`
	Question string `json:"question"`
	Answer   string `json:"answer,omitempty"`
}

// recordAnswer stores the reply as the answer to all open questions. due reports that there were some,
// so this reply is not the agent's last.
func (as *approvals) recordAnswer(out activities.GenerateOut) (due bool) {
	for n := range as.run.state.Asked {
		if a := &as.run.state.Asked[n]; a.Answer == "" && out.Preview != "" {
			a.Answer, due = out.Preview, true
		}
	}
	return due
}

// answers returns the questions and answers about earlier calls of the tool, for the next decider, and removes them.
func (as *approvals) answers(tool string) (notes []string) {
	as.run.state.Asked = slices.DeleteFunc(as.run.state.Asked, func(a asked) bool {
		if a.Tool != tool {
			return false
		}
		answer := "The agent did not answer."
		if a.Answer != "" {
			answer = "The agent says: " + a.Answer
		}
		notes = append(notes, fmt.Sprintf("%s asked: %s %s", a.By, a.Question, answer))
		return true
	})
	return notes
}

func orSomeone(by string) string {
	if by == "" {
		return "Someone"
	}
	return by
}
