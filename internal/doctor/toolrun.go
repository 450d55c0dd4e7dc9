package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/kit/ratelimit"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/internal/trust/mask"
)

// ToolCall is a call that the policy allows, ready to be made.
type ToolCall struct {
	tool.Decision
	box  *Toolbox
	user user
}

// Prepare decides whether and how an agent may make a call. An empty agent name means the anonymous caller. Arguments are a JSON
// object; an empty string means an empty object. The error is a *configuration.PlanError for an unknown agent, and a *tool.Refusal for a
// call that is not allowed, invalid, or of an unknown tool. Other errors come from a server.
func (b *Toolbox) Prepare(ctx context.Context, agentName, name, arguments string) (*ToolCall, error) {
	u, err := b.user(agentName)
	if err != nil {
		return nil, err
	}
	decision, err := b.set(u, nil).Decide(name, arguments) // built-in tools need no server
	if isUnknown(err) {
		decision, err = b.decide(ctx, u, name, arguments)
	}
	if err != nil {
		return nil, err
	}
	return &ToolCall{Decision: decision, box: b, user: u}, nil
}

// decide asks the tool's server for its tools. If the name contains no server, it asks all servers, because a tool of any of them
// may be meant.
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
		err = errors.Join(unreached...) // the tool may exist on one of these
	}
	return decision, err
}

func isUnknown(err error) bool {
	refusal, ok := errors.AsType[*tool.Refusal](err)
	return ok && refusal.Type == tool.ErrorUnknownTool
}

// MayApprove returns an error if the caller, who requested the call, may not approve it alone. A nil identity is an
// unauthenticated caller, who may approve what everyone may.
func (c *ToolCall) MayApprove(who *agent.Identity) error {
	rules, name := c.Approvers, c.Spec.Name
	switch {
	case rules.Needed > 1:
		return fmt.Errorf("a call to %s needs the approval of %d people: start an investigation whose agent requests it", name, rules.Needed)
	case rules.NotOwn:
		return fmt.Errorf("you may not approve your own call to %s: start an investigation whose agent requests it", name)
	case len(rules.Who) > 0 && !who.Among(rules.Who):
		return fmt.Errorf("you may not decide on calls to %s; allowed: %s", name, strings.Join(rules.Who, ", "))
	}
	return nil
}

// Make makes the call. The audit trail records the caller and the call before and after it. Errors of the tool or its server are in
// the result. The returned error is a *ratelimit.Error, the end of ctx, or an error of the store.
func (c *ToolCall) Make(ctx context.Context, who *agent.Identity) (result tool.Result, err error) {
	if err := c.confirm(ctx); err != nil {
		return tool.Result{}, err
	}
	id := "tool-" + rand.Text()
	if err := c.reserve(ctx, id); err != nil {
		return tool.Result{}, err
	}
	if err := c.audit(ctx, c.begins(ctx, id, who)...); err != nil {
		return tool.Result{}, err
	}
	defer func() {
		err = errors.Join(err, c.audit(context.WithoutCancel(ctx), c.ends(id, who, result, err)))
	}()
	if limit := c.Within(c.user.plan.Timeouts.Tool.D()); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	result, err = c.run(ctx, tool.Call{Name: c.Spec.Name, Arguments: c.Arguments, Class: c.Spec.Class(), Key: id, Session: id})
	if err != nil {
		return result, err
	}
	result = tool.Unsure(c.Spec, result)
	masker, err := mask.Of(c.user.plan.MaskingOf(c.Spec.Name, nil))
	if err != nil {
		return tool.Result{}, fmt.Errorf("mask the result of %s: %w", c.Spec.Name, err)
	}
	return activities.MaskResult(ctx, masker, c.Spec.Name, result)
}

// begins returns what to audit before the call: who makes it and, if an approval was needed, that this person approved it.
func (c *ToolCall) begins(ctx context.Context, id string, who *agent.Identity) []audit.Act {
	acts := []audit.Act{c.act(audit.Began, id, who, "agent", c.user.plan.Definition, "digest", c.Digest(),
		"arguments", clip.Bytes(reveal.JSON(mask.Shown(ctx, string(c.Arguments))), maxShownArguments))}
	if !c.NeedsApproval {
		return acts
	}
	decided := c.act(audit.Decided, id, who,
		"decision", "approved", "reason", "requested by the same person, outside of investigations", "digest", c.Digest())
	return append([]audit.Act{decided}, acts...)
}

// maxShownArguments is how much of a call's arguments the audit trail has, in bytes.
const maxShownArguments = 4 << 10

func (c *ToolCall) ends(id string, who *agent.Identity, result tool.Result, err error) audit.Act {
	status, kind := string(result.Status), result.ErrorType
	if err != nil {
		status, kind = string(tool.StatusError), tool.ErrorOutcomeUnknown
	}
	sends := ""
	if result.Sends > 0 {
		sends = fmt.Sprint(result.Sends)
	}
	return c.act(audit.Executed, id, who, "status", status, "error_type", kind, "size", fmt.Sprint(len(result.Content)), "sends", sends)
}

func (c *ToolCall) act(what audit.What, id string, who *agent.Identity, detail ...string) audit.Act {
	act := audit.Act{What: what, Call: id, Tool: c.Spec.Name, Detail: audit.Detail(detail...)}
	if who != nil {
		act.Who, act.Channel = who.Name, who.Channel
	}
	return act
}

func (c *ToolCall) audit(ctx context.Context, acts ...audit.Act) error {
	if c.box.opts.Shared == nil {
		return nil
	}
	return c.box.opts.Shared.Audit(ctx, acts...)
}

// confirm checks with the server that the tool of an approved call has not changed.
func (c *ToolCall) confirm(ctx context.Context) error {
	if server, _ := tool.Split(c.Spec.Name); server == "" || !c.NeedsApproval {
		return nil
	}
	now, err := c.box.decide(ctx, c.user, c.Spec.Name, string(c.Arguments))
	if err == nil && now.Digest() != c.Digest() {
		err = fmt.Errorf("the call to %s was not made: the tool's definition has changed since the call was approved; "+
			"request it again", c.Spec.Name)
	}
	return err
}

func (c *ToolCall) run(ctx context.Context, call tool.Call) (tool.Result, error) {
	if server, _ := tool.Split(call.Name); server == "" {
		return c.box.builtins.Call(ctx, c.user.plan, call)
	}
	defer c.box.pool.End(call.Session)
	return c.box.pool.Call(ctx, call)
}

// reserve takes a place in the agent's window. The anonymous caller has no window.
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
		return &ratelimit.Error{Agent: name, Tool: c.Spec.Name, PerMinute: c.RatePerMinute, RetryAfter: wait}
	}
	return nil
}
