package toolcall

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/tool"
)

// decide checks the policy again: the call may differ from the offer.
func (c *toolCall) decide(ctx context.Context, catalogues []string) (tool.Decision, *tool.Refusal, error) {
	tools, _, err := c.Offered(ctx, catalogues)
	if err != nil {
		return tool.Decision{}, nil, err
	}
	return c.judge(ctx, tools)
}

func (c *toolCall) judge(ctx context.Context, tools *tool.Set) (tool.Decision, *tool.Refusal, error) {
	if c.in.Decision == nil { // otherwise a person has decided on a real call
		var err error
		if c.isRecorded, err = c.recorded(ctx, tools, c.call); err != nil {
			return tool.Decision{}, nil, err
		}
	}
	decision, err := tools.DecideIn(c.situation(ctx, c.call, c.in.Decision != nil, c.isRecorded), c.call.Name, c.call.Arguments)
	c.rule, c.judged = decision.Rule, decision
	if c.call.Respelled = ""; len(decision.Coerced) > 0 {
		c.call.Respelled = "[Arguments were converted to match the schema: " + strings.Join(decision.Coerced, ", ") + ".]"
	}
	if refusal, refused := errors.AsType[*tool.Refusal](err); refused {
		return decision, refusal, nil
	}
	if err != nil { // the rules could not be read
		return decision, nil, err
	}
	if decision.NeedsApproval && (c.in.Decision == nil || !c.in.Decision.Approved) {
		_, _, err := c.shown(ctx, decision)
		if refusal, refused := errors.AsType[*tool.Refusal](err); refused {
			return decision, refusal, nil // this is why no approval was requested
		}
		if c.in.Decision == nil && (decision.Remember || c.outdated || decision.Repeated) {
			// A person is asked now: the rule that allowed it no longer does, or an older worker has judged the reply.
			return decision, nil, nil
		}
		text := fmt.Sprintf("Tool %s needs a person's approval, which was not given.", decision.Spec.Name)
		return decision, &tool.Refusal{Type: tool.ErrorPermissionDenied, Message: text}, nil
	}
	return decision, nil, nil
}
