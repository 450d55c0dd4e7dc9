package activities

import (
	"context"

	"github.com/inquest-dev/inquest/internal/memory"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// CallOwnTools runs calls of one reply that touch only our own store, in their
// order. It is made to run as a local activity: a crash runs it again into what
// it has written (design: rule 3).
func (a *Activities) CallOwnTools(ctx context.Context, in CallOwnToolsIn) (CallOwnToolsOut, error) {
	j, err := a.job(ctx, in.Ref)
	if err != nil {
		return CallOwnToolsOut{}, err
	}
	out, err := j.callOwn(ctx, in)
	return out, storeFailure(err)
}

func (j *job) callOwn(ctx context.Context, in CallOwnToolsIn) (out CallOwnToolsOut, err error) {
	var memories []*toolCall
	for _, n := range in.Calls {
		c := &toolCall{job: j, in: CallToolIn{Ref: in.Ref, Iteration: in.Iteration, Call: n}}
		if c.call, err = j.wanted(ctx, in.Iteration, n); err != nil {
			return out, err
		}
		if memory.IsTool(c.call.Name) {
			memories = append(memories, c)
			continue
		}
		entry, err := c.run(ctx)
		if err != nil {
			return out, err
		}
		if entry.Pause > 0 { // the last one counts
			out.Pause = entry.Pause
		}
	}
	if len(memories) > 0 {
		_, err = j.remember(ctx, memories)
	}
	return out, err
}

// remember runs calls of memory tools, in order and in one transaction with
// their results. What the policy refuses is a result like any other.
func (j *job) remember(ctx context.Context, calls []*toolCall) ([]transcript.Entry, error) {
	tools, _, err := j.offered(ctx)
	if err != nil {
		return nil, err
	}
	batch := memory.Batch{Scope: j.ref.scope(), Writer: j.writer, Agent: j.agent.Definition}
	for _, c := range calls {
		batch.Keys = append(batch.Keys, transcript.ResultKey(c.in.Iteration, c.in.Call))
	}
	return j.Memories.Journal(ctx, batch, func(tx memory.Tx, n int) (transcript.Body, error) {
		c := calls[n]
		result, err := c.recall(ctx, tools, tx)
		return transcript.Body{
			Text: result.Content, Call: &c.call, Status: string(result.Status), ErrorType: result.ErrorType, Size: len(result.Content),
			Decision: c.in.Decision.said(),
		}, err
	})
}

// recall makes one call of a memory tool.
func (c *toolCall) recall(ctx context.Context, tools *tool.Set, tx memory.Tx) (tool.Result, error) {
	decision, refusal := c.judge(tools)
	if refusal != nil && refusal.Type != tool.ErrorInvalidArguments { // the tools have their own words for those
		return refusal.Result(), nil
	}
	return memory.Call(ctx, tx, decision.Spec.Name, c.call.Arguments)
}
