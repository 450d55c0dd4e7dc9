package gemini_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// signed is a reply with everything that a message cannot hold: signed thinking, text in fragments, parallel calls of
// which one has a signature and the other no id, a part with only a signature, and empty parts.
var signed = llmtest.Raw(
	chunk(`{"text":"hm","thought":true},{"text":" so","thought":true,"thoughtSignature":"dDE="}`),
	chunk(`{"text":"Let me "},{"text":""},{"text":"see <&>."}`),
	chunk(`{"functionCall":{"id":"x","name":"shell","args":{"command":"a < b","n":1700000000123}},"thoughtSignature":"dDI="}`),
	chunk(`{"functionCall":{"name":"shell","args":{}}}`),
	chunk(`{"text":"","thoughtSignature":"dDM="}`),
	`{"candidates":[{"content":{"parts":[{"text":""}]},"finishReason":"STOP"}]}`,
)

func chunk(parts string) string {
	return `{"modelVersion":"m-001","candidates":[{"content":{"role":"model","parts":[` + parts + `]}}]}`
}

const wantContinued = `[
	{"role":"user","parts":[{"text":"why?"}]},
	{"role":"model","parts":[
		{"text":" so","thought":true,"thoughtSignature":"dDE="},
		{"text":"Let me see <&>."},
		{"functionCall":{"id":"x","name":"shell","args":{"command":"a < b","n":1700000000123}},"thoughtSignature":"dDI="},
		{"functionCall":{"id":"c00001x01","name":"shell"}},
		{"text":"","thoughtSignature":"dDM="}]},
	{"role":"user","parts":[
		{"functionResponse":{"id":"x","name":"shell","response":{"output":"42"}}},
		{"functionResponse":{"id":"c00001x01","name":"shell","response":{"output":"This call was not run."}}}]}
]`

// TestSignaturesThroughTheStore continues a conversation from the store, like a worker that has just started.
func TestSignaturesThroughTheStore(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Sequence(signed, llmtest.Text("The disk.")))
	reply, err := open(t, srv.GeminiURL).Generate(t.Context(), ask("why?"), nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "inquest.db")
	scope := transcript.Scope{Investigation: "i", Execution: "e"}
	write(t, path, scope, reply)

	messages := transcript.Messages(read(t, path, scope))
	if _, err := open(t, srv.GeminiURL).Generate(t.Context(), llm.Request{Model: "m", Messages: messages}, nil); err != nil {
		t.Fatal(err)
	}
	sent(t, srv.Wait(2), wantContinued)
}

