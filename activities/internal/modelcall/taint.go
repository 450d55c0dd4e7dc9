package modelcall

import (
	"context"
	"fmt"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// exposedAtFirst is exposed for an agent that uses a model. A dispatched agent's task comes from an agent that may have
// been tainted.
func (g *briefing) exposedAtFirst(ctx context.Context) ([]string, error) {
	from, err := g.Exposed(ctx, append(g.in.Prior, g.in.Earlier...), g.in.Peers)
	if err != nil || g.in.Task == nil {
		return from, err
	}
	scope := transcript.Scope{Investigation: g.Ref.Investigation, Execution: g.in.Task.Execution}
	reply, err := g.Transcripts.Reply(ctx, scope, g.in.Task.Iteration)
	if err != nil {
		return nil, fmt.Errorf("read the task of %s: %w", g.Ref.Execution, err)
	}
	call, err := g.NthCall(reply, g.in.Task.Iteration, g.in.Task.Call)
	return transcript.Sources(from, call.Untrusted), err
}

// hadRead returns the sources of untrusted text that the execution has read so far: its journal, the rows of this
// iteration, the servers' tool descriptions (which may have been listed since it began), and the web if the model
// searches it.
func (g *generation) hadRead(stored []transcript.Entry) []string {
	from := transcript.Sources(transcript.Untrusted(stored), g.Described())
	if g.in.From > 0 {
		from = transcript.Sources(from, []string{job.FromSkipped})
	}
	for _, row := range g.rows {
		from = transcript.Sources(from, row.Untrusted)
	}
	if native := g.provider().NativeTools; native.GoogleSearch || native.URLContext {
		from = transcript.Sources(from, []string{job.FromWeb})
	}
	return from
}
