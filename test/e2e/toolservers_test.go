package e2e

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// oneServerConfig is a chain of one agent with one tool server and any transport. The agent may repeat its calls.
const oneServerConfig = `
llm_providers:
  lab-model: {type: openai, model: lab-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
mcp_servers:
  lab: {transport: %s}
agents:
  Alpha: {description: digs, mcp_servers: [lab], timeouts: {tool: %s}, tool_config: {repeats: allow}}
agent_chains:
  lab: {alert_types: [lab], llm_provider: lab-model, stages: [{name: dig, agents: [{name: Alpha}]}]}
`

// counts is a call to the non-repeatable tool.
func (w *world) counts() llmtest.Reply {
	return llmtest.Calls(llmtest.Call{Name: "lab__counter", Args: fmt.Sprintf(`{"file":%q}`, filepath.Join(w.data, "effects"))})
}

// outcomes returns the error types of the results of an investigation's calls.
func (w *world) outcomes(investigation string) (types []string) {
	for _, e := range w.entries(investigation) {
		if e.Kind == transcript.KindResult {
			types = append(types, e.ErrorType)
		}
	}
	return types
}

// A tool server whose process hangs is replaced: the call in progress is reported as unknown and never
// repeated, and the next call goes to a new process.
func TestHungToolServer(t *testing.T) {
	t.Parallel()
	var w *world
	w = newWorld(t, func(req llmtest.Request) llmtest.Reply {
		switch turnOf(req) {
		case 1:
			return llmtest.Calls(llmtest.Call{Name: "lab__client", Args: `{}`})
		case 2:
			var pid int
			text := *req.Messages[len(req.Messages)-1].Content
			if _, err := fmt.Sscanf(text[max(0, strings.Index(text, "pid=")):], "pid=%d", &pid); err != nil {
				return llmtest.Status(400, fmt.Sprintf(`{"error":{"message":%q}}`, err))
			}
			syscall.Kill(pid, syscall.SIGSTOP)
			return w.counts()
		case 3:
			return w.counts()
		}
		return llmtest.Text("alpha knows")
	}, fmt.Sprintf(oneServerConfig, `{type: stdio, command: "{{.E2E_TOOLS}}"}`, "20s"))
	w.dev()
	id := workflows.InvestigationID("lab", w.begin("lab").GetRunID())
	if result := w.end("lab"); result.Status != agent.StatusCompleted {
		t.Errorf("got %+v", result)
	}
	if got := strings.Join(w.outcomes(id), ","); got != ",OutcomeUnknown," || w.effects() != 1 {
		t.Errorf("outcomes %q, %d effects", got, w.effects())
	}
}

// An HTTP tool server stalls during a call. The next call waits for it visibly, although no call opens a session, and is made once the
// server answers. This test needs processes: the wait is a workflow's, and the sessions are those of its worker.
func TestFrozenToolServerOverHTTP(t *testing.T) {
	takesLong(t)
	t.Parallel()
	server := tooltest.ServeWeb(t, tooltest.WebOptions{})
	var w *world
	w = newWorld(t, func(req llmtest.Request) llmtest.Reply {
		switch turnOf(req) {
		case 1:
			server.Freeze()
			return w.counts()
		case 2:
			return w.counts()
		}
		return llmtest.Text("alpha knows")
	}, fmt.Sprintf(oneServerConfig, fmt.Sprintf("{type: http, url: %q}", server.URL), "30s"))
	w.dev()
	id := workflows.InvestigationID("lab", w.begin("lab").GetRunID())
	eventually(t, "the call waits for the server", func() bool {
		shown, _, _ := w.starter("", "status", "lab")
		return strings.Contains(shown, "waiting_provider") && strings.Contains(shown, "waiting for server lab: it does not respond to pings")
	})
	server.Thaw()
	if result := w.end("lab"); result.Status != agent.StatusCompleted {
		t.Errorf("got %+v", result)
	}
	if got, sent := strings.Join(w.outcomes(id), ","), len(server.Seen("tools/call")); got != "OutcomeUnknown," || sent != 2 {
		t.Errorf("outcomes %q of %d requests", got, sent)
	}
}

// An HTTP tool server stalls during a call and answers after the agent has ended: people can see the result.
func TestLateAnswerOfAToolServer(t *testing.T) {
	t.Parallel()
	server := tooltest.ServeWeb(t, tooltest.WebOptions{})
	var w *world
	w = newWorld(t, func(req llmtest.Request) llmtest.Reply {
		if turnOf(req) == 1 {
			server.Freeze()
			return w.counts()
		}
		return llmtest.Text("alpha knows")
	}, fmt.Sprintf(oneServerConfig, fmt.Sprintf("{type: http, url: %q}", server.URL), "2s"))
	w.dev()
	id := workflows.InvestigationID("lab", w.begin("lab").GetRunID())
	if result := w.end("lab"); result.Status != agent.StatusCompleted {
		t.Errorf("got %+v", result)
	}
	if got := strings.Join(w.outcomes(id), ","); got != "OutcomeUnknown" || w.effects() != 0 {
		t.Errorf("outcomes %q, %d effects", got, w.effects())
	}
	server.Thaw()
	const text = "The call to lab.counter was abandoned; its response came "
	w.until(id, func(e transcript.Entry) bool {
		return e.Kind == transcript.KindNotice && strings.HasPrefix(e.Text, text)
	})
	if shown := w.must("show", "lab"); !strings.Contains(shown, text) {
		t.Errorf("not shown:\n%s", shown)
	}
}

