package tool_test

import (
	"errors"
	"strings"
	"testing"
	"time"

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

// TestRepeats checks who is asked about a call that was requested before, and what the model is told if it is refused.
func TestRepeats(t *testing.T) {
	t.Parallel()
	once := agent.Repeat{Times: 1, At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	with := func(change func(*agent.Repeat)) agent.Repeat {
		r := once
		change(&r)
		return r
	}
	const before = "made the same call once before (at 2026-01-02 03:04:05 UTC, result: success)"
	always := func(c plan.ToolConfig, p plan.Permission) plan.ToolConfig {
		c.Permissions = map[string]plan.Permission{"x.t": p}
		return c
	}
	approved := with(func(r *agent.Repeat) { r.Approved = true })
	unsure := func(r *agent.Repeat) { r.Times, r.Unknown = 3, true }
	write, high := tool.Spec{Risk: agent.RiskWrite}, tool.Spec{Risk: agent.RiskHigh}
	ask, deny := plan.ToolConfig{Repeats: plan.RepeatsAsk}, plan.ToolConfig{Repeats: plan.RepeatsDeny}
	for name, tt := range map[string]struct {
		spec    tool.Spec
		config  plan.ToolConfig
		repeat  agent.Repeat
		why     string // a person is asked
		refused string // a part of the refusal
	}{
		"asks":                      {write, ask, once, before, ""},
		"asks, unknown":             {tool.Spec{}, ask, with(unsure), "3 times before (last at 2026-", ""},
		"undeclared, a second time": {tool.Spec{Risk: agent.RiskWrite, RiskFrom: tool.SourceDefault}, ask, once, "", ""},
		"undeclared, a third time":  {tool.Spec{Risk: agent.RiskWrite, RiskFrom: tool.SourceDefault}, ask, with(unsure), "3 times before", ""},
		"undeclared, denied": {tool.Spec{Risk: agent.RiskWrite, RiskFrom: tool.SourceUntrusted}, ask,
			with(func(r *agent.Repeat) { r.Denied, r.By = true, "Ada" }), "", "denied by Ada"},
		"undeclared, refuses":        {tool.Spec{Risk: agent.RiskWrite, RiskFrom: tool.SourceDefault}, deny, once, "", before},
		"allows":                     {write, plan.ToolConfig{Repeats: plan.RepeatsAllow}, once, "", ""},
		"no rule":                    {write, plan.ToolConfig{}, once, "", ""},
		"refuses":                    {write, deny, once, "", "You " + before + ", and that result stands."},
		"reads":                      {tool.Spec{Risk: agent.RiskReadOnly}, deny, once, "", ""},
		"idempotent":                 {tool.Spec{Risk: agent.RiskWrite, Idempotent: true}, deny, once, "", ""},
		"our own store":              {tool.Spec{Risk: agent.RiskWrite, Own: true}, deny, once, "", ""},
		"approved":                   {write, ask, approved, "", ""},
		"approved, but always asked": {high, ask, approved, before, ""},
		"denied":                     {write, ask, with(func(r *agent.Repeat) { r.Denied, r.By = true, "Ada" }), "", "denied by Ada"},
		"not decided":                {high, ask, with(func(r *agent.Repeat) { r.Denied = true }), "", "Nobody approved"},
		"second of a reply":          {write, ask, agent.Repeat{InReply: 1}, "more than once in one reply", ""},
		"third of a reply":           {write, ask, agent.Repeat{InReply: 2}, "", "Wait for the result of the first"},
		"allowed tool":               {write, always(deny, plan.Permission{Repeats: plan.RepeatsAllow}), once, "", ""},
		"refused tool":               {write, always(ask, plan.Permission{Repeats: plan.RepeatsDeny}), once, "", before},
	} {
		tt.spec.Name = "x.t"
		set := tool.NewPolicy(nil).Tools(agent.Type{}, plan.Agent{Servers: []plan.Server{{Name: "x"}}, Tools: tt.config},
			[]tool.Catalogue{{Server: "x", Tools: []tool.Spec{tt.spec}}}, nil)
		got, err := set.DecideIn(tool.Situation{Repeat: &tt.repeat}, "x.t", "{}")
		refusal := ""
		if err != nil {
			refusal = err.Error()
		}
		if (refusal != "") != (tt.refused != "") || !strings.Contains(refusal, tt.refused) ||
			got.NeedsApproval != (tt.why != "") || tt.why != "" && !strings.Contains(got.Why, tt.why) {
			t.Errorf("%s: asked %t (%s), refused %q", name, got.NeedsApproval, got.Why, refusal)
		}
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
