package configuration

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/knowledge/learning"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// TestToolsOutsideOfChains checks that an agent outside chains has the settings of its definition and defaults, and the
// placeholder agent only those of defaults.
func TestToolsOutsideOfChains(t *testing.T) {
	t.Parallel()
	c, err := load(t, `
mcp_servers:
  b: {transport: {command: x}, risk: {drop: critical}}
  a: {transport: {command: x}}
defaults:
  timeouts: {tool: 7s}
  shell: {enabled: true, allow: [ls]}
  tool_config: {disabled_tools: [a.x], confirm_destructive: true}
agents:
  Mender: {mcp_servers: [b], tool_config: {quick_under: 0, tool_permissions: {b.y: {requires_approval: true}}}}
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	type tools struct {
		Servers []string
		Shell   bool
		Config  plan.ToolConfig
		Timeout time.Duration
	}
	of := func(p plan.Agent) tools {
		out := tools{Shell: p.Shell != nil, Config: p.Tools, Timeout: p.Timeouts.Tool.D()}
		for _, server := range p.Servers {
			if server.Name != "incident" { // the sample's
				out.Servers = append(out.Servers, server.Name)
			}
		}
		return out
	}
	everybody := plan.ToolConfig{
		Disabled: []string{"a.x"}, Access: plan.AccessAll, ConfirmDestructive: true, ApprovalTimeout: plan.Duration(time.Hour),
		Repeats:    plan.RepeatsAsk,
		QuickUnder: plan.Duration(500 * time.Millisecond),
	}
	if diff := cmp.Diff(tools{[]string{"a", "b"}, true, everybody, 7 * time.Second}, of(c.ToolPlan())); diff != "" {
		t.Errorf("of nobody in particular:\n%s", diff)
	}
	p, err := c.AgentPlan("Mender")
	if err != nil {
		t.Fatal(err)
	}
	own := everybody
	own.QuickUnder = 0
	own.Permissions = map[string]plan.Permission{"b.y": {RequiresApproval: true}}
	if diff := cmp.Diff(tools{[]string{"b"}, false, own, 7 * time.Second}, of(p)); diff != "" {
		t.Errorf("of Mender:\n%s", diff)
	}
	if p.Definition != "Mender" || p.Servers[0].Risk["drop"] != agent.RiskCritical {
		t.Errorf("plan: %+v", p)
	}
	_, err = c.AgentPlan("Mendre")
	if _, ok := errors.AsType[*PlanError](err); !ok {
		t.Errorf("an unknown agent: %v", err)
	}
}

// TestConversationsAskAModel checks that agents without a model cannot have conversations.
func TestConversationsAskAModel(t *testing.T) {
	t.Parallel()
	c, err := load(t, `
llm_providers: {plain: {type: ollama, model: gpt-4o}}
agents:
  Gate: {type: service}
  Runner: {type: tool_plan}
  Ada: {default_model: scripted, system_prompt: You are Ada.}
  Eve: {default_model: plain, reasoning_effort: high}
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Eve":    `thinking of agent "Eve" at provider "plain": gpt-4o does not support thinking`,
		"Gate":   "agent Gate has type service, which uses no model: it cannot hold a conversation",
		"Runner": "agent Runner has type tool_plan, which uses no model: it cannot hold a conversation",
		"Ada":    "",
	} {
		p, err := c.Conversation(agent.ConversationRequest{Agent: name})
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		// Only a builder's agents limit their conversations; others use the model's window.
		if own := p.Stages[0].Agents[0]; own.Prompt != "You are Ada." || own.Compression.MaxContextTokens != 0 {
			t.Errorf("%s has another prompt or window in a conversation: %+v", name, own)
		}
	}
}

// TestConversationsRecall checks that with memory, agents that iterate are offered the tools for earlier investigations in conversations.
func TestConversationsRecall(t *testing.T) {
	t.Parallel()
	for _, enabled := range []bool{true, false} {
		c, err := load(t, fmt.Sprintf(`
defaults: {memory: {enabled: %t, max_inject: 3}}
agents:
  Ada: {default_model: scripted}
  Bo: {default_model: scripted, type: llm}
`, enabled), nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, iterates := range map[string]bool{"Ada": true, "Bo": false} {
			p, err := c.Conversation(agent.ConversationRequest{Agent: name})
			if err != nil {
				t.Fatal(err)
			}
			if enabled != (p.Memory != nil && p.Memory.MaxInject == 3) {
				t.Errorf("%s, memory %t: %+v", name, enabled, p.Memory)
			}
			own := p.Stages[0].Agents[0]
			row, _ := agent.LookupType(own.Type)
			var offered []string
			for _, one := range tool.NewPolicy(nil).Tools(row, own, nil, learning.Specs()).Offered() {
				offered = append(offered, one.Name)
			}
			want := agent.RecallTools()
			if !enabled || !iterates {
				want = nil
			}
			if diff := cmp.Diff(want, offered); diff != "" {
				t.Errorf("%s, memory %t:\n%s", name, enabled, diff)
			}
		}
	}
}
