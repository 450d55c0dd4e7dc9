package modelcall

import (
	"context"
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// coreMemory returns an agent's current core memory; "" means the agent has none.
func (g *briefing) coreMemory(ctx context.Context) (string, error) {
	if !g.Row.Remembers() {
		return "", nil
	}
	blocks, err := g.Memories.Blocks(ctx, g.Agent.Definition, g.Agent.MemoryBlocks)
	if err != nil {
		return "", fmt.Errorf("read the memory of %s: %w", g.Agent.Definition, err)
	}
	return "\n" + memory.Render(blocks), nil
}

// addMemory shows the agent its core memory again if that has changed since the model last saw it. Rewriting the system
// prompt instead would change the beginning of the request and make the provider's cache useless for the rest.
func (g *generation) addMemory(ctx context.Context, stored []transcript.Entry) error {
	now, err := g.coreMemory(ctx)
	if err != nil || now == "" {
		return err
	}
	for n := len(stored) - 1; n >= 0; n-- {
		if kind := stored[n].Kind; kind != transcript.KindMemory && kind != transcript.KindSystem {
			continue
		}
		if !strings.HasSuffix(stored[n].Text, now) {
			g.add(transcript.KindMemory, transcript.Body{Text: prompt.Remembers(strings.TrimPrefix(now, "\n"))})
		}
		return nil
	}
	return nil // the agent is starting: its system prompt has the memory
}
