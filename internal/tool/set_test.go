package tool_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// row is one row of the truth table: a tool k8s.get of some risk, and its agent.
type row struct {
	plan plan.Agent
	risk agent.Risk
}

// option is a value of one dimension, and the beginning of its refusal if it refuses.
type option struct {
	name    string
	apply   func(r *row)
	refuses string
}

// risks are ordered so that those that a level admits come first.
var risks = []agent.Risk{
	agent.RiskReadOnly, agent.RiskLow, agent.RiskMedium, agent.RiskWrite,
	agent.RiskDestructive, agent.RiskHigh, agent.RiskCritical, agent.RiskUnknown, "", "odd",
}

// admitted is how many of the risks an access level admits.
var admitted = map[plan.Access]int{plan.AccessNone: 0, plan.AccessRead: 1, plan.AccessWrite: 4, plan.AccessAll: 10, "": 10, "odd": 0}

// dimensions are in the order in which they are decided; the last one needs arguments.
func dimensions() [][]option {
	const disabled, notEnabled = "Tool k8s.get is disabled for this agent", "Tool k8s.get is not enabled for this agent"
	nothing := func(*row) {}
	return [][]option{
		{
			{"attached", func(r *row) { r.plan.Servers = []plan.Server{{Name: "k8s"}} }, ""},
			{"not attached", nothing, "Unknown tool"},
		}, {
			{"not disabled", func(r *row) { r.plan.Tools.Disabled = []string{"k8s", "k8s.g*", "get"} }, ""},
			{"disabled", func(r *row) { r.plan.Tools.Disabled = []string{"k8s.get"} }, disabled},
			{"disabled by its wire name", func(r *row) { r.plan.Tools.Disabled = []string{"x", "k8s__get"} }, disabled},
		}, {
			{"no restriction", nothing, ""},
			{"none enabled", func(r *row) { r.plan.Tools.Enabled = []string{} }, notEnabled},
			{"another enabled", func(r *row) { r.plan.Tools.Enabled = []string{"k8s.list"} }, notEnabled},
			{"enabled", func(r *row) { r.plan.Tools.Enabled = []string{"k8s.list", "k8s.get"} }, ""},
			{"enabled by its wire name", func(r *row) { r.plan.Tools.Enabled = []string{"k8s__get"} }, ""},
		},
		accessAndRisk(),
		{
			{"no permissions", nothing, ""},
			{"confirm", func(r *row) { r.plan.Tools.ConfirmDestructive = true }, ""},
			{"approval", permit(plan.Permission{RequiresApproval: true}), ""},
			{"cap", permit(plan.Permission{MaxResults: 10}), ""},
			{"allowed", permit(plan.Permission{Allowed: map[string][]string{"ns": {"dev-*"}}}), ""},
			{"not allowed", permit(plan.Permission{Allowed: map[string][]string{"ns": {"prod-*"}}}), "Tool k8s.get is not allowed with this value"},
		},
	}
}

func accessAndRisk() (all []option) {
	for access, count := range admitted {
		for i, risk := range risks {
			o := option{name: fmt.Sprintf("level %q, risk %q", access, risk)}
			o.apply = func(r *row) { r.plan.Tools.Access, r.risk = access, risk }
			if i >= count {
				o.refuses = fmt.Sprintf("Tool k8s.get is not allowed for this agent: its risk is %s, and the access level is %s",
					first(string(risk), "unknown"), access)
			}
			all = append(all, o)
		}
	}
	return all
}

func permit(p plan.Permission) func(*row) {
	return func(r *row) { r.plan.Tools.Permissions = map[string]plan.Permission{"k8s.get": p} }
}

