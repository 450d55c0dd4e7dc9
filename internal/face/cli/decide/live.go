package decide

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/live"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/remember"
	"github.com/inquest-dev/inquest/workflows"
)

// CarryOut carries out a request from the live view and describes the result.
func CarryOut(ctx context.Context, c *base.CLI, id string, act live.Act) (line string, err error) {
	by := base.UserName()
	if signal, ok := system.SignalNamed(string(act.Do)); ok {
		s, failed := c.Client().Steer(ctx, id, signal.Name, signal.Payload(act.Text, system.Target{}, by))
		_, line, err = outcome(ctx, failed, signal.Name, statusCommand(id), nil, steerLine(s, signal.Name))
	}
	switch act.Do {
	case live.Decide:
		line, err = decideLive(ctx, c, id, act)
	case live.Answer:
		a := workflows.Answer{ID: act.Question.ID, Text: act.Text, Approved: act.Approved, By: by}
		if act.Question.Kind == "agent_review" && !act.Question.Review {
			a.Text, a.Decision = "", act.Text
		}
		out, failed := c.Client().Answer(ctx, id, a)
		_, line, err = outcome(ctx, failed, "the answer", "starter inbox", nil, answerLine(id, out))
	}
	if err != nil {
		err = base.Explain(err)
	}
	return line, err
}

// decideLive decides a call from the live view. For Always, it also saves the previewed rule, for act.For.
func decideLive(ctx context.Context, c *base.CLI, id string, act live.Act) (line string, err error) {
	d := decisionOf(act.Approval)
	d.Approved = act.Approved
	var st base.Store
	var rule remember.Rule
	switch act.Way {
	case live.Edit:
		d.Arguments = json.RawMessage(act.Text)
	case live.AskAgent:
		d.Ask = act.Text
	case live.Reassign:
		d.HandTo = act.Text
	case live.Always:
		if st, rule, err = remembering(ctx, c, id, d, &ruleFlags{rule: remember.Rule{By: d.By}, lasts: act.For}); err != nil {
			return "", err
		}
	default:
		d.Reason = act.Text
	}
	out, err := c.Client().Decide(ctx, id, d)
	_, line, err = outcome(ctx, err, "the decision about "+d.CallID, "starter inbox", nil, decisionLine(out))
	if err != nil || act.Way != live.Always {
		return line, err
	}
	if err := st.AddRule(ctx, rule); err != nil {
		return "", fmt.Errorf("the call was approved, but the rule was not saved: %w", err)
	}
	return line + " · rule " + rule.ID + " saved", nil
}

// decisionOf returns a decision on the call that was shown.
func decisionOf(a record.Approval) workflows.Decide {
	return workflows.Decide{CallID: a.Name(), Digest: a.Digest, By: base.UserName(), Identity: base.Identity()}
}

// PreviewOf describes which past calls a rule based on this call would have allowed.
func PreviewOf(ctx context.Context, c *base.CLI, id string, a record.Approval) (string, error) {
	d := decisionOf(a)
	st, r, err := remembering(ctx, c, id, d, &ruleFlags{rule: remember.Rule{By: d.By}})
	if err != nil {
		return "", err
	}
	p, err := previewed(ctx, st, r)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = printPreview(c, &out, r, p)
	return out.String(), err
}

// Lacking loads all of a call's arguments, or says why it cannot.
func Lacking(ctx context.Context, c *base.CLI, a *record.Approval) string {
	if err := c.Client().Text(ctx, &a.Arguments, a.ArgumentsRef); err != nil {
		return fmt.Sprintf("only the first %d of %d bytes are available: %v", len(a.Arguments), a.Bytes(), err)
	}
	if len(a.Arguments) < a.Bytes() {
		return fmt.Sprintf("only the first %d of %d bytes are shown; run `starter approvals` to see all of them", len(a.Arguments), a.Bytes())
	}
	return ""
}
