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

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

var (
	builtins = []tool.Spec{
		{Name: agent.ToolShell, Risk: agent.RiskWrite}, {Name: agent.ToolReadResult, Risk: agent.RiskReadOnly},
		{Name: "ticket", Risk: agent.RiskWrite}, {Name: "page", Risk: agent.RiskHigh}, {Name: "a__b", Risk: agent.RiskReadOnly},
	}
	withTool   = agent.Type{Tools: []string{agent.ToolShell}}
	iterating  = agent.Type{Tools: []string{agent.ToolShell}, Pattern: agent.Iterating}
	singleShot = agent.Type{Pattern: agent.SingleShot}
)

func catalogue(server string, names ...string) tool.Catalogue {
	c := tool.Catalogue{Server: server}
	for _, name := range names {
		c.Tools = append(c.Tools, tool.Spec{Name: name})
	}
	return c
}

func attached(servers ...string) (p plan.Agent) {
	for _, name := range servers {
		p.Servers = append(p.Servers, plan.Server{Name: name})
	}
	return p
}

func names(specs []tool.Spec) (out []string) {
	for _, spec := range specs {
		out = append(out, spec.Name)
	}
	return out
}

func TestOffered(t *testing.T) {
	t.Parallel()
	withShell := attached("loki")
	withShell.Shell = &plan.Shell{}
	narrowed := attached("a", "b")
	narrowed.Servers[0].Tools = []string{"a.x", "b.y"}
	withCode := plan.Agent{ToolIDs: []string{"page", "ticket", "unregistered"}}
	for name, tc := range map[string]struct {
		typ        agent.Type
		plan       plan.Agent
		catalogues []tool.Catalogue
		want       []string
		reported   string
	}{
		"nothing":               {agent.Type{}, attached(), nil, nil, ""},
		"shell switched on":     {withTool, withShell, nil, []string{"shell"}, ""},
		"shell not switched on": {withTool, attached(), nil, nil, ""},
		"not the type's shell":  {agent.Type{}, withShell, nil, nil, ""},
		"plan order, then names": {withTool, attached("b", "a"), []tool.Catalogue{catalogue("a", "a.z", "a.y"), catalogue("b", "b.x")},
			[]string{"b.x", "a.y", "a.z"}, ""},
		"server not attached": {withTool, attached("a"), []tool.Catalogue{catalogue("b", "b.x")}, nil, ""},
		"read_result": {iterating, withShell, []tool.Catalogue{catalogue("loki", "loki.q")},
			[]string{"shell", "read_result", "loki.q"}, ""},
		"a shell's long output": {iterating, plan.Agent{Shell: withShell.Shell}, nil, []string{"shell", "read_result"}, ""},
		"nothing to read":       {iterating, attached(), nil, nil, ""},
		"not one that iterates": {singleShot, attached("a"), []tool.Catalogue{catalogue("a", "a.x")}, []string{"a.x"}, ""},
		"registered in Go":      {iterating, withCode, nil, []string{"page", "ticket", "read_result"}, ""},
		"named by the request": {withTool, narrowed, []tool.Catalogue{catalogue("a", "a.x", "a.y"), catalogue("b", "b.x", "b.y")},
			[]string{"a.x", "b.x", "b.y"}, ""},
		"same wire name": {withTool, attached("a", "a__b"), []tool.Catalogue{catalogue("a", "a.b__c"), catalogue("a__b", "a__b.c")},
			[]string{"a.b__c"}, "a__b.c"},
		"same name twice":       {withTool, attached("a"), []tool.Catalogue{catalogue("a", "a.x", "a.x")}, []string{"a.x"}, "a.x"},
		"another server's name": {withTool, attached("a"), []tool.Catalogue{catalogue("a", "b.x", "shell", "a.")}, nil, "shell"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			policy := tool.NewPolicy(slog.New(slog.NewTextHandler(&log, nil)))
			got := policy.Tools(tc.typ, tc.plan, tc.catalogues, builtins).Offered()
			if diff := cmp.Diff(tc.want, names(got)); diff != "" {
				t.Error(diff)
			}
			if (tc.reported == "") != (log.Len() == 0) || !strings.Contains(log.String(), tc.reported) {
				t.Errorf("reported: %s", log.String())
			}
		})
	}
}

