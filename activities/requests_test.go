package activities_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/kit/goldentest"
	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/llm/openai"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/builtin"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// TestRequests compares the provider's requests for every type, in an investigation and in a conversation: the system
// prompt with the current memory, the offered tools, and the messages. The plan is made from a configuration. Between
// two requests, the calls of the first are run.
func TestRequests(t *testing.T) {
	t.Parallel()
	for _, row := range agent.Types() {
		if !row.Pattern.Model() {
			continue
		}
		for _, talking := range []bool{false, true} {
			name := row.Name + map[bool]string{false: "-investigation", true: "-conversation"}[talking]
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				o := newOffice(t, row, talking)
				o.generate(activities.GenerateIn{Iteration: 1, Inputs: o.said("What is wrong?"), Prior: o.prior, Peers: o.peers})
				if row.Pattern == agent.Iterating {
					o.runCalls(1)
				}
				if talking || row.Pattern == agent.Iterating {
					o.generate(activities.GenerateIn{Iteration: 2, Inputs: o.said("Look at the disks.")})
				}
				o.compare(filepath.Join("testdata", "requests", name+".txtar"))
			})
		}
	}
}

// office is a bench with a provider behind it and a plan from a configuration.
type office struct {
	*bench
	row     agent.Type
	talking bool
	server  *llmtest.Server
	prior   []activities.Source
	peers   []activities.Peer
}

// officeConfig configures one agent of a given type; the rest is for types that can use it.
const officeConfig = `
llm_providers: {lab-model: {type: openai, model: gpt-4o, base_url: %q}}
mcp_servers: {lab: {transport: {command: lab}, instructions: What the laboratory knows.}}
defaults: {llm_provider: lab-model}
agents:
  Ada:
    type: %s
    mcp_servers: [lab]
    custom_instructions: Be brief.
    %s
agent_chains: {lab: {stages: [{name: s, agents: [{name: Ada}]}]}}
`

func newOffice(t *testing.T, row agent.Type, talking bool) *office {
	t.Helper()
	o := &office{bench: newBench(t), row: row, talking: talking}
	o.server = llmtest.Start(t, o.answer)
	own := ""
	if slices.Contains(row.Tools, agent.ToolShell) {
		own += "\n    shell: {enabled: true, allow: [echo]}"
	}
	if row.Remembers() {
		own += `
    memory_blocks:
      - {label: persona, value: "I am Ada.", description: Who you are., read_only: true}
      - {label: facts, limit: 200}`
	}
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, fmt.Appendf(nil, officeConfig, o.server.URL, row.Name, own), 0o600); err != nil {
		t.Fatal(err)
	}
	none := func(string) (string, bool) { return "", false }
	cfg, err := configuration.Load(configuration.Source{Dir: path, SkipCredentials: true, Env: none})
	if err != nil {
		t.Fatal(err)
	}
	p, err := cfg.Plan(agent.Request{Chain: "lab"})
	if talking {
		p, err = cfg.Conversation(agent.ConversationRequest{Agent: "Ada"})
	}
	if err != nil {
		t.Fatal(err)
	}
	o.begin(p)
	return o
}

// begin stores what precedes the first request.
func (o *office) begin(p plan.Plan) {
	o.t.Helper()
	o.act.Memories, o.act.Builtins = o.store, everyBuiltin{o.store}
	o.act.Models = provider{o.server.URL}
	o.ref = activities.Ref{Investigation: "office", Execution: "s/Ada", Plan: o.keep(p),
		Started: time.Date(2026, 11, 28, 6, 30, 0, 0, time.UTC)}
	o.must(o.store.SaveCatalogue(o.t.Context(), o.scope(), tool.Catalogue{Server: "lab", Tools: labTools}))
	if o.talking {
		return
	}
	o.ref.Data = o.keep(map[string]string{"service": "checkout"})
	inv := record.Investigation{ID: "office", Status: agent.StatusRunning, StartedAt: time.Now()}
	o.must(o.store.StartInvestigation(o.t.Context(), inv))
	if o.row.Pattern == agent.SingleShot {
		o.history()
	}
}

// history stores the entries of other agents that a single-shot agent sees.
func (o *office) history() {
	o.t.Helper()
	for _, name := range []string{"triage/Tim", "s/Peer"} {
		_, err := o.store.Append(o.t.Context(), transcript.Step{
			Scope: transcript.Scope{Investigation: "office", Execution: name}, Writer: transcript.Writer{RunID: "r", ActivityID: "1"},
			Rows: []transcript.Row{{Key: transcript.Key{Iteration: 1}, Kind: transcript.KindReply,
				Body: transcript.Body{Text: "The pool is exhausted, says " + name + "."}}},
		})
		o.must(err)
	}
	o.prior = []activities.Source{{Stage: "triage", Execution: "triage/Tim"}}
	o.peers = []activities.Peer{{Execution: "s/Peer", Agent: "Peer", Status: agent.StatusCompleted}}
}

func (o *office) scope() transcript.Scope {
	return transcript.Scope{Investigation: "office", Execution: o.ref.Execution}
}

