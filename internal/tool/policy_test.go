package tool_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/tool"
)

var (
	shell    = tool.Spec{Name: agent.ToolShell, Risk: agent.RiskWrite}
	withTool = agent.Type{Tools: []string{agent.ToolShell}}
)

func catalogue(server string, names ...string) tool.Catalogue {
	c := tool.Catalogue{Server: server}
	for _, name := range names {
		c.Tools = append(c.Tools, tool.Spec{Name: name})
	}
	return c
}

func attached(servers ...string) (plan agent.AgentPlan) {
	for _, name := range servers {
		plan.Servers = append(plan.Servers, agent.Server{Name: name})
	}
	return plan
}

func names(specs []tool.Spec) (out []string) {
	for _, spec := range specs {
		out = append(out, spec.Name)
	}
	return out
}

func TestEffective(t *testing.T) {
	t.Parallel()
	withShell := attached("loki")
	withShell.Shell = &agent.Shell{}
	for name, tc := range map[string]struct {
		typ        agent.Type
		plan       agent.AgentPlan
		catalogues []tool.Catalogue
		want       []string
		reported   string
	}{
		"nothing":                {agent.Type{}, attached(), nil, nil, ""},
		"shell switched on":      {withTool, withShell, nil, []string{"shell"}, ""},
		"shell not switched on":  {withTool, attached(), nil, nil, ""},
		"not the type's shell":   {agent.Type{}, withShell, nil, nil, ""},
		"plan order, then names": {withTool, attached("b", "a"), []tool.Catalogue{catalogue("a", "a.z", "a.y"), catalogue("b", "b.x")}, []string{"b.x", "a.y", "a.z"}, ""},
		"server not attached":    {withTool, attached("a"), []tool.Catalogue{catalogue("b", "b.x")}, nil, ""},
		"same wire name":         {withTool, attached("a", "a__b"), []tool.Catalogue{catalogue("a", "a.b__c"), catalogue("a__b", "a__b.c")}, []string{"a.b__c"}, "a__b.c"},
		"same name twice":        {withTool, attached("a"), []tool.Catalogue{catalogue("a", "a.x", "a.x")}, []string{"a.x"}, "a.x"},
		"another server's name":  {withTool, attached("a"), []tool.Catalogue{catalogue("a", "b.x", "shell", "a.")}, nil, "shell"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			policy := tool.Policy{Logger: slog.New(slog.NewTextHandler(&log, nil))}
			got := policy.Effective(tc.typ, tc.plan, tc.catalogues, []tool.Spec{shell})
			if diff := cmp.Diff(tc.want, names(got)); diff != "" {
				t.Error(diff)
			}
			if (tc.reported == "") != (log.Len() == 0) || !strings.Contains(log.String(), tc.reported) {
				t.Errorf("reported: %s", log.String())
			}
		})
	}
}

func TestDecideRefuses(t *testing.T) {
	t.Parallel()
	offered := []tool.Spec{{Name: "loki.query"}, {Name: "loki.labels"}, {Name: "k8s.get_pods"}}
	for name, want := range map[string]tool.Result{
		"shell":        tool.Failure(tool.ErrorPermissionDenied, "Tool shell is not allowed for this agent."),
		"loki.qeury":   tool.Failure(tool.ErrorUnknownTool, `Unknown tool "loki.qeury". Did you mean loki.query?`),
		"Loki__Query":  tool.Failure(tool.ErrorUnknownTool, `Unknown tool "Loki__Query". Did you mean loki.query?`),
		"query":        tool.Failure(tool.ErrorUnknownTool, `Unknown tool "query". Did you mean loki.query?`),
		"k8s__getpods": tool.Failure(tool.ErrorUnknownTool, `Unknown tool "k8s__getpods". Did you mean k8s.get_pods?`),
		"prometheus":   tool.Failure(tool.ErrorUnknownTool, `Unknown tool "prometheus". Call only the tools that were offered.`),
		"\xff":         tool.Failure(tool.ErrorUnknownTool, "Unknown tool \"\uFFFD\". Call only the tools that were offered."),
	} {
		_, err := tool.Policy{}.Decide(offered, name)
		refusal, ok := errors.AsType[*tool.Refusal](err)
		if !ok {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, refusal.Result()); diff != "" {
			t.Error(diff)
		}
	}
	_, err := tool.Policy{}.Decide(nil, strings.Repeat("x", 1_000_000))
	if err == nil || len(err.Error()) > 200 || !strings.Contains(err.Error(), "no tools are available") {
		t.Errorf("got %v", err)
	}
}

// Whatever servers say and models call: only what was offered is executed, each
// offered tool is found by both of its names, and the offer is always the same.
func TestOnlyOfferedToolsAreExecuted(t *testing.T) {
	t.Parallel()
	word := rapid.StringMatching(`[ab._é]{0,4}`)
	rapid.Check(t, func(t *rapid.T) {
		servers := rapid.SliceOfNDistinct(rapid.StringMatching(`[ab_]{1,4}`), 0, 3, rapid.ID).Draw(t, "servers")
		plan := attached(servers...)
		if rapid.Bool().Draw(t, "shell") {
			plan.Shell = &agent.Shell{}
		}
		var catalogues []tool.Catalogue
		for _, server := range append(servers, "stranger") {
			own := rapid.SliceOfN(word, 0, 4).Draw(t, "tools")
			for i := range own {
				if rapid.IntRange(0, 9).Draw(t, "honest") > 0 {
					own[i] = server + "." + own[i]
				}
			}
			catalogues = append(catalogues, catalogue(server, own...))
		}
		policy := tool.Policy{}
		offered := policy.Effective(withTool, plan, catalogues, []tool.Spec{shell})
		if diff := cmp.Diff(offered, policy.Effective(withTool, plan, catalogues, []tool.Spec{shell})); diff != "" {
			t.Fatal(diff)
		}
		isOffered := map[string]string{}
		for _, spec := range offered {
			isOffered[spec.Name], isOffered[tool.WireName(spec.Name)] = spec.Name, spec.Name
			for _, name := range []string{spec.Name, tool.WireName(spec.Name)} {
				if got, err := policy.Decide(offered, name); err != nil || got.Name != spec.Name {
					t.Fatalf("%s is offered as %s, and found as %q (%v)", spec.Name, name, got.Name, err)
				}
			}
		}
		called := rapid.OneOf(word, rapid.Just("shell"), rapid.SampledFrom(allNames(catalogues))).Draw(t, "called")
		got, err := policy.Decide(offered, called)
		if want, ok := isOffered[called]; ok != (err == nil) || got.Name != want {
			t.Fatalf("call of %q executes %q (%v); offered: %v", called, got.Name, err, names(offered))
		}
		if _, ok := isOffered["shell"]; ok != (plan.Shell != nil) {
			t.Fatalf("shell offered: %t, configured: %v", ok, plan.Shell)
		}
	})
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

func TestWireName(t *testing.T) {
	t.Parallel()
	valid := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	long := "server." + strings.Repeat("x", 100)
	for name, want := range map[string]string{
		"shell": "shell", "loki.query": "loki__query", "a.b.c": "a__b__c", "a.b c/é": "a__b_c__", long + "1": "", long + "2": "",
	} {
		got := tool.WireName(name)
		if !valid.MatchString(got) || want != "" && got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	if one, two := tool.WireName(long+"1"), tool.WireName(long+"2"); one == two {
		t.Error(fmt.Sprint("two long names are one: ", one))
	}
}
