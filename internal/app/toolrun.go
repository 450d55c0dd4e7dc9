package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/mask"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/ratelimit"
	"github.com/inquest-dev/inquest/internal/tool"
)

// ToolCall is a call that the policy allows, ready to be made.
type ToolCall struct {
	tool.Decision
	box  *Toolbox
	user user
}

// Prepare decides whether an agent, or with "" nobody in particular, may make a
// call, and how. Arguments are a JSON object, "" for an empty one. The error is a
// *config.PlanError for an unknown agent, and a *tool.Refusal for a call that is
// not allowed, not valid, or of no tool; anything else is a server's.
func (b *Toolbox) Prepare(ctx context.Context, agentName, name, arguments string) (*ToolCall, error) {
	u, err := b.user(agentName)
	if err != nil {
		return nil, err
	}
	decision, err := b.set(u, nil).Decide(name, arguments) // built in: nobody has to be asked
	if isUnknown(err) {
		decision, err = b.decide(ctx, u, name, arguments)
	}
	if err != nil {
		return nil, err
	}
	return &ToolCall{Decision: decision, box: b, user: u}, nil
}

// decide asks the tool's server, or where the name has none, all of them: one
// of theirs may have been meant.
func (b *Toolbox) decide(ctx context.Context, u user, name, arguments string) (tool.Decision, error) {
	servers := u.plan.Servers
	if server, ok := u.serverOf(name); ok {
		servers = append(servers[:0:0], server)
	}
	catalogues, unreached := b.catalogues(ctx, servers)
	if ctx.Err() != nil {
		return tool.Decision{}, ctx.Err()
	}
	decision, err := b.set(u, catalogues).Decide(name, arguments)
	if isUnknown(err) && len(unreached) > 0 {
		err = errors.Join(unreached...) // it may well be there
	}
	return decision, err
}

func isUnknown(err error) bool {
	refusal, ok := errors.AsType[*tool.Refusal](err)
	return ok && refusal.Type == tool.ErrorUnknownTool
}

// Make makes the call. Whatever the tool or its server does wrong is in the
// result; the error is a *RateLimitError, or for a ctx that ended.
func (c *ToolCall) Make(ctx context.Context) (tool.Result, error) {
	id := "tool-" + rand.Text()
	if err := c.reserve(ctx, id); err != nil {
		return tool.Result{}, err
	}
	if limit := c.Within(c.user.plan.Timeouts.Tool.D()); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	result, err := c.run(ctx, tool.Call{Name: c.Spec.Name, Arguments: c.Arguments, Key: id, Session: id})
	if err != nil {
		return result, err
	}
	masker, err := maskerOf(c.user.plan.MaskingOf(c.Spec.Name, nil))
	if err != nil {
		return tool.Result{}, fmt.Errorf("mask the result of %s: %w", c.Spec.Name, err)
	}
	return activities.MaskResult(ctx, masker, c.Spec.Name, result)
}

// maskerOf is the masker of a masking; nil masks nothing.
func maskerOf(masking *plan.Masking) (*mask.Masker, error) {
	if masking == nil {
		return nil, nil
	}
	return mask.New(*masking)
}

func (c *ToolCall) run(ctx context.Context, call tool.Call) (tool.Result, error) {
	if server, _ := tool.Split(call.Name); server == "" {
		return c.box.builtins.Call(ctx, c.user.plan, call)
	}
	defer c.box.pool.End(call.Session)
	return c.box.pool.Call(ctx, call)
}

// reserve takes a place in the agent's window. Nobody in particular has none.
func (c *ToolCall) reserve(ctx context.Context, key string) error {
	name := c.user.plan.Definition
	if c.RatePerMinute == 0 || name == "" || c.box.opts.Shared == nil {
		return nil
	}
	wait, err := c.box.opts.Shared.Reserve(ctx, ratelimit.Reservation{
		Agent: name, Tool: c.Spec.Name, Key: key, Limit: c.RatePerMinute, Window: time.Minute,
	})
	if err != nil {
		return err
	}
	if wait > 0 {
		return &RateLimitError{Agent: name, Tool: c.Spec.Name, PerMinute: c.RatePerMinute, RetryAfter: wait}
	}
	return nil
}

// RateLimitError says that an agent has called a tool as often as it may.
type RateLimitError struct {
	Agent, Tool string
	PerMinute   int
	RetryAfter  time.Duration
}

func (e *RateLimitError) Error() string {
	return fmt.Sprintf("Tool %s may be called %d times a minute by %s: try again in %s.",
		e.Tool, e.PerMinute, e.Agent, e.RetryAfter.Round(time.Second/10))
}