func (o *office) must(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

func (o *office) keep(v any) string {
	o.t.Helper()
	body, err := json.Marshal(v)
	o.must(err)
	hash, err := o.store.PutBlob(o.t.Context(), body)
	o.must(err)
	return hash
}

func (o *office) generate(in activities.GenerateIn) {
	o.t.Helper()
	_, err := o.bench.generate(in)
	o.must(err)
}

// said returns a person's input: a message in a conversation, otherwise guidance.
func (o *office) said(text string) []activities.Input {
	o.t.Helper()
	if o.talking {
		return []activities.Input{{Kind: activities.InputMessage, Text: text, By: "Bob"}}
	}
	o.posted++
	_, err := o.env.ExecuteActivity(o.act.Post, activities.PostIn{
		Investigation: o.ref.Investigation, Plan: o.ref.Plan, Ordinal: o.posted, By: "Bob", Text: []byte(text),
	})
	o.must(err)
	return nil
}

// runCalls runs the calls of a reply, each the way that the workflow does.
func (o *office) runCalls(iteration int) {
	o.t.Helper()
	reply, err := o.store.Reply(o.t.Context(), o.scope(), iteration)
	o.must(err)
	own := activities.CallOwnToolsIn{Ref: o.ref, Iteration: iteration}
	for n, call := range reply.Calls {
		if call.Own {
			own.Calls = append(own.Calls, n)
			continue
		}
		_, err := o.callTool(iteration, n)
		o.must(err)
	}
	if len(own.Calls) > 0 {
		_, err = o.env.ExecuteActivity(o.act.CallOwnTools, own)
		o.must(err)
	}
}

// answer makes the model call some of the offered tools, once.
func (o *office) answer(req llmtest.Request) llmtest.Reply {
	if slices.ContainsFunc(req.Messages, func(m llmtest.Message) bool { return m.Role == "assistant" }) || len(req.Tools) == 0 {
		return llmtest.Text("Done.").Usage(10, 1)
	}
	var calls []llmtest.Call
	for _, call := range []llmtest.Call{
		{Name: agent.ToolCoreMemoryAppend, Args: `{"label":"facts","content":"checkout has a pool"}`},
		{Name: agent.ToolArchivalMemoryInsert, Args: `{"content":"The pool was exhausted once before."}`},
		{Name: agent.ToolPauseHeartbeats, Args: `{"minutes":5}`},
		{Name: "lab__read", Args: `{"n":1}`},
	} {
		if req.Offers(call.Name) {
			call.ID = fmt.Sprintf("call_%d", len(calls))
			calls = append(calls, call)
		}
	}
	return llmtest.Calls(calls...).Text("Let me see.").Usage(10, 1)
}

// compare compares all requests with a golden file, part by part. It omits parts that are the same as in the previous
// request.
func (o *office) compare(path string) {
	o.t.Helper()
	var got txtar.Archive
	last := map[string]string{}
	for i, req := range o.server.Requests() {
		for _, part := range parts(o.t, req.Body) {
			if last[part.Name] != string(part.Data) {
				last[part.Name] = string(part.Data)
				part.Name = fmt.Sprintf("%d %s", i+1, part.Name)
				got.Files = append(got.Files, part)
			}
		}
	}
	if goldentest.Updating() {
		o.must(os.MkdirAll(filepath.Dir(path), 0o755))
		o.must(os.WriteFile(path, txtar.Format(&got), 0o644))
	}
	want, err := os.ReadFile(path)
	o.must(err)
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(txtar.Format(&got)), "\n")); diff != "" {
		o.t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// parts splits a request's body: the system prompt as text, the rest as JSON, with lists one element per line.
func parts(t *testing.T, body []byte) []txtar.File {
	t.Helper()
	var req map[string]json.RawMessage
	var messages []map[string]any
	var tools []json.RawMessage
	if err := json.Unmarshal(body, &req); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(req["messages"], &messages); err != nil {
		t.Fatal(err)
	}
	if list, ok := req["tools"]; ok {
		if err := json.Unmarshal(list, &tools); err != nil {
			t.Fatal(err)
		}
	}
	delete(req, "messages")
	delete(req, "tools")
	system, _ := messages[0]["content"].(string)
	return []txtar.File{
		{Name: "request", Data: lines(t, []any{req})}, {Name: "system", Data: []byte(system + "\n")},
		{Name: "messages", Data: lines(t, messages[1:])}, {Name: "tools", Data: lines(t, tools)},
	}
}

func lines[T any](t *testing.T, list []T) []byte {
	t.Helper()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for _, element := range list {
		if err := enc.Encode(element); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// provider is a model behind the wire format of a real one.
type provider struct{ url string }

func (p provider) Client(plan.Provider, plan.Timeouts) (llm.Client, error) {
	return openai.New(llm.Options{Name: "lab-model", BaseURL: p.url})
}

// everyBuiltin are the built-in tools as a worker has them.
type everyBuiltin struct{ results builtin.Results }

func (e everyBuiltin) tools(p plan.Agent) []builtin.Tool {
	tools := []builtin.Tool{builtin.ReadResult(e.results), builtin.PauseHeartbeats()}
	if p.Shell != nil {
		tools = append(tools, builtin.Shell(*p.Shell))
	}
	return tools
}

func (e everyBuiltin) Specs(p plan.Agent) []tool.Spec {
	specs := memory.Specs()
	if p.ToolSearchAbove > 0 {
		specs = append(specs, builtin.SearchTools())
	}
	for _, t := range e.tools(p) {
		specs = append(specs, t.Spec)
	}
	return specs
}

func (e everyBuiltin) Call(ctx context.Context, p plan.Agent, call tool.Call) (tool.Result, error) {
	for _, t := range e.tools(p) {
		if t.Spec.Name == call.Name {
			return t.Run(ctx, call), ctx.Err()
		}
	}
	return tool.Result{}, fmt.Errorf("no built-in tool %s", call.Name)
}
