package storetest

import (
	"errors"
	"testing"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/virtual"
)

// testVirtual: every version of an agent is kept, concurrent writers overwrite none, and projects share nothing.
func testVirtual(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	said := func(text string) virtual.Agent {
		return virtual.Agent{Project: "p", Name: "Triage", By: "ann", Definition: virtual.Definition{
			Name: "Triage", Description: text, Config: virtual.Config{
				DefaultModel: "m", ToolConfig: map[string]any{"enabled_tools": []any{}},
			},
		}}
	}
	first := must(s.SaveVirtualAgent(ctx, said("one"), 0))(t)
	_, taken := s.SaveVirtualAgent(ctx, said("again"), 0)
	second := must(s.SaveVirtualAgent(ctx, said("two"), 1))(t)
	_, lost := s.SaveVirtualAgent(ctx, said("lost"), 1)
	if !errors.Is(taken, virtual.ErrTaken) || !errors.Is(lost, virtual.ErrChanged) {
		t.Errorf("taken: %v; lost: %v", taken, lost)
	}
	other := said("elsewhere")
	other.Project = ""
	other = must(s.SaveVirtualAgent(ctx, other, 0))(t)
	same(t, "the last versions", must(s.VirtualAgents(ctx, "p"))(t), []virtual.Agent{second})
	same(t, "of the default project", must(s.VirtualAgents(ctx, "", "Triage", "Nobody"))(t), []virtual.Agent{other})
	same(t, "nobody", must(s.VirtualAgents(ctx, "p", "Nobody"))(t), []virtual.Agent{})
	gone := said("")
	gone.Deleted = true
	gone = must(s.SaveVirtualAgent(ctx, gone, 2))(t)
	same(t, "all versions", must(s.VirtualVersions(ctx, "p", "Triage"))(t), []virtual.Agent{gone, second, first})
	if _, err := s.SaveVirtualAgent(ctx, said("late"), 3); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("after it was deleted: %v", err)
	}
	if repeated := must(s.SaveVirtualAgent(ctx, said("new"), 0))(t); repeated.Version != 4 || first.Version != 1 {
		t.Errorf("the version %d after that of %d", repeated.Version, first.Version)
	}
}
