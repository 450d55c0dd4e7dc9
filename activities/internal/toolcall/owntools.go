package toolcall

import (
	"cmp"
	"context"
	"errors"

	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// RunOwn is the activity CallOwnTools.
func RunOwn(ctx context.Context, a *job.Worker, in job.CallOwnToolsIn) (job.CallOwnToolsOut, error) {
	j, err := a.Job(ctx, in.Ref)
	if err != nil {
		return job.CallOwnToolsOut{}, err
	}
	out, err := Calls{j}.callOwn(ctx, in)
	return out, job.StoreFailure(job.Ended(ctx, err))
}

func (j Calls) callOwn(ctx context.Context, in job.CallOwnToolsIn) (out job.CallOwnToolsOut, err error) {
	var memories []*toolCall
	reply, err := j.Transcripts.Reply(ctx, j.Ref.Scope(), in.Iteration)
	if err == nil || errors.Is(err, record.ErrNotFound) {
		err = cmp.Or(j.RequireSeen(ctx, []transcript.Entry{reply}), err)
	}
	if err != nil {
		return out, err
	}
	for _, n := range in.Calls {
		c := &toolCall{Calls: j, in: job.CallToolIn{Ref: in.Ref, Iteration: in.Iteration, Call: n}}
		if c.call, err = j.NthCall(reply, in.Iteration, n); err != nil {
			return out, err
		}
		if memory.IsTool(c.call.Name) && reply.Shared == 0 {
			memories = append(memories, c)
			continue
		}
		entry, err := c.run(ctx)
		if err != nil {
			return out, err
		}
		out.Seen = entry.Mark()
		if pause := pauseOf(entry); pause > 0 { // the last one counts
			out.Pause = pause
		}
	}
	if len(memories) == 0 {
		return out, nil
	}
	last, err := j.rememberAll(ctx, memories)
	if last.Seq > out.Seen.Seq {
		out.Seen = last.Mark()
	}
	return out, err
}

// togetherAttempts is how often the calls of a reply are tried in one transaction, in which one failure undoes all of
// them.
const togetherAttempts = 2

// rememberAll runs calls of memory tools. If they cannot be written together, it tries each alone, and the model is told
// which have failed. It returns the entry of the last result.
func (j Calls) rememberAll(ctx context.Context, calls []*toolCall) (last transcript.Entry, err error) {
	entries, err := j.remember(ctx, calls)
	if err == nil {
		return entries[len(entries)-1], nil
	}
	if job.Refused(err) || activity.GetInfo(ctx).Attempt <= togetherAttempts {
		return last, err
	}
	for _, c := range calls {
		if last, err = c.rememberAlone(ctx); err != nil {
			return last, err
		}
	}
	return last, nil
}

func (c *toolCall) rememberAlone(ctx context.Context) (transcript.Entry, error) {
	entries, err := c.remember(ctx, []*toolCall{c})
	if err == nil {
		return entries[0], nil
	}
	if ctx.Err() != nil {
		return transcript.Entry{}, err
	}
	c.Logger.Warn("memory call failed", "execution", c.Ref.Execution, "tool", c.call.Name, "error", err)
	failed := tool.Failure(tool.ErrorUnavailable, "Your memory is unavailable: nothing was read or changed. Try again later.")
	return c.write(ctx, failed) // if the call was written after all, that remains its result
}

// remember runs calls of memory tools in order, in one transaction with their results. A refusal by the policy is a
// result like any other.
func (j Calls) remember(ctx context.Context, calls []*toolCall) ([]transcript.Entry, error) {
	tools, _, err := j.OfferedNow(ctx)
	if err != nil {
		return nil, err
	}
	batch := memory.Batch{Scope: j.Ref.Scope(), Writer: j.Writer, Requires: j.Ref.Seen, Agent: j.Agent.Definition}
	for _, c := range calls {
		batch.Keys = append(batch.Keys, transcript.ResultKey(c.in.Iteration, c.in.Call))
	}
	return j.Memories.Journal(ctx, batch, func(tx memory.Tx, n int) (transcript.Body, error) {
		c := calls[n]
		result, err := c.recall(ctx, tools, tx)
		return transcript.Body{
			Text: result.Content, Call: &c.call, Status: string(result.Status), ErrorType: result.ErrorType,
			Result: transcript.Result{
				Size: len(result.Content), Decision: c.in.Decision.Said(), Digest: c.in.Decision.GivenDigest(), Fault: result.Fault,
			},
		}, err
	})
}

// recall makes one call of a memory tool.
func (c *toolCall) recall(ctx context.Context, tools *tool.Set, tx memory.Tx) (tool.Result, error) {
	decision, refusal, err := c.judge(ctx, tools)
	if err != nil {
		return tool.Result{}, err
	}
	ownWords := refusal != nil && refusal.Type == tool.ErrorInvalidArguments && !tools.NeedsApproval(decision.Spec.Name)
	if refusal != nil && !ownWords { // the tools explain wrong arguments themselves, but a call that needs approval must not run with them
		return refusal.Result(), nil
	}
	return memory.Call(ctx, tx, decision.Spec.Name, c.call.Arguments)
}