// TestTruthTable combines every option of every dimension with every other. The refusal must come from the first
// refusing option in the order of the specification.
func TestTruthTable(t *testing.T) {
	t.Parallel()
	policy := tool.NewPolicy(nil)
	rows := 0
	product(dimensions(), func(options []option) {
		var r row
		var labels []string
		for _, o := range options {
			o.apply(&r)
			labels = append(labels, o.name)
		}
		rows++
		spec := tool.Spec{Name: "k8s.get", Risk: r.risk, Schema: json.RawMessage(getSchema)}
		c := checked{T: t, label: strings.Join(labels, ", "),
			set: policy.Tools(agent.Type{}, r.plan, []tool.Catalogue{{Server: "k8s", Tools: []tool.Spec{spec}}}, nil)}
		c.approval = r.plan.Tools.Permissions["k8s.get"].RequiresApproval || r.risk == agent.RiskHigh || r.risk == agent.RiskCritical ||
			r.risk == agent.RiskDestructive && r.plan.Tools.ConfirmDestructive
		early, late := first(options[0].refuses, options[1].refuses, options[2].refuses, options[3].refuses), options[4].refuses
		if (early == "") != (len(c.set.Offered()) == 1) {
			t.Errorf("%s: offered %v", c.label, names(c.set.Offered()))
		}
		c.decide(`{"ns":"dev-1"}`, first(early, late))
		c.decide(`{"ns":"dev-1","all":true}`, first(early, late, "arguments do not match"))
		c.decide(`{"ns":`, first(early, "arguments are not valid JSON"))
	})
	if rows != 2*3*5*60*6 {
		t.Errorf("%d rows", rows)
	}
}

const getSchema = `{"type":"object","properties":{"ns":{"type":"string"},"max_results":{"type":"integer"}},"required":["ns"],` +
	`"additionalProperties":false}`

// product visits every combination. The slice is valid only during the visit.
func product(dimensions [][]option, visit func([]option), chosen ...option) {
	if len(dimensions) == 0 {
		visit(chosen)
		return
	}
	for _, o := range dimensions[0] {
		product(dimensions[1:], visit, append(chosen, o)...)
	}
}

// checked is a row of the table with its expected decisions.
type checked struct {
	*testing.T
	label    string
	set      *tool.Set
	approval bool
}

func (c checked) decide(args, refused string) {
	c.Helper()
	for _, name := range []string{"k8s.get", "k8s__get"} {
		got, err := c.set.Decide(name, args)
		if (err == nil) != (refused == "") || err != nil && !strings.HasPrefix(err.Error(), refused) {
			c.Errorf("%s: %s: got %v, want %q", c.label, args, err, refused)
		}
		if err == nil && (got.NeedsApproval != c.approval || got.Spec.Name != "k8s.get" || !json.Valid(got.Arguments)) {
			c.Errorf("%s: %s: got %+v", c.label, args, got)
		}
	}
}

func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// TestOnlyOfferedToolsAreExecuted checks for arbitrary servers, configurations and calls that only offered tools are
// executed, that each offered tool is found by both of its names, and that the offer is always the same.
func TestOnlyOfferedToolsAreExecuted(t *testing.T) {
	t.Parallel()
	policy := tool.NewPolicy(nil)
	word := rapid.StringMatching(`[ab._é]{0,4}`)
	rapid.Check(t, func(t *rapid.T) {
		servers := rapid.SliceOfNDistinct(rapid.StringMatching(`[ab_]{1,4}`), 0, 3, rapid.ID).Draw(t, "servers")
		p := attached(servers...)
		if rapid.Bool().Draw(t, "shell") {
			p.Shell = &plan.Shell{}
		}
		var catalogues []tool.Catalogue
		for _, server := range append(servers, "stranger") {
			own := rapid.SliceOfN(word, 0, 4).Draw(t, "tools")
			for i := range own {
				if rapid.IntRange(0, 9).Draw(t, "honest") > 0 {
					own[i] = server + "." + own[i]
				}
			}
			c := catalogue(server, own...)
			for i := range c.Tools {
				c.Tools[i].Risk = rapid.SampledFrom(risks).Draw(t, "risk")
			}
			catalogues = append(catalogues, c)
		}
		registered := rapid.SampledFrom([]string{"ticket", "page", "a__b", "unregistered"})
		p.ToolIDs = rapid.SliceOfDistinct(registered, rapid.ID).Draw(t, "tool ids")
		called := rapid.OneOf(word, rapid.Just("shell"), registered, rapid.SampledFrom(allNames(catalogues)))
		p.Tools = toolConfig(called).Draw(t, "config")
		set := policy.Tools(withTool, p, catalogues, builtins)
		offered := set.Offered()
		if diff := cmp.Diff(offered, policy.Tools(withTool, p, catalogues, builtins).Offered()); diff != "" {
			t.Fatal(diff)
		}
		isOffered := map[string]string{}
		for _, spec := range offered {
			isOffered[spec.Name], isOffered[tool.WireName(spec.Name)] = spec.Name, spec.Name
			for _, name := range []string{spec.Name, tool.WireName(spec.Name)} {
				if got, err := set.Decide(name, `{"ns":"a"}`); err != nil || got.Spec.Name != spec.Name {
					t.Fatalf("%s is offered as %s, and found as %q (%v)", spec.Name, name, got.Spec.Name, err)
				}
			}
			if server, own := tool.Split(spec.Name); server == "" && own != agent.ToolShell && !slices.Contains(p.ToolIDs, own) {
				t.Fatalf("%s is offered, but not among %v", own, p.ToolIDs)
			}
			if isListed(p.Tools.Disabled, spec.Name) || p.Tools.Enabled != nil && !isListed(p.Tools.Enabled, spec.Name) {
				t.Fatalf("%s is offered in spite of %+v", spec.Name, p.Tools)
			}
		}
		name := called.Draw(t, "called")
		got, err := set.Decide(name, `{"ns":"a"}`)
		if want, ok := isOffered[name]; ok != (err == nil) || ok && got.Spec.Name != want {
			t.Fatalf("call of %q executes %q (%v); offered: %v", name, got.Spec.Name, err, names(offered))
		}
	})
}

