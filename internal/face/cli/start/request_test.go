package start

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
)

func TestRequestFlags(t *testing.T) {
	t.Parallel()
	kept := agent.Request{Labels: agent.Labels{Metadata: map[string]string{"a": "b"}}}
	kept.Budgets.MaxPasses = 2
	for name, tt := range map[string]struct {
		flags requestFlags
		want  agent.Request
		fails string
	}{
		"none": {want: kept},
		"all": {
			flags: requestFlags{
				meta: []string{"team=db", "x=a=b"}, mcp: []string{"loki=query,tail", "kube"}, native: []string{"google_search=off"},
				budgets: []string{"max_cost_usd=0.5", "max_duration=30m", "max_llm_calls=3"},
			},
			want: agent.Request{
				Labels: agent.Labels{Metadata: map[string]string{"team": "db", "x": "a=b"}},
				Overrides: agent.Overrides{
					MCP: agent.MCP{
						Servers:     []agent.MCPServer{{Name: "loki", Tools: []string{"query", "tail"}}, {Name: "kube"}},
						NativeTools: agent.NativeTools{GoogleSearch: new(false)},
					},
					Budgets: agent.Budgets{MaxPasses: 2, MaxCostUSD: 0.5, MaxDuration: "30m", MaxLLMCalls: 3},
				},
			},
		},
		"twice":        {flags: requestFlags{meta: []string{"a=b", "a=c"}}, fails: `--meta: "a" is given twice`},
		"no number":    {flags: requestFlags{budgets: []string{"max_passes=many"}}, fails: "the value must be a number"},
		"null":         {flags: requestFlags{budgets: []string{"max_passes=null"}}, fails: "the value must be a number"},
		"no money":     {flags: requestFlags{budgets: []string{"max_cost_usd=0.0"}}, fails: "--budget max_cost_usd=0.0 sets no limit"},
		"no passes":    {flags: requestFlags{budgets: []string{"max_passes=0"}}, fails: "--budget max_passes=0 sets no limit"},
		"no time":      {flags: requestFlags{budgets: []string{"max_duration="}}, fails: "--budget max_duration= sets no limit"},
		"no such tool": {flags: requestFlags{native: []string{"search=on"}}, fails: `unknown native tool "search"`},
		"no state":     {flags: requestFlags{native: []string{"google_search=1"}}, fails: "expected NAME=on or NAME=off"},
	} {
		got := kept
		err := tt.flags.read(&got)
		if (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
			t.Errorf("%s: %v, want %q", name, err, tt.fails)
		}
		if diff := cmp.Diff(tt.want, got); err == nil && diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A rerun keeps everything that its flags do not change, except for the fingerprint.
func TestKeep(t *testing.T) {
	t.Parallel()
	was := record.Investigation{Labels: agent.Labels{Tenant: "acme", Session: "s", Priority: 2, Fingerprint: "f",
		Metadata: map[string]string{"a": "b"}}}
	was.Overrides.Budgets.MaxPasses = 2
	req := agent.Request{Labels: agent.Labels{Tenant: "other"}}
	keep(&req, was, func(flag string) bool { return flag == "tenant" })
	want := agent.Request{Overrides: was.Overrides, Labels: agent.Labels{Tenant: "other", Session: "s", Priority: 2,
		Metadata: map[string]string{"a": "b"}}}
	if diff := cmp.Diff(want, req); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