func TestDecideRefusesNames(t *testing.T) {
	t.Parallel()
	catalogues := []tool.Catalogue{catalogue("loki", "loki.query", "loki.labels", "loki.drop"), catalogue("k8s", "k8s.get_pods")}
	p := attached("loki", "k8s")
	p.Tools.Disabled = []string{"loki.drop"}
	set := tool.NewPolicy(nil).Tools(agent.Type{}, p, catalogues, append(builtins, tool.Spec{Name: "recall"}))
	for name, want := range map[string]tool.Result{
		"ticket":       tool.Failure(tool.ErrorPermissionDenied, "Tool ticket is not allowed for this agent."),
		"shell":        tool.Failure(tool.ErrorPermissionDenied, "Tool shell is not allowed for this agent."),
		"recall":       tool.Failure(tool.ErrorPermissionDenied, "Tool recall is not allowed for this agent."),
		"loki__drop":   tool.Failure(tool.ErrorPermissionDenied, "Tool loki.drop is disabled for this agent"),
		"loki.dorp":    tool.Failure(tool.ErrorUnknownTool, `Unknown tool "loki.dorp". Call only the tools that were offered.`),
		"loki.qeury":   tool.Failure(tool.ErrorUnknownTool, `Unknown tool "loki.qeury". Did you mean loki.query?`),
		"Loki__Query":  tool.Failure(tool.ErrorUnknownTool, `Unknown tool "Loki__Query". Did you mean loki.query?`),
		"query":        tool.Failure(tool.ErrorUnknownTool, `Unknown tool "query". Did you mean loki.query?`),
		"k8s__getpods": tool.Failure(tool.ErrorUnknownTool, `Unknown tool "k8s__getpods". Did you mean k8s.get_pods?`),
		"prometheus":   tool.Failure(tool.ErrorUnknownTool, `Unknown tool "prometheus". Call only the tools that were offered.`),
		"\xff":         tool.Failure(tool.ErrorUnknownTool, "Unknown tool \"\uFFFD\". Call only the tools that were offered."),
	} {
		_, err := set.Decide(name, "{}")
		if diff := cmp.Diff(want, refusal(t, err).Result()); diff != "" {
			t.Error(diff)
		}
	}
	_, err := tool.NewPolicy(nil).Tools(agent.Type{}, p, nil, nil).Decide(strings.Repeat("x", 1_000_000), "")
	if len(err.Error()) > 200 || !strings.Contains(err.Error(), "no tools are available") {
		t.Errorf("got %v", err)
	}
}

func refusal(t testing.TB, err error) *tool.Refusal {
	t.Helper()
	refusal, ok := errors.AsType[*tool.Refusal](err)
	if !ok {
		t.Fatalf("got %v, want a refusal", err)
	}
	return refusal
}

func TestWireName(t *testing.T) {
	t.Parallel()
	valid := regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)
	long := "server." + strings.Repeat("x", 100)
	for name, want := range map[string]string{
		"shell": "shell", "loki.query": "loki__query", "a.b.c": "a__b__c", "a.b c/é": "a__b_c__",
		"1password.get": "_1password__get", "-x.y": "_-x__y", strings.Repeat("1", 64) + ".y": "", long + "1": "", long + "2": "",
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

// TestSearch: an agent that searches is shown its tools of Inquest, and then what it has found and may use. With few tools, or without
// permission to search, it does not search.
func TestSearch(t *testing.T) {
	t.Parallel()
	all := append([]tool.Spec{{Name: agent.ToolSearchTools, Risk: agent.RiskReadOnly}}, builtins...)
	own := attached("b", "a")
	own.ToolIDs, own.ToolSearchAbove = []string{"ticket"}, 3
	own.Tools.Disabled = []string{"a.y"}
	catalogues := []tool.Catalogue{catalogue("a", "a.x", "a.y"), catalogue("b", "b.z", "b.w")}
	set := tool.NewPolicy(nil).Tools(iterating, own, catalogues, all)
	for what, tc := range map[string]struct {
		got  []tool.Spec
		want string
	}{
		"offered":     {set.Offered(), "[ticket read_result b.w b.z a.x]"},
		"findable":    {set.Findable(), "[ticket b.w b.z a.x]"},
		"at first":    {set.Shown(nil), "[read_result search_tools]"},
		"after some":  {set.Shown([]string{"search_tools", "a.x", "a.y", "gone", "ticket", "a.x"}), "[read_result search_tools a.x ticket]"},
		"without any": {tool.NewPolicy(nil).Tools(singleShot, own, catalogues, all).Shown(nil), "[]"},
	} {
		if got := fmt.Sprint(names(tc.got)); got != tc.want {
			t.Errorf("%s: %s, want %s", what, got, tc.want)
		}
	}
	if !set.Searching(4) || set.Searching(5) || set.Searching(0) {
		t.Error("an agent searches from the wrong number of tools on")
	}
	own.Tools.Enabled = []string{"a.x", "b.z", "b.w", "ticket"}
	if tool.NewPolicy(nil).Tools(iterating, own, catalogues, all).Searching(1) {
		t.Error("an agent searches without permission")
	}
}
