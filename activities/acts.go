package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/internal/audit"
	"github.com/inquest-dev/inquest/internal/clip"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/reveal"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// decidedActs returns the audit entries for a person's decision about a call, or for the rule that allows it. If the
// call was approved, they also record that it is about to begin. The result is empty if no decision was needed.
func (c *toolCall) decidedActs(ctx context.Context, d *Decision) []audit.Act {
	if d == nil && c.rule != nil {
		return []audit.Act{{
			At: time.Now(), What: audit.RuleUsed, Call: c.call.ID, Tool: c.call.Name,
			Detail: audit.Detail("rule", c.rule.ID, "version", c.rule.Version(), "says", c.maskedWords(ctx, c.rule.Said()),
				"digest", c.judged.Digest()),
		}}
	}
	if d == nil {
		return nil
	}
	acts := []audit.Act{c.decidedAct(ctx, *d)}
	if d.Approved {
		acts = append(acts, audit.Act{
			At: time.Now(), What: audit.Began, Call: c.call.ID, Tool: c.call.Name, Detail: audit.Detail("digest", d.Digest),
		})
	}
	return acts
}

func (c *toolCall) decidedAct(ctx context.Context, d Decision) audit.Act {
	said := "denied"
	switch {
	case d.Approved:
		said = "approved"
	case d.Question != "":
		said = "asked back"
	}
	seen, ref := c.seen(ctx, d)
	decided := audit.Act{
		At: d.At, What: audit.Decided, Who: d.Who.Named(d.By), Call: c.call.ID, Tool: c.call.Name,
		Detail: audit.Detail("decision", said, "reason", c.maskedWords(ctx, d.Reason), "question", c.maskedWords(ctx, d.Question),
			"digest", d.Digest, "seen", seen, "seen_ref", ref, "edited", d.Edit, "also", strings.Join(d.Also, ", ")),
	}
	if d.Who != nil {
		decided.Channel = d.Who.Channel
	}
	return decided
}

// seen returns the arguments that were shown to the person who decided. If they are long, text holds their beginning and
// ref names a blob with all of them. Both are empty if the call has changed since: the approval request for that digest
// has the arguments.
func (c *toolCall) seen(ctx context.Context, d Decision) (text, ref string) {
	if d.Digest != c.judged.Digest() {
		return "", ""
	}
	plain, _, err := c.shown(ctx, c.judged)
	if err != nil {
		return "", ""
	}
	if text = reveal.JSON(plain); len(text) > maxShown {
		ref, _ = c.Blobs.PutBlob(ctx, []byte(text)) // the blob exists: it was written when the approval was requested
	}
	return clip.Bytes(text, maxShown), ref
}

// tellAnew records an approval whose call has changed since.
func (c *toolCall) tellAnew(ctx context.Context) error {
	d := c.in.Decision
	if d == nil {
		return nil
	}
	act := c.decidedAct(ctx, *d)
	act.Investigation, act.Execution = c.ref.Investigation, c.ref.Execution
	act.Key = fmt.Sprintf("decided %s %s/%s %s", c.writer.RunID, c.ref.Execution, c.call.ID, d.Digest)
	return c.Records.Audit(ctx, act)
}

// endedActs returns the audit entries for the outcome of a call that a person decided about or that a rule allowed. d is
// a decision for which no intent was written, because the call has not begun.
func (c *toolCall) endedActs(ctx context.Context, d *Decision, body transcript.Body) (acts []audit.Act) {
	approved := c.in.Decision != nil && c.in.Decision.Approved
	if d == nil && !approved && c.rule == nil && !c.byRule {
		return nil
	}
	if d != nil {
		acts = append(acts, c.decidedAct(ctx, *d))
	}
	sends := ""
	if c.sends > 0 {
		sends = fmt.Sprint(c.sends)
	}
	return append(acts, audit.Act{
		What: audit.Executed, Call: c.call.ID, Tool: c.call.Name,
		Detail: audit.Detail("status", body.Status, "error_type", body.ErrorType, "size", fmt.Sprint(body.Size), "blob", body.Blob,
			"sends", sends),
	})
}

// maskedWords masks a person's text about a call.
func (c *toolCall) maskedWords(ctx context.Context, text string) string {
	masked, err := c.maskData(ctx, c.plan, "reason", text)
	if err != nil {
		return "[hidden: it could not be masked]"
	}
	return masked
}

// Tell adds messages that people sent directly to a workflow to the audit trail.
func (a *Activities) Tell(ctx context.Context, in TellIn) error {
	ctx, stop := a.attend(ctx)
	defer stop()
	return storeFailure(ended(ctx, a.keepActs(ctx, in.Plan, in.Acts)))
}

// keepActs masks the acts that a workflow reports of people and adds them to the audit trail. The workflow has numbered
// them in their keys.
func (a *Activities) keepActs(ctx context.Context, planHash string, acts []audit.Act) error {
	run := activity.GetInfo(ctx).WorkflowExecution.RunID
	acts = slices.Clone(acts) // a local activity gets the workflow's own slice
	for n, act := range acts {
		detail, err := a.maskedDetail(ctx, planHash, act.Detail)
		if err != nil {
			return err
		}
		acts[n].Detail, acts[n].Key = detail, run+" "+act.Key
	}
	return a.Records.Audit(ctx, acts...)
}

// maskedWaits returns the open questions with the notes masked that repeat what other people said.
func (a *Activities) maskedWaits(ctx context.Context, planHash string, waits record.Waits) (record.Waits, error) {
	waits.Approvals = slices.Clone(waits.Approvals)
	for n, approval := range waits.Approvals {
		if len(approval.Notes) == 0 || planHash == "" {
			continue
		}
		p, err := a.plan(ctx, planHash)
		if err != nil {
			return waits, err
		}
		notes := slices.Clone(approval.Notes)
		for i, note := range notes {
			if notes[i], err = a.maskData(ctx, p, "a note", note); err != nil {
				return waits, err
			}
		}
		waits.Approvals[n].Notes = notes
	}
	return waits, nil
}

func (a *Activities) maskedDetail(ctx context.Context, planHash string, detail json.RawMessage) (json.RawMessage, error) {
	if planHash == "" || len(detail) == 0 { // it ended before there was a plan with masking settings
		return nil, nil
	}
	p, err := a.plan(ctx, planHash)
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	_ = json.Unmarshal(detail, &texts) // written by audit.Detail
	for name, text := range texts {
		if texts[name], err = a.maskData(ctx, p, requestData, text); err != nil {
			return nil, err
		}
	}
	return json.Marshal(texts)
}
