package tool_test

import (
	"errors"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/trust/remember"
)

// TestWhoIsAsked checks that a rule approves calls that the configuration allows to be remembered, and that nothing
// approves critical calls or calls that untrusted text may have caused.
func TestWhoIsAsked(t *testing.T) {
	t.Parallel()
	config := func(c plan.ToolConfig) plan.ToolConfig { c.ConfirmDestructive = true; return c }
	all := []agent.Risk{agent.RiskWrite, agent.RiskDestructive, agent.RiskHigh, agent.RiskCritical}
	asks, yes, no := plan.Permission{RequiresApproval: true}, true, false
	const person, rule, nobody = "a person", "a rule", "nobody"
	read := []string{"loki.query"}
	for name, test := range map[string]struct {
		risk   agent.Risk
		config plan.ToolConfig
		read   []string
		change func(*remember.Rule)
		want   string
	}{
		"a write":          {agent.RiskWrite, config(plan.ToolConfig{Remember: all}), nil, nil, nobody},
		"a write, tainted": {agent.RiskWrite, config(plan.ToolConfig{Remember: all}), read, nil, nobody},
		"a write, tainted, writing asks": {agent.RiskWrite, config(plan.ToolConfig{Remember: all, TaintedWrites: plan.TaintedWriting}), read,
			nil, person},
		"low, tainted, writing asks": {agent.RiskLow, config(plan.ToolConfig{TaintedWrites: plan.TaintedWriting}), read, nil, person},
		"it reads, tainted, writing asks": {agent.RiskReadOnly, config(plan.ToolConfig{TaintedWrites: plan.TaintedWriting}), read, nil,
			nobody},
		"a write, writing asks, clean":     {agent.RiskWrite, config(plan.ToolConfig{TaintedWrites: plan.TaintedWriting}), nil, nil, nobody},
		"destructive":                      {agent.RiskDestructive, config(plan.ToolConfig{}), nil, nil, person},
		"destructive, remembered":          {agent.RiskDestructive, config(plan.ToolConfig{Remember: all}), nil, nil, rule},
		"destructive, remembered, tainted": {agent.RiskDestructive, config(plan.ToolConfig{Remember: all}), read, nil, person},
		"high, remembered, tainted":        {agent.RiskHigh, config(plan.ToolConfig{Remember: all}), read, nil, person},
		"destructive, tainted may": {agent.RiskDestructive, config(plan.ToolConfig{Remember: all, TaintedWrites: plan.TaintedAllow}),
			read, nil, rule},
		"unconfirmed, tainted": {agent.RiskDestructive, plan.ToolConfig{}, read, nil, nobody}, // a person has approved it
		"unconfirmed, tainted, asks": {agent.RiskDestructive, plan.ToolConfig{TaintedWrites: plan.TaintedDestructive}, read, nil,
			person},
		"critical, remembered": {agent.RiskCritical, config(plan.ToolConfig{Remember: all}), nil, nil, person},
		"critical, by its name": {agent.RiskCritical,
			config(plan.ToolConfig{Permissions: map[string]plan.Permission{"x.t": {Remember: &yes}}}), nil, nil, person},
		"a tool that asks": {agent.RiskWrite, config(plan.ToolConfig{Permissions: map[string]plan.Permission{"x.t": asks}}),
			nil, nil, person},
		"a tool that asks, remembered": {agent.RiskWrite,
			config(plan.ToolConfig{Remember: all, Permissions: map[string]plan.Permission{"x.t": asks}}), nil, nil, rule},
		"remembered by its name": {agent.RiskHigh,
			config(plan.ToolConfig{Permissions: map[string]plan.Permission{"x.t": {Remember: &yes}}}), nil, nil, rule},
		"not by its name": {agent.RiskHigh,
			config(plan.ToolConfig{Remember: all, Permissions: map[string]plan.Permission{"x.t": {Remember: &no}}}), nil, nil, person},
		"not by the other spelling": {agent.RiskHigh,
			config(plan.ToolConfig{Permissions: map[string]plan.Permission{"x.t": {Remember: &yes}, "x__t": {Remember: &no}}}), nil, nil, person},
		"a rule for another tool": {agent.RiskHigh, config(plan.ToolConfig{Remember: all}), nil,
			func(r *remember.Rule) { r.Tool = "x.u" }, person},
		"a rule for another place": {agent.RiskHigh, config(plan.ToolConfig{Remember: all}), nil,
			func(r *remember.Rule) { r.Where.Chain = "d" }, person},
		"a rule for this place": {agent.RiskHigh, config(plan.ToolConfig{Remember: all}), nil,
			func(r *remember.Rule) { r.Where.Chain = "c" }, rule},
		"a rule for what the tool was before": {agent.RiskHigh, config(plan.ToolConfig{Remember: all}), nil,
			func(r *remember.Rule) { r.Definition = "d" }, person},
		"a rule for other arguments": {agent.RiskHigh, config(plan.ToolConfig{Remember: all}), nil, func(r *remember.Rule) {
			r.Arguments = map[string]remember.Pattern{"ns": {Glob: "prod-*"}}
		}, person},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			remembered := remember.Rule{ID: "r-1", Tool: "x.t", By: "Ada", Arguments: map[string]remember.Pattern{"ns": {Glob: "dev-*"}}}
			if test.change != nil {
				test.change(&remembered)
			}
			spec := tool.Spec{Name: "x.t", Risk: test.risk}
			set := tool.NewPolicy(nil).Tools(agent.Type{}, plan.Agent{Servers: []plan.Server{{Name: "x"}}, Tools: test.config},
				[]tool.Catalogue{{Server: "x", Tools: []tool.Spec{spec}}}, nil)
			got, err := set.DecideIn(tool.Situation{
				Untrusted: test.read, Place: remember.Where{Chain: "c"},
				Rules: func(string) ([]remember.Rule, error) { return []remember.Rule{remembered}, nil },
			}, "x.t", `{"ns":"dev-a"}`)
			asked := nobody
			switch {
			case got.NeedsApproval:
				asked = person
			case got.Rule != nil:
				asked = rule
			}
			if err != nil || asked != test.want || (got.Why != "") != (asked == person && test.read != nil) {
				t.Errorf("asked is %s (%s), %v; want %s", asked, got.Why, err, test.want)
			}
		})
	}
}

