package toolcall

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Limits on the arguments of calls awaiting approval that go into history, in bytes: per call, and for all calls of a
// reply together. The store has the full arguments.
const (
	maxShown         = 4 << 10
	maxShownTogether = 16 << 10
)

// approve returns the approver's view of a call: the whole call as it would be made, with secrets masked and deceptive
// characters marked. The error is a *tool.Refusal if masking would hide too much of it. reply is the reply that asks for
// the call.
func (j Calls) approve(
	ctx context.Context, reply transcript.Entry, call transcript.Call, decision tool.Decision, limit int,
) (*job.Approve, error) {
	text, hidden, err := j.shown(ctx, decision)
	if err != nil {
		return nil, err
	}
	plain := text
	text = reveal.JSON(text)
	out := &job.Approve{
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
func (j Calls) explain(ctx context.Context, out *job.Approve, reply transcript.Entry, call transcript.Call, name string) {
	masker, err := j.Maskers.Get(j.Agent.MaskingOf(name, j.Plan.AlertMasking))
	if err != nil {
		return
	}
	if text, err := job.MaskText(ctx, masker, oneLine(cmp.Or(strings.TrimSpace(reply.Text), reply.Thinking))); err == nil {
		out.Reason = ending(text, min(maxReason, maxReasonTogether/max(len(reply.Calls), 1)))
	}
	if text, err := job.MaskText(ctx, masker, oneLine(call.Step)); err == nil {
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
func (j Calls) shown(ctx context.Context, decision tool.Decision) (text string, hidden int, err error) {
	name, whole := decision.Spec.Name, string(decision.Arguments)
	masker, err := j.Maskers.Get(j.Agent.MaskingOf(name, j.Plan.AlertMasking))
	if err == nil {
		text, err = job.MaskText(ctx, masker, whole)
	}
	if err != nil {
		return "", 0, notToBeSeen(name, "Secrets in its arguments cannot be masked")
	}
	secret := hiddenIn(whole, text)
	return text, len(secret), refuseHidden(name, secret)
}

// maxHidden limits how much masking may hide of a call that needs approval, in bytes.
const maxHidden = 512

// notPlain lists the characters that let hidden text do more than a token can, such as start another shell command.
const notPlain = ";|&$`<>(){}'\"\\"

// refuseHidden refuses a call whose effect would be hidden from the approver. The model decides which text
// looks like a secret, and so what masking hides.
func refuseHidden(name, hidden string) error {
	suspect := func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(notPlain, r) }
	if len(hidden) <= maxHidden && strings.IndexFunc(hidden, suspect) < 0 && !reveal.Hides(hidden) {
		return nil
	}
	return notToBeSeen(name, fmt.Sprintf(
		"%d bytes of its arguments look like secrets and would be hidden. Only a plain token may be hidden: at most %d bytes, "+
			"without spaces, quotes or shell characters", len(hidden), maxHidden))
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

// maxSubName limits the name that a model gives for an agent, in bytes, because it goes into history.
const maxSubName = 300
