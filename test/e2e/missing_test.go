package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/report"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

const missingConfig = `
llm_providers:
  lab-model: {type: openai, model: lab-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
defaults: {llm_provider: lab-model, timeouts: {startup: 20s}}
mcp_servers:
  absent: {transport: {command: /nonexistent/mcp}}
  exits: {transport: {command: sh, args: [-c, "echo no token for the cluster >&2; exit 3"]}}
  hangs: {transport: %s}
  empty: {transport: %s}
  denies: {transport: {type: http, url: "%s/denied"}}
  website: {transport: {type: http, url: "%s/page"}}
  downloads:
    transport:
      command: sh
      args: [-c, "echo npm fetch kubernetes-mcp-server >&2; until [ -e %s ]; do sleep 0.1; done; exec {{.E2E_TOOLS}}"]
agents:
  Late: {description: looks, mcp_servers: [downloads], timeouts: {startup: 10m}}
  Absent: {description: looks, mcp_servers: [absent]}
  Others: {description: looks, mcp_servers: [exits, hangs, empty, denies, website]}
  Writer: {description: writes}
agent_chains:
  waits: {stages: [{name: dig, agents: [{name: Late}]}]}
  blind:
    stages:
      - {name: dig, agents: [{name: Absent}, {name: Others}]}
      - {name: tell, agents: [{name: Writer}]}
`

// TestMissingServers checks each way in which a tool server can be missing: an agent waits for one that is starting, and an
// investigation that had to do without one is partial and says so first, wherever people read it.
func TestMissingServers(t *testing.T) {
	t.Parallel()
	sites := http.NewServeMux()
	sites.HandleFunc("/denied", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "token expired", http.StatusUnauthorized) })
	sites.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<h1>Welcome</h1>")
	})
	site := httptest.NewServer(sites)
	t.Cleanup(site.Close)
	gate := filepath.Join(t.TempDir(), "gate")
	config := fmt.Sprintf(missingConfig, rawServer{Never: true}.transport(t), rawServer{}.transport(t), site.URL, site.URL, gate)
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		if req.Offers("downloads__echo") && turnOf(req) == 1 {
			return llmtest.Calls(llmtest.Call{Name: "downloads__echo", Args: `{"text":"restarts"}`})
		}
		return llmtest.Text("## Cause\nThe pool is too small.\n\nConfidence: high")
	}, config)
	address := freeAddress(t)
	w.dev("--http", address)

	w.beginWith("waits", agent.Request{Chain: "waits", Data: json.RawMessage(`"x"`)})
	const waits = "server downloads: it is starting: npm fetch kubernetes-mcp-server, since "
	eventually(t, "the status shows what it waits for", func() bool { return strings.Contains(w.must("status", "waits"), waits) })
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := w.end("waits"); got.EndReason != agent.EndCompleted || len(got.NotChecked) > 0 || got.NoToolResult || got.Usage.ToolCalls != 1 {
		t.Errorf("the tools of a server that starts are used: %+v", got)
	}

	out, _, code := w.starter("", "run", "--chain", "blind", "--workflow-id", "blind", "--data", `"x"`)
	if code != 3 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	reasons := []string{
		"Not checked: absent (it cannot be started: fork/exec /nonexistent/mcp: no such file or directory) · agent Absent",
		"Not checked: exits (its session has ended: ", "no token for the cluster) · agent Others",
		"Not checked: hangs (it did not list its tools in time: it has not listed its tools after ",
		"Not checked: empty (it lists no tools) · agent Others",
		"Not checked: denies (it returned HTTP status 401: it answered 401 Unauthorized: token expired.",
		"Not checked: website (its response cannot be read: it is not valid JSON (content type \"text/html\"): \"Welcome\") · agent Others",
	}
	program := exec.Command(w.path("starter"), "mcp", "--config", w.config)
	program.Env = w.env
	read, err := newEditor(t, &mcp.CommandTransport{Command: program}).call("get_investigation", map[string]any{"id": "blind"})
	if err != nil {
		t.Fatal(err)
	}
	var r report.Report
	w.decode(&r, "report", "blind", "--json")
	text := w.must("report", "blind")
	head, _, found := strings.Cut(text, "The pool is too small")
	if !found || !strings.Contains(plain(head), "No tool result: ") {
		t.Errorf("the report does not say that it rests on nothing before its cause:\n%s", text)
	}
	for place, text := range map[string]string{
		"report": plain(head), "run": plain(out), "status": w.must("status", "blind"), "brief": strings.Join(r.Brief.Caveats, "\n"),
		"result": plain(w.end("blind").Report), "MCP": fmt.Sprint(read["caveats"]),
	} {
		for _, why := range reasons {
			if !strings.Contains(text, why) {
				t.Errorf("%s: no %q in:\n%s", place, why, text)
			}
		}
	}
	page := newBrowser(t, "http://"+address+"/")
	page.do("open the list", chromedp.Navigate(page.base))
	page.shows("partial", "Not checked: absent, exits, hangs, empty, denies, website")
	page.do("open the investigation", chromedp.Navigate(page.base+"#/"+url.PathEscape(r.ID)))
	page.shows("No tool result: no tool call succeeded")
	var shown string
	page.do("read it", chromedp.Text(".report", &shown))
	for _, why := range reasons {
		if before, _, found := strings.Cut(shown, "The pool is too small"); !found || !strings.Contains(before, why) {
			t.Errorf("page: no %q before the cause in:\n%s", why, shown)
		}
	}
	page.shot("page-partial")
	const line = " partial .* Not checked: absent, exits, hangs, empty, denies, website → "
	if list := w.must("list"); !regexp.MustCompile(line).MatchString(list) {
		t.Errorf("list:\n%s", list)
	}
	const first = "**Not checked:** absent "
	if got := w.end("blind"); got.EndReason != agent.EndPartial || !got.NoToolResult || !strings.HasPrefix(got.Report, first) {
		t.Errorf("got %+v", got)
	}
	if *recordHistories {
		w.record("servers")
	}
}

// plain removes the markup from lines of Markdown.
func plain(text string) string { return strings.NewReplacer("*", "", "`", "").Replace(text) }