// A worker stalls on its way to the tool server, with a connection that is not yet ready for a request, until
// another worker has taken over and the investigation has ended. When it continues, it makes no call.
func TestLongFreezeBeforeTheWrite(t *testing.T) {
	takesLong(t)
	t.Parallel()
	server := tooltest.ServeWeb(t, tooltest.WebOptions{TLS: true})
	front := newFront(t, server.URL)
	var w *world
	w = newWorld(t, func(req llmtest.Request) llmtest.Reply {
		if turnOf(req) == 1 {
			front.hold()
			return w.counts()
		}
		return llmtest.Text("alpha knows")
	}, fmt.Sprintf(oneServerConfig, fmt.Sprintf("{type: http, url: %q, verify_ssl: false}", front.url), "2m"))
	w.dev("--no-worker")
	sleeper := w.worker()
	id := workflows.InvestigationID("lab", w.begin("lab").GetRunID())
	pass := <-front.held
	resume := w.freezeBetweenWrites(sleeper)
	over := pass()
	w.worker()
	if result := w.end("lab"); result.Status != agent.StatusCompleted {
		t.Errorf("got %+v", result)
	}
	resume()
	<-over
	got, effects := strings.Join(w.outcomes(id), ","), w.effects()
	if effects > 1 || got != "OutcomeUnknown" && (got != "" || effects != 1) {
		t.Errorf("outcomes %q, %d effects", got, effects)
	}
}

// front is a TCP proxy that can hold a connection before it forwards any data.
type front struct {
	url  string
	arm  chan struct{}
	held chan func() (over <-chan struct{}) // lets the connection through
}

func newFront(t *testing.T, target string) *front {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	f := &front{
		url: "https://" + listener.Addr().String() + u.Path, arm: make(chan struct{}, 1), held: make(chan func() <-chan struct{}),
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go f.serve(conn, u.Host)
		}
	}()
	return f
}

// hold makes the next connection wait.
func (f *front) hold() { f.arm <- struct{}{} }

func (f *front) serve(client net.Conn, host string) {
	defer client.Close()
	over := make(chan struct{})
	defer close(over)
	select {
	case <-f.arm:
		passed := make(chan struct{})
		f.held <- func() <-chan struct{} { close(passed); return over }
		<-passed
	default:
	}
	server, err := net.Dial("tcp", host)
	if err != nil {
		return
	}
	defer server.Close()
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{server, client}, {client, server}} {
		go func() {
			io.Copy(way[0], way[1])
			ended <- struct{}{}
		}()
	}
	<-ended
}

// A tool server asks people a question during a call. The question is in the inbox, the tool's timeout is
// suspended until there is an answer, and the call continues with the answer.
func TestToolServerAsksPeople(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		if turnOf(req) == 1 {
			return llmtest.Calls(llmtest.Call{Name: "lab__deploy", Args: `{}`})
		}
		return llmtest.Text("alpha knows")
	}, fmt.Sprintf(oneServerConfig, `{type: stdio, command: "{{.E2E_TOOLS}}", args: [asks]}`, "2s"))
	w.dev()
	id := workflows.InvestigationID("lab", w.begin("lab").GetRunID())
	var inbox []struct{ Name, Question, Stage string }
	eventually(t, "the question", func() bool {
		w.decode(&inbox, "inbox", "--json")
		return len(inbox) == 1
	})
	if !strings.HasPrefix(inbox[0].Question, "Tool server lab asks a question during lab.deploy: Where to?") || inbox[0].Stage != "dig" {
		t.Errorf("in the inbox: %+v", inbox)
	}
	asked := time.Now()
	eventually(t, "more than the tool's time", func() bool { return time.Since(asked) > 3*time.Second })
	w.must("answer", "lab", inbox[0].Name, "--text", "staging", "--by", "Ada")
	if result := w.end("lab"); result.Status != agent.StatusCompleted {
		t.Errorf("got %+v", result)
	}
	var results []string
	for _, e := range w.entries(id) {
		if e.Kind == transcript.KindResult {
			results = append(results, e.Text)
		}
	}
	if len(results) != 1 || results[0] != "accept: staging" {
		t.Errorf("results %q", results)
	}
}
