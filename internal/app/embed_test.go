package app

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/builtin"
)

// own is a tool of the embedding program.
func own(name string) builtin.Tool { return builtin.Tool{Spec: tool.Spec{Name: name}} }

func TestEmbeddedConfiguration(t *testing.T) {
	t.Parallel()
	opts := HostOptions{Data: t.TempDir(), Settings: Settings{Embedding: &Embedding{
		Tools: []builtin.Tool{own("ticket"), own("page")},
		Entries: config.Entries{
			Agents: map[string]*config.Agent{"Clerk": {ToolIDs: []string{"page"}}},
			AgentChains: map[string]*config.Chain{"c": {LLMProvider: "scripted",
				Stages: []*config.Stage{{Name: "s", Agents: []*config.StageAgent{{Name: "Clerk"}}}}}},
		},
	}}}
	if err := opts.Check(); err != nil {
		t.Fatal(err)
	}
	c, err := configuration.Load(opts.source())
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Plan(agent.Request{Chain: "c"})
	if err != nil {
		t.Fatal(err)
	}
	clerk := p.Stages[0].Agents[0]
	row, _ := agent.LookupType(clerk.Type)
	var names []string
	for _, spec := range tool.NewPolicy(nil).Tools(row, clerk, nil, Builtins{Code: opts.embedding().Tools}.Specs(clerk)).Offered() {
		names = append(names, spec.Name)
	}
	if diff := cmp.Diff([]string{"page", agent.ToolReadResult}, names); diff != "" {
		t.Error(diff)
	}

	// The sample's server is one of our programs, and no other program is started in its place.
	_, err = c.Plan(agent.Request{AlertType: "sample-incident"})
	if err == nil || !strings.Contains(err.Error(), "variable INQUEST_EXECUTABLE is not set") {
		t.Errorf("got %v", err)
	}
	opts.Embedding.Tools = nil
	if err := opts.Check(); err == nil ||
		!strings.Contains(err.Error(), `Go: agents.Clerk.tool_ids[0]: unknown tool "page"; available in this program: none`) {
		t.Errorf("got %v", err)
	}
}
