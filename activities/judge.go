package activities

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/tool"
)

// decide asks the policy, once more: what was offered may not be what is called.
func (c *toolCall) decide(ctx context.Context, catalogues []string) (tool.Decision, *tool.Refusal, error) {
	tools, _, err := c.offered(ctx, catalogues)
	if err != nil {
		return tool.Decision{}, nil, err
	}
	decision, refusal := c.judge(ctx, tools)
	return decision, refusal, c.noRules
}

func (c *toolCall) judge(ctx context.Context, tools *tool.Set) (tool.Decision, *tool.Refusal) {
	decision, err := tools.DecideIn(c.situation(ctx, c.call, c.in.Decision != nil), c.call.Name, c.call.Arguments)
	c.rule, c.judged = decision.Rule, decision
	if c.call.Respelled = ""; len(decision.Coerced) > 0 {
		c.call.Respelled = "[Arguments were read as the schema asks: " + strings.Join(decision.Coerced, ", ") + ".]"
	}
	if refusal, refused := errors.AsType[*tool.Refusal](err); refused {
		return decision, refusal
	}
	if c.noRules = err; err != nil {
		return decision, nil
	}
	if decision.NeedsApproval && (c.in.Decision == nil || !c.in.Decision.Approved) {
		_, _, err := c.shown(ctx, decision)
		if refusal, refused := errors.AsType[*tool.Refusal](err); refused {
			return decision, refusal // this is why nobody was asked
		}
		if c.in.Decision == nil && (decision.Remember || c.ruled) {
			return decision, nil // the rule that let it through does so no more: now somebody is asked
		}
		text := fmt.Sprintf("Tool %s needs a person's approval, and there is none.", decision.Spec.Name)
		return decision, &tool.Refusal{Type: tool.ErrorPermissionDenied, Message: text}
	}
	return decision, nil
}