func toolConfig(name *rapid.Generator[string]) *rapid.Generator[plan.ToolConfig] {
	return rapid.Custom(func(t *rapid.T) plan.ToolConfig {
		config := plan.ToolConfig{
			Disabled: rapid.SliceOfN(name, 0, 2).Draw(t, "disabled"),
			Access:   rapid.SampledFrom([]plan.Access{"", plan.AccessAll, plan.AccessWrite, plan.AccessRead, plan.AccessNone}).Draw(t, "access"),
		}
		if rapid.Bool().Draw(t, "restricted") {
			config.Enabled = append([]string{}, rapid.SliceOfN(name, 0, 5).Draw(t, "enabled")...)
		}
		allowed := plan.Permission{Allowed: map[string][]string{"ns": {"[", "?"}}, MaxResults: 1}
		config.Permissions = map[string]plan.Permission{name.Draw(t, "permission"): allowed}
		return config
	})
}

func isListed(listed []string, name string) bool {
	return slices.Contains(listed, name) || slices.Contains(listed, tool.WireName(name))
}

func allNames(catalogues []tool.Catalogue) []string {
	out := []string{"nothing"}
	for _, c := range catalogues {
		for _, spec := range c.Tools {
			out = append(out, spec.Name, tool.WireName(spec.Name))
		}
	}
	return out
}

// TestToolsThatModelsCallTheSame checks that a tool is left out if models would use the same name for another one, and
// that the reason is available.
func TestToolsThatModelsCallTheSame(t *testing.T) {
	t.Parallel()
	catalogue := func(server string, own ...string) (c tool.Catalogue) {
		c.Server = server
		for _, name := range own {
			c.Tools = append(c.Tools, tool.Spec{Name: server + "." + name, Risk: agent.RiskReadOnly})
		}
		return c
	}
	typ, _ := agent.LookupType("default")
	set := tool.NewPolicy(nil).Tools(typ, plan.Agent{Servers: []plan.Server{{Name: "a"}, {Name: "a_"}}}, []tool.Catalogue{
		catalogue("a_", "b", "free"), catalogue("a", "x__y", "x.y", "_b", "twice", "twice"),
	}, nil)
	var offered []string
	for _, spec := range set.Offered() {
		offered = append(offered, spec.Name)
	}
	if diff := cmp.Diff([]string{"a._b", "a.twice", "a.x.y", "a_.free"}, offered); diff != "" {
		t.Error(diff)
	}
	const rename = ". Rename one of the servers, or give the agent only one of the two tools."
	want := []string{
		"The tool a.twice is listed twice by its server; only the first one is offered.",
		"Tool a.x__y is not offered together with a.x.y: models would call both a__x__y" + rename,
		"Tool a_.b is not offered together with a._b: models would call both a___b" + rename,
	}
	if diff := cmp.Diff(want, set.LeftOut()); diff != "" {
		t.Error(diff)
	}
}
