package activities_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// realCatalogues returns the tools of real MCP servers, by server.
func realCatalogues(t *testing.T) (servers []plan.Server, catalogues map[string]tool.Catalogue) {
	t.Helper()
	text, err := os.ReadFile("../internal/toolsearch/testdata/tools.json")
	var groups []struct {
		Tools []struct {
			Name, Description string
			Parameters        []string
		}
	}
	if err == nil {
		err = json.Unmarshal(text, &groups)
	}
	if err != nil {
		t.Fatal(err)
	}
	catalogues = map[string]tool.Catalogue{}
	for _, g := range groups {
		for _, one := range g.Tools {
			properties := map[string]any{}
			for _, name := range one.Parameters {
				properties[name] = map[string]any{"type": "string"}
			}
			schema, err := json.Marshal(map[string]any{"type": "object", "properties": properties})
			if err != nil {
				t.Fatal(err)
			}
			server, own := tool.Split(one.Name)
			spec := tool.Spec{Name: one.Name, Description: one.Description, Schema: schema, Risk: agent.RiskReadOnly}
			if strings.HasPrefix(own, "merge_") {
				spec.Risk = agent.RiskHigh
			}
			if _, known := catalogues[server]; !known {
				servers = append(servers, plan.Server{Name: server})
			}
			catalogues[server] = tool.Catalogue{Server: server, Tools: append(catalogues[server].Tools, spec)}
		}
	}
	return servers, catalogues
}

// searcher is an agent with all of these tools, and a model that looks for some.
func searcher(t *testing.T, wire string) (*bench, *llmtest.Server) {
	t.Helper()
	servers, catalogues := realCatalogues(t)
	b := newBench(t)
	b.plan(func(a *plan.Agent) { a.Servers, a.ToolSearchAbove = servers, 40 })
	b.act.Builtins = everyBuiltin{b.store}
	for _, c := range catalogues {
		if err := b.store.SaveCatalogue(t.Context(), b.scope(), c); err != nil {
			t.Fatal(err)
		}
	}
	replies := []llmtest.Reply{
		llmtest.Calls(llmtest.Call{ID: "a", Name: "search_tools", Args: `{"query":"merge a merge request","limit":3}`}),
		llmtest.Calls(
			llmtest.Call{ID: "b", Name: "gitlab__merge_merge_request", Args: `{"project_id":"1"}`},
			llmtest.Call{ID: "c", Name: "search_tools", Args: `{"query":"zebra"}`},
			llmtest.Call{ID: "d", Name: "gitlab__list_issues", Args: `{}`}),
		llmtest.Text("Done."),
	}
	server := llmtest.Start(t, func(req llmtest.Request) llmtest.Reply {
		made := 0
		for _, m := range req.Messages {
			if len(m.ToolCalls) > 0 {
				made++
			}
		}
		return replies[made]
	})
	b.act.Models = clients(func() (llm.Client, error) { return dial(wire, server) })
	return b, server
}

// TestToolSearch: with every provider, an agent with hundreds of tools is offered only those that it has found or called. Each request
// begins with the tools of the one before, whatever the servers list meanwhile. The policy decides on the calls as it always does.
func TestToolSearch(t *testing.T) {
	t.Parallel()
	for _, wire := range []string{"openai", "responses", "gemini", "geminilegacy", "anthropic"} {
		t.Run(wire, func(t *testing.T) {
			t.Parallel()
			b, server := searcher(t, wire)
			var asked []string
			for i := range 3 {
				out, err := b.generate(activities.GenerateIn{Iteration: i + 1})
				if err != nil {
					t.Fatal(err)
				}
				for n, call := range out.Calls {
					if call.Approve != nil {
						asked = append(asked, call.Name)
						continue
					}
					if called, err := b.callTool(i+1, n); err != nil || called.Status != "success" {
						t.Fatalf("call %d/%d: %+v, %v", i+1, n, called, err)
					}
				}
				b.relist(t)
			}
			if diff := cmp.Diff([]string{"gitlab.merge_merge_request"}, asked); diff != "" {
				t.Errorf("calls that need approval (-want +got):\n%s", diff)
			}
			if len(b.calls) != 1 || b.calls[0].Name != "gitlab.list_issues" {
				t.Errorf("calls: %+v", b.calls)
			}
			checkOffers(t, server.Requests())
		})
	}
}

// relist has the server describe its tools differently, so that the second search finds a tool that the first list did not have words for.
func (b *bench) relist(t *testing.T) {
	t.Helper()
	_, catalogues := realCatalogues(t)
	changed := catalogues["gitlab"]
	for n := range changed.Tools {
		changed.Tools[n].Description = ""
		if changed.Tools[n].Name == "gitlab.get_issue" {
			changed.Tools[n].Description = "Returns the zebra."
		}
	}
	if err := b.store.SaveCatalogue(t.Context(), b.scope(), changed); err != nil {
		t.Fatal(err)
	}
}

