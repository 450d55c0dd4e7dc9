package inquesttest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest"
	"github.com/inquest-dev/inquest/inquesttest"
)

// TestToolSearch runs an agent with 45 tools. It finds one, calls it, and also calls one that it has not looked for. A tool that is
// disabled is not found, and a risky one still needs approval.
func TestToolSearch(t *testing.T) {
	t.Parallel()
	offers := func(above int) (inquesttest.Result, []string) {
		t.Helper()
		result, err := shop(above).Run(t.Context(), inquest.Request{Chain: "c", Data: "Order 7 is late."})
		if err != nil || result.Status != "completed" || result.Report != "Refunded." {
			t.Fatalf("%+v, %v", result, err)
		}
		var all []string
		for _, asked := range result.Asked {
			var names []string
			for _, tool := range asked.Tools {
				names = append(names, tool.Name)
			}
			all = append(all, strings.Join(names, " "))
		}
		return result, all
	}
	result, got := offers(40)
	want := []string{
		"read_result search_tools",
		"read_result search_tools refund_order",
		"read_result search_tools refund_order table_03",
	}
	for n := range want {
		if len(got) != len(want) || got[n] != want[n] {
			t.Errorf("request %d offers %q, want %q", n+1, got, want)
		}
	}
	system := result.Asked[0].Messages[0].Content
	if !strings.Contains(system, "# Finding tools") || !strings.Contains(system, "- refund_order, table_00, ") {
		t.Errorf("the prompt does not list the tools:\n%s", system)
	}
	if _, all := offers(45); strings.Contains(all[0], "search_tools") || strings.Count(all[0], " ") != 44 || all[0] != all[2] {
		t.Errorf("an agent that need not search is offered %q", all)
	}
}

// shop has an agent with 44 tools that it may use, besides read_result.
func shop(above int) inquesttest.World {
	type order struct {
		Order int `json:"order"`
	}
	run := func(_ context.Context, o order) (any, error) {
		return map[string]string{"found": fmt.Sprintf("row of order %d", o.Order)}, nil
	}
	agent := &inquest.Agent{
		DefaultModel: "openai:gpt-4o", ToolIDs: []string{"*"}, ToolSearch: inquest.ToolSearch{Above: new(above)},
		ToolConfig: inquest.ToolConfig{DisabledTools: []string{"refund_customer"}},
	}
	opts := inquest.Options{
		Agents: map[string]*inquest.Agent{"Clerk": agent},
		Chains: map[string]*inquest.Chain{"c": {Stages: []*inquest.Stage{{Name: "s", Agents: []*inquest.StageAgent{{Name: "Clerk"}}}}}},
	}
	add := func(name, about string) {
		opts.Tools = append(opts.Tools, inquest.NewTool(name, about, run, inquest.WithRisk(inquest.RiskReadOnly)))
	}
	for n := range 43 {
		add(fmt.Sprintf("table_%02d", n), fmt.Sprintf("Reads table %d.", n))
	}
	add("refund_order", "Gives the money for an order back.")
	add("refund_customer", "Gives the money for all orders back.")
	search := map[string]any{"query": "refund", "limit": 3}
	return inquesttest.World{Options: opts, Script: []inquesttest.Rule{
		{Seen: "Order 7 is late", Calls: []inquesttest.Call{{Tool: "search_tools", Arguments: search}}},
		{Seen: "(1 found):\n- refund_order: Gives the money", Calls: []inquesttest.Call{
			{Tool: "refund_order", Arguments: order{7}}, {Tool: "table_03", Arguments: order{7}}}},
		{Seen: "row of order 7", Say: "Refunded."},
	}}
}
