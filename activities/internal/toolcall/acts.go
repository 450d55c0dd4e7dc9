package toolcall

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// decidedActs returns the audit entries for a person's decision about a call, or for the rule that allows it. If the
// call was approved, they also record that it is about to begin. The result is empty if no decision was needed.
func (c *toolCall) decidedActs(ctx context.Context, d *job.Decision) []audit.Act {
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

func (c *toolCall) decidedAct(ctx context.Context, d job.Decision) audit.Act {
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
func (c *toolCall) seen(ctx context.Context, d job.Decision) (text, ref string) {
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

// recordStale records an approval whose call has changed since.
func (c *toolCall) recordStale(ctx context.Context) error {
	d := c.in.Decision
	if d == nil {
		return nil
	}
	act := c.decidedAct(ctx, *d)
	act.Investigation, act.Execution = c.Ref.Investigation, c.Ref.Execution
	act.Key = fmt.Sprintf("decided %s %s/%s %s", c.Writer.RunID, c.Ref.Execution, c.call.ID, d.Digest)
	return c.Records.Audit(ctx, act)
}

// endedActs returns the audit entries for the outcome of a call that a person decided about or that a rule allowed. d is
// a decision without an intent row, because the call has not begun.
func (c *toolCall) endedActs(ctx context.Context, d *job.Decision, body transcript.Body) (acts []audit.Act) {
	approved := c.in.Decision != nil && c.in.Decision.Approved
	if d == nil && !approved && c.rule == nil && !c.byRule {
		return nil
	}
	if d != nil {
		acts = append(acts, c.decidedAct(ctx, *d))
	}
	return append(acts, audit.Act{
		What: audit.Executed, Call: c.call.ID, Tool: c.call.Name,
		Detail: audit.Detail("status", body.Status, "error_type", body.ErrorType, "size", fmt.Sprint(body.Size), "blob", body.Blob,
			"sends", c.sent(body)),
	})
}

// sent says how many requests may have reached the tool's server. An earlier attempt that was interrupted has not counted its own. An
// empty string means none, or a tool without a server.
func (c *toolCall) sent(body transcript.Body) string {
	interrupted := c.state.begunEarlier() || c.state == refusedAfterIntent || body.ErrorType == tool.ErrorOutcomeUnknown && c.sends == 0
	server, _ := tool.Split(c.call.Name)
	switch {
	case server == "" || c.sends == 0 && !interrupted:
		return ""
	case c.sends == 0:
		return "unknown"
	case interrupted:
		return fmt.Sprintf("at least %d", c.sends)
	}
	return fmt.Sprint(c.sends)
}

// maskedWords masks a person's text about a call.
func (c *toolCall) maskedWords(ctx context.Context, text string) string {
	masked, err := c.MaskData(ctx, c.Plan, "reason", text)
	if err != nil {
		return "[hidden: it could not be masked]"
	}
	return masked
}
