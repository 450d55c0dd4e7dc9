package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/clip"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/reveal"
	"github.com/inquest-dev/inquest/internal/score"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Approve holds the parts of a call that its approver sees.
type Approve struct {
	ID        string     `json:"id"` // of the call, unique within the execution
	Risk      agent.Risk `json:"risk,omitempty"`
	Arguments string     `json:"arguments,omitempty"` // canonical, masked and marked: see package reveal
	// Ref names the blob with all of the arguments if they are longer than Arguments; Size is their length in bytes.
	Ref  string `json:"ref,omitempty"`
	Size int    `json:"size,omitempty"`
	// Hidden is how many bytes of the arguments are masked.
	Hidden int `json:"hidden,omitempty"`
	// Digest is the call's digest: see tool.Decision.
	Digest string `json:"digest"`
	// Approvers lists the people who may decide. Those in NotBy must not approve.
	Approvers plan.Approvers `json:"approvers,omitzero"`
	NotBy     []string       `json:"not_by,omitempty"`
	// Notes are further facts that the approver needs.
	Notes []string `json:"notes,omitempty"`
	// Remember is the tool's definition if the approval may be remembered, otherwise empty.
	Remember string `json:"remember,omitempty"`
	// Edit names the blob with a person's arguments, if they replace the agent's: see Decision.
	Edit string `json:"edit,omitempty"`
	// Reason is the agent's text in the reply that asks for the call, or else its reasoning. PlanStep is the step of a
	// plan that the call carries out. Description is the tool server's description of the tool. All are masked and
	// shortened; empty means none.
	Reason      string `json:"reason,omitempty"`
	PlanStep    string `json:"plan_step,omitempty"`
	Description string `json:"description,omitempty"`
}

// judged summarises a reply for the workflow, including whether it meets the contract and which calls need approval.
// The reply is already in the transcript at this point, so a failure here does not cost a second model call.
func (j *job) judged(ctx context.Context, entries []transcript.Entry) (GenerateOut, error) {
	out := generateOut(entries)
	n := slices.IndexFunc(entries, func(e transcript.Entry) bool { return e.Kind == transcript.KindReply })
	if n < 0 {
		return out, nil
	}
	reply := entries[n]
	if len(reply.Calls) == 0 {
		var err error
		if out.Invalid = j.invalid(reply.Text); out.Invalid == "" {
			out.Invalid, err = j.unproven(ctx, reply)
		} else {
			out.Stands = j.mayStand()
		}
		if j.row.Name == scoringType {
			_, _, out.Scored = score.Parse(reply.Text)
		}
		return out, err
	}
	if reply.Forced { // no tools were offered
		return out, nil
	}
	if j.tools == nil {
		if _, _, err := j.offeredNow(ctx); err != nil {
			return out, err
		}
	}
	for _, call := range reply.Calls {
		judged, err := j.judgedCall(ctx, reply, call)
		if err != nil {
			return out, err
		}
		out.Calls = append(out.Calls, judged)
	}
	return out, nil
}

// Limits on the arguments of calls awaiting approval that go into history, in bytes: per call, and for all calls of a
// reply together. The store has the full arguments.
const (
	maxShown         = 4 << 10
	maxShownTogether = 16 << 10
)

// judgedCall summarises a call for the workflow. A call that the policy refuses needs no approval, and
// any worker can answer it.
func (j *job) judgedCall(ctx context.Context, reply transcript.Entry, call transcript.Call) (Call, error) {
	decision, err := j.tools.DecideIn(j.situation(ctx, call, false), call.Name, call.Arguments)
	if _, refused := errors.AsType[*tool.Refusal](err); refused {
		return Call{Name: call.Name}, nil
	}
	if err != nil {
		return Call{}, err
	}
	out := Call{Name: call.Name, Queue: call.Queue, Own: call.Own, Sub: subCall(decision)}
	if decision.NeedsApproval {
		out.Approve, err = j.approve(ctx, reply, call, decision, min(maxShownTogether/len(reply.Calls), maxShown))
	} else if decision.Rule == nil && out.Queue == "" && !out.Own && out.Sub == nil && decision.Spec.Class() == tool.Safe {
		out.Quick = j.quick(ctx, decision.Spec.Name, j.agent.Tools.QuickUnder)
	}
	if _, refused := errors.AsType[*tool.Refusal](err); refused {
		return Call{Name: call.Name}, nil
	}
	return out, err
}

