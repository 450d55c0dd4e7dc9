package toolcall

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/ratelimit"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/tool"
)

// reserve takes a place in the tool's rate limit. A positive wait means the limit is used up for that long.
func (c *toolCall) reserve(ctx context.Context, decision tool.Decision) (wait time.Duration, err error) {
	if decision.RatePerMinute == 0 {
		return 0, nil
	}
	return c.Limits.Reserve(ctx, ratelimit.Reservation{
		Agent: c.Agent.Definition, Tool: decision.Spec.Name, Key: c.key(), Limit: decision.RatePerMinute, Window: time.Minute,
	})
}

// key is the call's idempotency key. It is the same for every attempt, and differs if another reply asks for a call in
// the same place after a Temporal reset.
func (c *toolCall) key() string {
	digest := sha256.Sum256([]byte(c.reply.Writer.RunID + "\n" + c.call.Name + "\n" + c.call.Arguments))
	return fmt.Sprintf("%s/%s/%d/%d/%x", c.Ref.Investigation, c.Ref.Execution, c.in.Iteration, c.in.Call, digest[:6])
}

// execute makes the call, within the tool's timeout.
func (c *toolCall) execute(ctx context.Context, decision tool.Decision) (tool.Result, error) {
	spec := decision.Spec
	callCtx, cancel := tool.WithPausable(ctx, decision.Within(c.Agent.Timeouts.Tool.D()))
	defer cancel()
	call := tool.Call{
		Name: spec.Name, Arguments: decision.Arguments, Written: c.call.Arguments, Waived: decision.Waived, Session: c.Ref.Session(),
		Investigation: c.Ref.Investigation, Execution: c.Ref.Execution, Iteration: c.in.Iteration,
		Class: spec.Class(), Sent: c.in.Sent, Key: c.key(), Late: c.late(ctx, spec.Name),
		Ask: c.ask(),
	}
	if c.claim != nil {
		call.Fence = func(context.Context) error { return c.claim.ensure(ctx) } // ctx, not callCtx: time spent on the store is not the tool's
	}
	ready, began := c.ready(spec.Name), time.Now()
	live := job.NewLive(c.Job, c.in.Iteration+1, 0) // the position of the model's next reply
	defer live.Stop()
	call.Progress = c.reportProgress(ctx, live, spec.Name)
	result, err := c.send(callCtx, call)
	c.sends = result.Sends
	if c.claim != nil {
		written, asking := c.claim.state()
		if written {
			c.state = intended
		}
		if asking && err == nil && result.ErrorType == tool.ErrorTimeout && !result.Sent {
			err = errors.New("the intent of the call was not written in time")
		}
	}
	c.elapsed = time.Since(began)
	if ready {
		c.timing = job.Timing{Took: c.elapsed, Answered: err == nil && ctx.Err() == nil && result.ErrorType != tool.ErrorUnavailable}
	}
	switch {
	case err != nil:
		return tool.Result{}, err
	case ctx.Err() != nil && result.Status == tool.StatusError: // cut: the workflow decides what to report
		return tool.Result{}, ctx.Err()
	case result.ErrorType == tool.ErrorUnavailable && !c.in.Last &&
		(spec.Class() != tool.NonIdempotent || !c.state.recorded() && !result.Sent):
		if result, err = c.Masked(ctx, spec.Name, result); err != nil {
			return result, err
		}
		return result, job.ServerUnavailable(job.ServerAway{Why: result.Away, Sent: result.Sends}, errors.New(result.Content))
	}
	return tool.Unsure(spec, result), nil
}

func (c *toolCall) send(ctx context.Context, call tool.Call) (tool.Result, error) {
	if server, _ := tool.Split(call.Name); server != "" {
		return c.Servers.Call(ctx, call)
	}
	if err := call.Allowed(ctx); err != nil {
		return tool.Result{}, err
	}
	if recalls(call.Name) {
		return c.recallPast(ctx, call)
	}
	if call.Name == agent.ToolSearchTools {
		return c.searchTools(call.Arguments), nil
	}
	return c.Builtins.Call(ctx, c.Agent, call)
}

// ready reports whether this worker can make the call at once. Opening a session can take long.
func (c *toolCall) ready(name string) bool {
	server, _ := tool.Split(name)
	return server == "" || c.Sessions == nil || c.Sessions.Open(server, c.Ref.Session())
}

// maxProgress limits a call's progress messages, in bytes.
const maxProgress = 4 << 10

// reportProgress shows a call's progress in live views.
func (c *toolCall) reportProgress(ctx context.Context, live *job.Live, name string) func(string) {
	var mu sync.Mutex
	said := 0
	return func(text string) {
		mu.Lock()
		defer mu.Unlock()
		if said > maxProgress {
			return
		}
		shown, err := c.Masked(ctx, name, tool.Success(text))
		if err != nil {
			return
		}
		line := name + ": " + job.Preview(shown.Content) + "\n"
		said += len(line)
		live.Add(ctx, llm.Delta{Thinking: line})
	}
}