// TestRulesAreReadWhenNeeded checks that a call without approval reads no rules, and that unreadable rules are an
// error.
func TestRulesAreReadWhenNeeded(t *testing.T) {
	t.Parallel()
	away := errors.New("the store is away")
	in := tool.Situation{Rules: func(string) ([]remember.Rule, error) { return nil, away }}
	for _, test := range []struct {
		risk agent.Risk
		want error
	}{{agent.RiskReadOnly, nil}, {agent.RiskWrite, nil}, {agent.RiskCritical, nil}, {agent.RiskDestructive, away}} {
		config := plan.ToolConfig{ConfirmDestructive: true, Remember: []agent.Risk{agent.RiskWrite, agent.RiskDestructive}}
		set := tool.NewPolicy(nil).Tools(agent.Type{}, plan.Agent{Servers: []plan.Server{{Name: "x"}}, Tools: config},
			[]tool.Catalogue{{Server: "x", Tools: []tool.Spec{{Name: "x.t", Risk: test.risk}}}}, nil)
		if _, err := set.DecideIn(in, "x.t", "{}"); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", test.risk, err)
		}
	}
}

func TestTainted(t *testing.T) {
	t.Parallel()
	for want, read := range map[string][]string{
		"has read untrusted text from loki.query":              {"loki.query"},
		"has read untrusted text from b, c, d and 1 more":      {"a", "b", "c", "d"},
		"has read untrusted text from the request and k8s.get": {"the request", "k8s.get"},
	} {
		if got := tool.Tainted(read); got != want {
			t.Error(got)
		}
	}
}
