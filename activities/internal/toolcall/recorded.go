package toolcall

import (
	"context"
	"fmt"
	"slices"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/fork"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// A fork can answer its tool calls from the results of the other investigation (see agent.Fork). Such a call touches only our own store,
// so it needs no approval and no activity of its own. The policy judges it like any other.

// tape returns what answers the calls of a fork.
func (j Calls) tape(ctx context.Context) (fork.Tape, error) {
	return j.Tapes.Get(ctx, j.Blobs, "recording", j.Plan.Fork.Tape)
}

// recorded reports whether a call is answered from the tape, if only with the message that it has no result.
func (j Calls) recorded(ctx context.Context, tools *tool.Set, call transcript.Call) (bool, error) {
	by := j.Plan.Fork.AnsweredBy()
	if by != agent.ForkLive || call.Inward() {
		return by == agent.ForkTape && !call.Inward(), nil
	}
	tape, err := j.tape(ctx)
	return tape.Knows(call, made(tools, call)), err
}

// made returns the arguments with which a call would be made.
func made(tools *tool.Set, call transcript.Call) string {
	decision, _ := tools.Decide(call.Name, call.Arguments) // a refused call has none
	return string(decision.Arguments)
}

// replay answers the call from the tape.
func (c *toolCall) replay(ctx context.Context) (transcript.Entry, error) {
	tape, err := c.tape(ctx)
	if err != nil {
		return transcript.Entry{}, err
	}
	log, err := c.Transcripts.Entries(ctx, c.Ref.Scope())
	if err != nil {
		return transcript.Entry{}, fmt.Errorf("read transcript: %w", err)
	}
	of := c.Plan.Fork.Of
	had := func(row int64) bool {
		return slices.ContainsFunc(log, func(e transcript.Entry) bool {
			return e.Kind == transcript.KindResult && (e.Shared == row || e.Recorded == nameOf(of, row))
		})
	}
	at := fork.Place{Agent: c.Ref.Execution, Iteration: c.in.Iteration}
	found, ok := tape.Find(c.call, string(c.judged.Arguments), at, had)
	if !ok {
		c.refuse()
		return c.write(ctx, tool.NotRecorded(c.call.Name))
	}
	result, err := c.rowOf(ctx, of, found.Row)
	if err != nil {
		return result, err
	}
	call := c.call // a person may have changed the arguments of the one that was made
	call.Arguments, call.Edited, call.Respelled = result.Call.Arguments, result.Call.Edited, result.Call.Respelled
	body := result.Recording(&call, nameOf(of, found.Row))
	body.Untrusted = transcript.Sources(slices.Clone(body.Untrusted), c.Source(call.Name)) // the server may have been trusted then
	rows := []transcript.Row{{Key: transcript.ResultKey(c.in.Iteration, c.in.Call), Kind: transcript.KindResult, Body: body}}
	if found.Summary > 0 {
		summary, err := c.rowOf(ctx, of, found.Summary)
		if err != nil {
			return summary, err
		}
		body := transcript.Body{Text: summary.Text, Call: &call, Untrusted: summary.Untrusted} // no model is called for it
		rows = append(rows, transcript.Row{Key: transcript.SummaryKey(c.in.Iteration, c.in.Call), Kind: transcript.KindSummary, Body: body})
	}
	entries, err := c.Transcripts.Append(ctx, c.Step(rows...))
	if err != nil {
		return transcript.Entry{}, fmt.Errorf("append the recorded result of %s: %w", c.call.Name, err)
	}
	return entries[0], nil
}

// rowOf returns an entry of the other investigation.
func (c *toolCall) rowOf(ctx context.Context, of string, row int64) (transcript.Entry, error) {
	entries, err := c.Transcripts.After(ctx, of, row-1, 1)
	if err != nil {
		return transcript.Entry{}, fmt.Errorf("read row %d of %s: %w", row, of, err)
	}
	if len(entries) == 0 || entries[0].Seq != row {
		lost := fmt.Errorf("the store has lost row %d of %s, which answers %s", row, of, c.call.Name)
		return transcript.Entry{}, job.Final(job.ErrorStore, lost)
	}
	return entries[0], nil
}

func nameOf(investigation string, row int64) string { return fmt.Sprintf("%s/%d", investigation, row) }

// recordedList returns the tools of a server as the other investigation got them. The server is not asked.
func (j Calls) recordedList(ctx context.Context, server plan.Server) (tool.Catalogue, error) {
	out := tool.Catalogue{Server: server.Name, Recorded: true}
	tape, err := j.tape(ctx)
	if err != nil {
		return out, err
	}
	hash := tape.Servers[server.Name]
	if hash == "" {
		out.Error = "the recording has no tools of this server"
		return out, nil
	}
	kept, err := j.Offers.Get(ctx, j.Blobs, "tool catalogue", hash)
	for _, spec := range kept.Tools {
		out.Tools = append(out.Tools, spec.For(server))
	}
	out.Partial = kept.Partial
	return out, err
}
