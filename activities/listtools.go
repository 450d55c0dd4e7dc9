package activities

import (
	"context"
	"fmt"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/tool"
)

// listTimeout is how long a server may take to say what tools it has, of the minute
// that the activity has.
const listTimeout = 45 * time.Second

// ListTools asks one MCP server for its tools and keeps the catalogue for the
// execution. A server that cannot be asked is a catalogue that says so, at the last
// try: the agent goes on without it, and is told.
func (a *Activities) ListTools(ctx context.Context, in ListToolsIn) (ListToolsOut, error) {
	ctx, stop := a.attend(ctx)
	defer stop()
	out, err := a.listTools(ctx, in)
	return out, storeFailure(ended(ctx, err))
}

func (a *Activities) listTools(ctx context.Context, in ListToolsIn) (ListToolsOut, error) {
	j, err := a.job(ctx, in.Ref)
	if err != nil {
		return ListToolsOut{}, err
	}
	server, ok := j.server(in.Server)
	if !ok {
		return ListToolsOut{}, final(ErrorNotFound, fmt.Errorf("agent %s has no server %q", j.agent.Name, in.Server))
	}
	catalogue := tool.Catalogue{Server: in.Server}
	asking, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	catalogue.Tools, err = a.Servers.List(asking, server, in.Ref.session())
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return ListToolsOut{}, err
	case !in.Last:
		return ListToolsOut{}, final(ErrorServerUnavailable, err)
	default:
		catalogue.Error = err.Error()
	}
	if err := a.Transcripts.SaveCatalogue(ctx, in.Ref.scope(), catalogue); err != nil {
		return ListToolsOut{}, fmt.Errorf("keep the tools of %s: %w", in.Server, err)
	}
	return ListToolsOut{Tools: len(catalogue.Tools), Error: preview(catalogue.Error)}, nil
}

func (j *job) server(name string) (agent.Server, bool) {
	for _, s := range j.agent.Servers {
		if s.Name == name {
			return s, true
		}
	}
	return agent.Server{}, false
}