func checkOffers(t *testing.T, requests []llmtest.Request) {
	t.Helper()
	var offers [][]string
	for _, req := range requests {
		var names []string
		for _, one := range req.Tools {
			names = append(names, one.Function.Name)
		}
		offers = append(offers, names)
	}
	if len(offers) != 3 || cmp.Diff(offers[0], []string{"read_result", "search_tools"}) != "" {
		t.Fatalf("offered: %q", offers)
	}
	if len(offers[1]) != 5 || offers[1][2] != "gitlab__merge_merge_request" {
		t.Errorf("the second request offers %q", offers[1])
	}
	for i := range 2 {
		if len(offers[i+1]) < len(offers[i]) || cmp.Diff(offers[i], offers[i+1][:len(offers[i])]) != "" {
			t.Errorf("request %d offers %q, and the next one %q", i+1, offers[i], offers[i+1])
		}
	}
	if last := fmt.Sprint(offers[2][5:]); last != "[gitlab__list_issues gitlab__get_issue]" {
		t.Errorf("the third request adds %s", last)
	}
	system := requests[0].System()
	if !strings.Contains(system, "- gitlab__ followed by: ") || strings.Contains(system, "gitlab__merge_merge_request") {
		t.Errorf("the prompt lists no tools by server:\n%s", system)
	}
}

// TestToolLimit: if a provider accepts fewer tools than the agent has found, the earliest found are not offered, the model is told once,
// and a further search brings a tool back. Nothing but the journal decides that: the second worker knows only the store.
func TestToolLimit(t *testing.T) {
	t.Parallel()
	search := func(query string, limit int) llmtest.Reply {
		args := fmt.Sprintf(`{"query":%q,"limit":%d}`, query, limit)
		return llmtest.Calls(llmtest.Call{ID: query[:5], Name: "search_tools", Args: args})
	}
	replies := []llmtest.Reply{
		search("merge a merge request", 3), search("approve merge request", 1), search("merge a merge request", 3), llmtest.Text("Done."),
	}
	dialect := agent.Dialect{MaxTools: 4} // room for two besides read_result and search_tools
	for _, wire := range []string{"openai", "responses", "gemini", "geminilegacy", "anthropic"} {
		t.Run(wire, func(t *testing.T) {
			t.Parallel()
			b, _ := searcher(t, wire)
			servers, _ := realCatalogues(t)
			b.plan(func(a *plan.Agent) {
				a.Servers, a.ToolSearchAbove = servers, 40
				a.Providers = []plan.Provider{{Name: "p", Model: "m", Accepts: dialect}}
			})
			turn := 0
			server := llmtest.Start(t, func(llmtest.Request) llmtest.Reply { turn++; return replies[turn-1] })
			for i := range replies {
				b.act.Models = clients(func() (llm.Client, error) { return dialAs(wire, server, dialect) }) // as another worker
				out, err := b.generate(activities.GenerateIn{Iteration: i + 1})
				if err != nil {
					t.Fatal(err)
				}
				for n := range out.Calls {
					if _, err := b.callTool(i+1, n); err != nil {
						t.Fatal(err)
					}
				}
			}
			checkLimited(t, server.Requests())
		})
	}
}

func checkLimited(t *testing.T, requests []llmtest.Request) {
	t.Helper()
	const (
		told   = "At most 4 tools can be offered to you at once. The tools that you found first are no longer offered: "
		remedy = ". To use one of them, find it again with search_tools."
	)
	want := []struct{ offered, forgotten string }{
		{"", ""},
		{"gitlab__merge_merge_request gitlab__unapprove_merge_request", "gitlab__get_merge_request_conflicts"},
		{"gitlab__merge_merge_request gitlab__approve_merge_request",
			"gitlab__unapprove_merge_request, gitlab__get_merge_request_conflicts"},
		{"gitlab__merge_merge_request gitlab__unapprove_merge_request",
			"gitlab__get_merge_request_conflicts, gitlab__approve_merge_request"},
	}
	if len(requests) != len(want) {
		t.Fatalf("%d requests, want %d", len(requests), len(want))
	}
	for n, req := range requests {
		var names []string
		for _, one := range req.Tools {
			names = append(names, one.Function.Name)
		}
		if got := strings.Join(names, " "); got != strings.TrimSpace("read_result search_tools "+want[n].offered) {
			t.Errorf("request %d offers %s", n, got)
		}
		for past := range n + 1 {
			if sentence := told + want[past].forgotten + remedy; past > 0 && strings.Count(string(req.Body), sentence) != 1 {
				t.Errorf("request %d does not say once: %s\n%s", n, sentence, req.Body)
			}
		}
		if strings.Count(string(req.Body), told) != n {
			t.Errorf("request %d says %d times which tools are no longer offered", n, strings.Count(string(req.Body), told))
		}
	}
}

// TestFewTools: an agent with few tools sends exactly the same requests as before there was a limit.
func TestFewTools(t *testing.T) {
	t.Parallel()
	for _, wire := range []string{"openai", "responses", "gemini", "geminilegacy", "anthropic"} {
		var sent []string
		for _, above := range []int{0, 40} {
			b := newBench(t)
			b.plan(func(a *plan.Agent) { a.ToolSearchAbove = above })
			b.act.Builtins = everyBuiltin{b.store}
			server := llmtest.Start(t, busy)
			b.act.Models = clients(func() (llm.Client, error) { return dial(wire, server) })
			if _, err := b.generate(activities.GenerateIn{Iteration: 1}); err != nil {
				t.Fatal(err)
			}
			sent = append(sent, string(server.Requests()[0].Body))
		}
		if diff := cmp.Diff(sent[0], sent[1]); diff != "" {
			t.Errorf("%s (-without +with the limit):\n%s", wire, diff)
		}
	}
}
