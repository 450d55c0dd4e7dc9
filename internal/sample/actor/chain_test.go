package actor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/sample"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/builtin"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// lab runs the sample chain on the files in dir with the real prompts, the real tools over MCP, and a real shell. Only the workflows are
// missing.
type lab struct {
	dir     string
	session *mcp.ClientSession
	tools   []llm.Tool
}

// newLab extracts the incident, lets change edit it, and connects to its server.
func newLab(t *testing.T, change func(dir string)) lab {
	t.Helper()
	base := t.TempDir()
	if err := sample.Extract(base); err != nil {
		t.Fatal(err)
	}
	l := lab{dir: filepath.Join(base, sample.Folder)}
	if change != nil {
		change(l.dir)
	}
	l.session = connect(t, l.dir)
	list, err := l.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		l.tools = append(l.tools, llm.Tool{Name: "incident__" + tool.Name})
	}
	return l
}

// connect starts a server for dir in this process.
func connect(t *testing.T, dir string) *mcp.ClientSession {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return connectTo(t, sample.NewServer(root))
}

// connectTo connects to a server in this process.
func connectTo(t *testing.T, server *mcp.Server) *mcp.ClientSession {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	serving, err := server.Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		_ = serving.Wait()
	})
	return session
}

// run is the result of running an agent.
type run struct {
	final    string
	rounds   int // with calls
	widest   int // the most calls in a round
	messages []agent.Message
	entries  []transcript.Entry
}

// play runs an agent to its end as the iterating workflow does.
func (l lab) play(t *testing.T, template string, d prompt.Data, tools []llm.Tool) run {
	t.Helper()
	r := run{messages: opening(t, template, d)}
	for r.rounds < 8 {
		res := Model(llm.Request{Messages: r.messages, Tools: tools})
		r.record(res)
		if len(res.ToolCalls) == 0 {
			r.final = res.Content
			return r
		}
		r.rounds++
		r.widest = max(r.widest, len(res.ToolCalls))
		for _, call := range res.ToolCalls {
			result := l.call(t, call)
			r.messages = append(r.messages, agent.Message{Role: agent.ToolRole, ToolCallID: call.ID, Content: result})
			r.entries = append(r.entries, entry(transcript.KindResult, transcript.Body{Call: &transcript.Call{Name: call.Name}, Text: result}))
		}
	}
	t.Fatalf("%s did not conclude", d.Agent)
	return r
}

func opening(t *testing.T, template string, d prompt.Data) []agent.Message {
	t.Helper()
	system, err := prompt.System(template, d)
	if err != nil {
		t.Fatal(err)
	}
	task, err := prompt.Task(template, d)
	if err != nil {
		t.Fatal(err)
	}
	return []agent.Message{{Role: agent.System, Content: system}, {Role: agent.User, Content: task}}
}

func (r *run) record(res llm.Response) {
	r.messages = append(r.messages, agent.Message{Role: agent.Assistant, Content: res.Content, ToolCalls: res.ToolCalls})
	r.entries = append(r.entries, entry(transcript.KindReply, transcript.Body{Text: res.Content, Thinking: res.Thinking}))
}

func entry(kind transcript.Kind, body transcript.Body) transcript.Entry {
	return transcript.Entry{Key: transcript.Key{Iteration: 1}, Kind: kind, Body: body}
}

func (l lab) call(t *testing.T, call agent.ToolCall) string {
	t.Helper()
	var args map[string]any
	if err := json.Unmarshal([]byte(call.Arguments), &args); err != nil {
		t.Fatalf("arguments of %s: %v", call.Name, err)
	}
	if call.Name == "shell" {
		shell := builtin.Shell(plan.Shell{Allow: []string{"grep"}, Dir: l.dir})
		return shell.Run(t.Context(), tool.Call{Name: call.Name, Arguments: json.RawMessage(call.Arguments)}).Content
	}
	res, err := l.session.CallTool(t.Context(), &mcp.CallToolParams{Name: strings.TrimPrefix(call.Name, "incident__"), Arguments: args})
	if err != nil {
		return "Error: " + err.Error()
	}
	return res.Content[0].(*mcp.TextContent).Text
}

// chain holds the results of all agents in the sample chain.
type chain struct {
	logs, metrics, synthesis, analysis, recommend run
}

func (l lab) chain(t *testing.T, between func()) chain {
	t.Helper()
	var c chain
	data := func(name, stage string) prompt.Data {
		return prompt.Data{Agent: name, Chain: "sample", Stage: stage, Request: string(sample.Alert())}
	}
	c.logs = l.play(t, "investigation", data("LogAgent", "collect"), l.tools)
	c.metrics = l.play(t, "investigation", data("MetricsAgent", "collect"), l.tools)
	d := data("SynthesisAgent", "collect")
	d.Peers = []prompt.Peer{
		{Agent: "LogAgent", Status: "completed", Entries: c.logs.entries},
		{Agent: "MetricsAgent", Status: "completed", Entries: c.metrics.entries},
	}
	c.synthesis = l.play(t, "synthesis", d, nil)
	d = data("AnalysisAgent", "analyse")
	d.Prior = []prompt.Result{{Stage: "collect", Agent: "SynthesisAgent", Text: c.synthesis.final}}
	c.analysis = l.play(t, "react", d, append(l.tools[:len(l.tools):len(l.tools)], llm.Tool{Name: "shell"}))
	if between != nil {
		between()
	}
	next := data("RecommendAgent", "recommend")
	next.Prior = append(d.Prior, prompt.Result{Stage: "analyse", Agent: "AnalysisAgent", Text: c.analysis.final})
	c.recommend = l.play(t, "investigation", next, l.tools)
	return c
}

// answerAll plays an agent with the same text for every input.
func answerAll(t *testing.T, name, text string) {
	t.Helper()
	var tools []llm.Tool
	for tool := range good {
		tools = append(tools, llm.Tool{Name: tool})
	}
	messages := opening(t, "synthesis", prompt.Data{
		Agent: name, Request: text,
		Prior: []prompt.Result{{Text: text + "\n**Suspect service:** a\n**Onset:** 2026-01-01T10:00:00Z\n**Symptom:** " + text}},
		Peers: []prompt.Peer{{Agent: text, Entries: []transcript.Entry{entry(transcript.KindReply, transcript.Body{Text: text})}}},
	})
	for range 8 {
		res := Model(llm.Request{Messages: messages, Tools: tools})
		if said := res.Thinking + res.Content; res.Content == "" || strings.Contains(said, "template: ") {
			t.Fatalf("%s answered %q", name, said)
		}
		if len(res.ToolCalls) == 0 {
			return
		}
		messages = append(messages, agent.Message{Role: agent.Assistant, ToolCalls: res.ToolCalls})
		for _, call := range res.ToolCalls {
			messages = append(messages, agent.Message{Role: agent.ToolRole, ToolCallID: call.ID, Content: text})
		}
	}
	t.Fatalf("%s did not conclude on %q", name, text)
}