// approve returns the approver's view of a call: the whole call as it would be made, with secrets masked and deceptive
// characters marked. The error is a *tool.Refusal if masking would hide too much of it. reply is the reply that asks for
// the call.
func (j *job) approve(
	ctx context.Context, reply transcript.Entry, call transcript.Call, decision tool.Decision, limit int,
) (*Approve, error) {
	text, hidden, err := j.shown(ctx, decision)
	if err != nil {
		return nil, err
	}
	plain := text
	text = reveal.JSON(text)
	out := &Approve{
		ID: call.ID, Risk: decision.Spec.Risk, Arguments: text, Hidden: hidden, Digest: decision.Digest(), Approvers: decision.Approvers,
		Description: clip.Text(oneLine(decision.Spec.Description), maxDescription),
	}
	j.explain(ctx, out, reply, call, decision.Spec.Name)
	if decision.Approvers.NotOwn {
		if out.NotBy, err = j.requesters(ctx); err != nil {
			return nil, err
		}
	}
	if points := reveal.Points(plain, text); len(points) > 0 {
		out.Notes = append(out.Notes, "Invisible, bidirectional and look-alike characters are shown as code points: "+
			clip.Fit(strings.Join(points, ", "), maxPoints))
	}
	if decision.Why != "" {
		out.Notes = append(out.Notes, "The agent "+decision.Why+".")
	}
	if decision.Remember && hidden == 0 {
		out.Remember = decision.Spec.Definition()
	}
	if len(text) <= limit {
		return out, nil
	}
	out.Arguments, out.Size = clip.Bytes(text, limit), len(text)
	if out.Ref, err = j.Blobs.PutBlob(ctx, []byte(text)); err != nil {
		return nil, fmt.Errorf("keep the arguments of %s: %w", call.Name, err)
	}
	return out, nil
}

// Limits on the explanation of a call to its approver, in bytes: the agent's words for one call and for all calls of a
// reply together, a plan's step, and a tool's description.
const (
	maxReason         = 600
	maxReasonTogether = 8 << 10
	maxPlanStep       = 300
	maxDescription    = 300
)

// explain adds the agent's reason for a call: its text, or else its reasoning. Text that cannot be masked is
// omitted, because the approver can judge the call without it.
func (j *job) explain(ctx context.Context, out *Approve, reply transcript.Entry, call transcript.Call, name string) {
	masker, err := j.maskers.get(j.agent.MaskingOf(name, j.plan.AlertMasking))
	if err != nil {
		return
	}
	if text, err := maskText(ctx, masker, oneLine(cmp.Or(strings.TrimSpace(reply.Text), reply.Thinking))); err == nil {
		out.Reason = ending(text, min(maxReason, maxReasonTogether/max(len(reply.Calls), 1)))
	}
	if text, err := maskText(ctx, masker, oneLine(call.Step)); err == nil {
		out.PlanStep = clip.Text(text, maxPlanStep)
	}
}

// oneLine collapses whitespace to single spaces.
func oneLine(text string) string { return strings.Join(strings.Fields(tool.ValidText(text)), " ") }

// ending returns the last n bytes of a text, starting at a word. An agent's text usually ends with its next action.
func ending(text string, n int) string {
	if len(text) <= n {
		return text
	}
	end := strings.ToValidUTF8(text[len(text)-n:], "")
	if _, words, ok := strings.Cut(end, " "); ok {
		end = words
	}
	return "… " + end
}

// maxPoints limits the list of code points, in characters.
const maxPoints = 200

// shown returns a call's arguments with secrets masked, and how many bytes are hidden. The error is a *tool.Refusal.
func (j *job) shown(ctx context.Context, decision tool.Decision) (text string, hidden int, err error) {
	name, whole := decision.Spec.Name, string(decision.Arguments)
	masker, err := j.maskers.get(j.agent.MaskingOf(name, j.plan.AlertMasking))
	if err == nil {
		text, err = maskText(ctx, masker, whole)
	}
	if err != nil {
		return "", 0, notToBeSeen(name, "Secrets in its arguments cannot be masked")
	}
	secret := hiddenIn(whole, text)
	return text, len(secret), refuseHidden(name, secret)
}

// maxHidden limits how much masking may hide of a call that needs approval, in bytes.
const maxHidden = 512

// notPlain lists characters with which hidden text could do more than a token does.
const notPlain = ";|&$`<>(){}'\"\\"

// refuseHidden refuses a call whose effect would be hidden from the approver. The model decides which text
// looks like a secret, and so what masking hides.
func refuseHidden(name, hidden string) error {
	suspect := func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(notPlain, r) }
	if len(hidden) <= maxHidden && strings.IndexFunc(hidden, suspect) < 0 && !reveal.Hides(hidden) {
		return nil
	}
	return notToBeSeen(name, fmt.Sprintf(
		"Masking would hide %d bytes of its arguments that look like secrets but are more than a plain token", len(hidden)))
}

// notToBeSeen refuses a call that cannot be shown to its approver.
func notToBeSeen(name, why string) error {
	return &tool.Refusal{Type: tool.ErrorPermissionDenied, Message: fmt.Sprintf(
		"Tool %s was not called: the call needs a person's approval, but part of it cannot be shown. %s. "+
			"Refer to credentials by name (a variable or a file) instead of writing them, and call the tool again.", name, why)}
}

var marker = regexp.MustCompile(`\[MASKED[A-Z0-9_]*\]`)

// hiddenIn returns all text that masking has hidden, joined.
func hiddenIn(whole, masked string) string {
	if whole == masked {
		return ""
	}
	shown, rest, hidden := marker.Split(masked, -1), whole, ""
	for n, part := range shown {
		at := strings.Index(rest, part)
		if n == len(shown)-1 {
			at = strings.LastIndex(rest, part)
		}
		if at < 0 || n == 0 && at > 0 {
			return between(whole, masked)
		}
		hidden, rest = hidden+rest[:at], rest[at+len(part):]
	}
	if rest != "" {
		return between(whole, masked)
	}
	return hidden
}

// between returns a without the prefix and suffix it shares with b.
func between(a, b string) string {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a
}