func write(t *testing.T, path string, scope transcript.Scope, reply llm.Response) {
	t.Helper()
	db := openStore(t, path)
	defer db.Close()
	said := transcript.Body{Text: reply.Content, Thinking: reply.Thinking, Reply: transcript.Reply{ProviderState: reply.ProviderState}}
	for i, call := range reply.ToolCalls {
		id := fmt.Sprintf("c1_%d", i)
		said.Calls = append(said.Calls, transcript.Call{ID: id, Name: call.Name, Arguments: call.Arguments})
	}
	rows := []transcript.Row{
		{Key: transcript.Key{Iteration: 0}, Kind: transcript.KindUser, Body: transcript.Body{Text: "why?"}},
		{Key: transcript.Key{Iteration: 1}, Kind: transcript.KindReply, Body: said},
		{Key: transcript.CallKey(1, 0), Kind: transcript.KindResult, Body: transcript.Body{Text: "42", Call: &said.Calls[0]}},
	}
	for _, row := range rows {
		step := transcript.Step{Scope: scope, Writer: transcript.Writer{RunID: "r", ActivityID: "a"}, Rows: []transcript.Row{row}}
		if _, err := db.Append(t.Context(), step); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, path string, scope transcript.Scope) []transcript.Entry {
	t.Helper()
	db := openStore(t, path)
	defer db.Close()
	entries, err := db.Entries(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// sent compares the contents of a request.
func sent(t *testing.T, req llmtest.Request, want string) {
	t.Helper()
	var got, wanted any
	body := struct {
		Contents *any `json:"contents"`
	}{&got}
	if err := json.Unmarshal(req.Body, &body); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("contents (-want +got):\n%s", diff)
	}
}

// TestContinued checks replies whose parts cannot be sent back unchanged, for a model that requires signatures.
func TestContinued(t *testing.T) {
	t.Parallel()
	const state = `{"gemini":{"model":"gemini-3-pro","parts":[{"text":"I look."},
		{"functionCall":{"id":"x","name":"f","args":{"a":"b"}},"thoughtSignature":"dDI="}]}}`
	const skip = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=" // skip_thought_signature_validator
	const foreign = `{"text":"I look."},{"functionCall":{"id":"c00001x00","name":"f","args":{"a":"b"}},"thoughtSignature":"` + skip + `"}`
	tests := []struct{ name, state, content, args, want string }{
		{"as they came", state, "I look.", `{"a":"b"}`,
			`{"text":"I look."},{"functionCall":{"id":"x","name":"f","args":{"a":"b"}},"thoughtSignature":"dDI="}`},
		{"text masked since", state, "I [MASKED].", `{"a":"b"}`,
			`{"text":"I [MASKED]."},{"functionCall":{"id":"x","name":"f","args":{"a":"b"}},"thoughtSignature":"dDI="}`},
		{"arguments shortened since", state, "I look.", `{"a":"…"}`,
			`{"text":"I look."},{"functionCall":{"id":"x","name":"f","args":{"a":"…"}},"thoughtSignature":"dDI="}`},
		{"another model's", strings.Replace(state, "gemini-3-pro", "gemini-2.5-pro", 1), "I look.", `{"a":"b"}`, foreign},
		{"another call", strings.Replace(state, `"f"`, `"g"`, 1), "I look.", `{"a":"b"}`, foreign},
		{"another provider's", `{"openai":1}`, "I look.", `{"a":"b"}`, foreign},
		{"none", ``, "I look.", `{"a":"b"}`, foreign},
		{"damaged", `{"gemini":{"model":"gemini-3-pro","parts":[null,{}]}}`, "I look.", `{"a":"b"}`, foreign},
		{"arguments that are no object", ``, "I look.", `ls`,
			`{"text":"I look."},{"functionCall":{"id":"c00001x00","name":"f","args":{"raw":"ls"}},"thoughtSignature":"` + skip + `"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.Start(t, llmtest.Always(llmtest.Text("ok")))
			_, err := open(t, srv.GeminiURL).Generate(t.Context(), llm.Request{Model: "gemini-3-pro", Messages: []agent.Message{
				{Role: agent.User, Content: "why?"},
				{Role: agent.Assistant, Content: tt.content, ProviderState: json.RawMessage(tt.state),
					ToolCalls: []agent.ToolCall{{ID: "c1_0", Name: "f", Arguments: tt.args}}},
				{Role: agent.ToolRole, ToolCallID: "c1_0", Content: "42"},
			}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, id, _ := strings.Cut(tt.want, `"id":"`)
			id, _, _ = strings.Cut(id, `"`)
			sent(t, srv.Wait(1), `[{"role":"user","parts":[{"text":"why?"}]},{"role":"model","parts":[`+tt.want+`]},`+
				`{"role":"user","parts":[{"functionResponse":{"id":"`+id+`","name":"f","response":{"output":"42"}}}]}]`)
		})
	}
}

// TestTurns checks that consecutive messages of one role form one turn, and that nothing is empty.
func TestTurns(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Text("ok")))
	_, err := open(t, srv.GeminiURL).Generate(t.Context(), llm.Request{Model: "m", Messages: []agent.Message{
		{Role: agent.User, Content: "a"},
		{Role: agent.User},
		{Role: agent.User, Content: "b"},
		{Role: agent.Assistant},
		{Role: agent.ToolRole, ToolCallID: "gone", Content: "c"},
		{Role: agent.Assistant, Content: "d"},
		{Role: agent.Assistant, Content: "e"},
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	sent(t, srv.Wait(1),
		`[{"role":"user","parts":[{"text":"a"},{"text":"b"},{"text":"c"}]},{"role":"model","parts":[{"text":"d"},{"text":"e"}]},`+
			`{"role":"user","parts":[{"text":"Go on."}]}]`)
}

func openStore(t *testing.T, path string) *store.Store {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	return db
}
