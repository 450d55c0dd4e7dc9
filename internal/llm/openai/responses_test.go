package openai_test

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/llm/openai"
)

func openResponses(t *testing.T, baseURL string) *openai.Client {
	t.Helper()
	key := func() (string, error) { return secret, nil }
	client, err := openai.NewResponses(llm.Options{Name: "test", BaseURL: baseURL, APIKey: key, IdleTimeout: llmtest.Idle})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestResponses(t *testing.T) {
	t.Parallel()
	llmtest.RunClient(t, llmtest.Responses, func(baseURL string) llm.Client { return openResponses(t, baseURL) })
}

// FuzzResponses checks that any answer of a server gives a reply or an error.
func FuzzResponses(f *testing.F) {
	const end = "\n\n" + `data: {"type":"response.completed","response":{"status":"completed"}}`
	llmtest.FuzzStream(f, func(t *testing.T, baseURL string) llm.Client { return openResponses(t, baseURL) },
		`data: {"type":"response.output_item.done","output_index":-1,"item":{"type":"reasoning","encrypted_content":"x"}}`+end,
		`data: {"type":"response.output_item.done","item":{"type":"function_call"}}`+end,
		`data: {"type":"response.output_item.done","item":null}`+end,
		`data: {"type":"response.output_item.done","item":{"type":"message","phase":"x","content":[{}]}}`+end,
		`data: {"type":"response.completed"}`,
		`data: {"type":"error"}`, `data: null`, "data: []\n\n",
		`{"status":"completed","output":[null,{"type":"message","content":[null]}]}`, `{"status":7}`,
	)
}

// TestResponsesThoughts checks that a model's thinking comes back to it byte by byte, and to no other model.
func TestResponsesThoughts(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Always(
		llmtest.Text("Let me see.").Thinking("hm").Signed("ZW5j").Calls(llmtest.Call{ID: "x", Name: "f", Args: `{"a": 1}`})))
	req := ask("why?")
	req.Model = "gpt-5"
	reply, err := openResponses(t, srv.URL).Generate(t.Context(), req, nil)
	if err != nil || reply.ProviderState == nil {
		t.Fatalf("state %s, %v", reply.ProviderState, err)
	}
	said := agent.Message{
		Role: agent.Assistant, Content: reply.Content, ProviderState: reply.ProviderState,
		ToolCalls: []agent.ToolCall{{ID: "c1_0", Name: "f", Arguments: `{"a":2}`}},
	}
	const thought = `{"id":"rs_llmtest","summary":[{"text":"hm","type":"summary_text"}],"type":"reasoning","encrypted_content":"ZW5j"}`
	const text, call = `{"role":"assistant","content":"Let me see."}`,
		`{"type":"function_call","call_id":"c00001x00","name":"f","arguments":"{\"a\":2}"}`
	for name, tt := range map[string]struct {
		model  string
		change func(*agent.Message)
		want   []string
	}{
		"the same model":   {"gpt-5", nil, []string{thought, text, call}},
		"another model":    {"o3", nil, []string{text, call}},
		"no call any more": {"gpt-5", func(m *agent.Message) { m.ToolCalls = nil }, []string{text}},
		"another's state": {"gpt-5", func(m *agent.Message) { m.ProviderState = json.RawMessage(`{"gemini":{"model":"gpt-5"}}`) },
			[]string{text, call}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.Start(t, llmtest.Always(llmtest.Text("ok")))
			m := said
			if tt.change != nil {
				tt.change(&m)
			}
			next := ask("why?")
			next.Model = tt.model
			next.Messages = append(next.Messages, m)
			for _, c := range m.ToolCalls {
				next.Messages = append(next.Messages, agent.Message{Role: agent.ToolRole, ToolCallID: c.ID, Content: "42"})
			}
			if _, err := openResponses(t, srv.URL).Generate(t.Context(), next, nil); err != nil {
				t.Fatal(err)
			}
			var body struct {
				Input     []json.RawMessage `json:"input"`
				Include   []string          `json:"include"`
				Reasoning any               `json:"reasoning"`
				Store     *bool             `json:"store"`
			}
			if err := json.Unmarshal(srv.Wait(1).Body, &body); err != nil || body.Store == nil || *body.Store || len(body.Include) != 1 ||
				body.Reasoning == nil {
				t.Fatalf("%+v, %v", body, err)
			}
			for i, want := range tt.want {
				var got, wanted any
				if json.Unmarshal(body.Input[i+1], &got) != nil || json.Unmarshal([]byte(want), &wanted) != nil || !gocmp.Equal(got, wanted) {
					t.Errorf("item %d is %s, want %s", i+1, body.Input[i+1], want)
				}
			}
		})
	}
}

// TestResponsesOrder checks that the parts of a reply are sent back in their order, whichever was complete first, each
// text with its phase, and that a changed text replaces the first one.
func TestResponsesOrder(t *testing.T) {
	t.Parallel()
	done := func(index, item string) string {
		return `{"type":"response.output_item.done","output_index":` + index + `,"item":` + item + `}`
	}
	message := func(phase, text string) string {
		return `{"type":"message","id":"msg_1","role":"assistant","status":"completed"` + phase +
			`,"content":[{"type":"output_text","text":"` + text + `"}]}`
	}
	const (
		look, tell     = `,"phase":"commentary"`, `,"phase":"final_answer"`
		first          = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"ZW5j"}`
		second         = `{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"ZDI="}`
		call           = `{"type":"function_call","id":"fc_1","call_id":"x","name":"f","arguments":"{}"}`
		called         = `{"type":"function_call","call_id":"c00001x00","name":"f","arguments":"{}"}`
		whole          = `{"type":"response.completed","response":{"status":"completed","output":[]}}`
		added          = `{"type":"response.output_item.added","output_index":1,"item":{"type":"message","content":[]}}`
		saidA          = `{"role":"assistant","content":"I look.","phase":"commentary"}`
		saidB          = `{"role":"assistant","content":"The disk.","phase":"final_answer"}`
		deltaA, deltaB = `{"type":"response.output_text.delta","delta":"I look."}`, `{"type":"response.output_text.delta","delta":"The disk."}`
	)
	two := []string{added, deltaA, added, deltaB, done("1", message(look, "I look.")), done("0", first),
		done("3", message(tell, "The disk.")), done("2", second), whole}
	for name, tt := range map[string]struct {
		events  []string
		content string // empty means unchanged
		want    string
	}{
		"out of order":  {two, "", first + "," + saidA + "," + second + "," + saidB},
		"changed since": {two, "[MASKED].", first + "," + `{"role":"assistant","content":"[MASKED].","phase":"commentary"}`},
		"a phase alone": {[]string{deltaB, done("0", message(tell, "The disk.")), whole}, "", saidB},
		"no phase and no thought": {[]string{deltaB, done("0", message("", "The disk.")), whole}, "",
			`{"role":"assistant","content":"The disk."}`},
		"no index":              {[]string{done("0", first), done("0", call), whole}, "", first + "," + called},
		"a thought without end": {[]string{done("0", first), done("1", call), done("2", second), whole}, "", first + "," + called},
		"texts at the end alone": {[]string{`{"type":"response.completed","response":{"status":"completed","output":[` +
			first + "," + message(tell, "The disk.") + `]}}`}, "",
			first + "," + saidB},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := ask("why?")
			req.Model = "gpt-5.6-sol"
			srv := llmtest.Start(t, llmtest.Always(llmtest.Raw(tt.events...)))
			reply, err := openResponses(t, srv.URL).Generate(t.Context(), req, nil)
			if err != nil {
				t.Fatal(err)
			}
			said := agent.Message{Role: agent.Assistant, Content: cmp.Or(tt.content, reply.Content),
				ProviderState: reply.ProviderState, ToolCalls: reply.ToolCalls}
			for n := range said.ToolCalls {
				said.ToolCalls[n].ID = "c1_0"
			}
			req.Messages = append(req.Messages, said)
			if len(said.ToolCalls) > 0 {
				req.Messages = append(req.Messages, agent.Message{Role: agent.ToolRole, ToolCallID: "c1_0", Content: "42"})
			}
			req.Messages = append(req.Messages, agent.Message{Role: agent.User, Content: "and?"})
			srv = llmtest.Start(t, llmtest.Always(llmtest.Text("ok")))
			if _, err := openResponses(t, srv.URL).Generate(t.Context(), req, nil); err != nil {
				t.Fatal(err)
			}
			var body struct{ Input []json.RawMessage }
			if err := json.Unmarshal(srv.Wait(1).Body, &body); err != nil {
				t.Fatal(err)
			}
			replied := body.Input[1 : len(body.Input)-1]
			if len(said.ToolCalls) > 0 {
				replied = replied[:len(replied)-1]
			}
			got, _ := json.Marshal(replied)
			if diff := gocmp.Diff("["+tt.want+"]", string(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestUnverified checks that an organisation that OpenAI has not verified is served without summaries of thinking.
// OpenAI's error is from https://github.com/continuedev/continue/issues/9854.
func TestUnverified(t *testing.T) {
	t.Parallel()
	const says = `{"error":{"message":"Your organization must be verified to generate reasoning summaries. Please go to: ` +
		`https://platform.openai.com/settings/organization/general and click on Verify Organization. If you just verified, it can ` +
		`take up to 15 minutes for access to propagate.","type":"invalid_request_error","param":"reasoning.summary","code":"unsupported_value"}}`
	srv := llmtest.Start(t, func(req llmtest.Request) llmtest.Reply {
		if strings.Contains(string(req.Body), `"summary"`) {
			return llmtest.Status(http.StatusBadRequest, says)
		}
		return llmtest.Text("ok")
	})
	client := openResponses(t, srv.URL)
	req := ask("why?")
	req.Model = "gpt-5"
	for _, effort := range []string{"", "low"} {
		req.Thinking.Effort = effort
		if reply, err := client.Generate(t.Context(), req, nil); err != nil || reply.Content != "ok" {
			t.Fatalf("%q, %v", reply.Content, err)
		}
	}
	var got []string
	for _, r := range srv.Requests() {
		got = append(got, reasoningOf(t, r.Body))
	}
	if diff := gocmp.Diff([]string{`{"summary":"auto"}`, "", `{"effort":"low"}`}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestChatModels checks that ChatGPT's newer models get no thinking parameters, but the other fields of newer models.
func TestChatModels(t *testing.T) {
	t.Parallel()
	half := float32(0.5)
	req := ask("why?")
	req.Model, req.MaxTokens, req.Temperature = "gpt-5-chat-latest", 500, &half
	for name, client := range map[string]func(*testing.T, string) *openai.Client{"chat": open, "responses": openResponses} {
		srv := llmtest.Start(t, llmtest.Always(llmtest.Text("ok")))
		if _, err := client(t, srv.URL).Generate(t.Context(), req, nil); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		body := string(srv.Wait(1).Body)
		if strings.Contains(body, "reasoning") || strings.Contains(body, "temperature") || strings.Contains(body, `"max_tokens"`) {
			t.Errorf("%s: %s", name, body)
		}
	}
}

// TestResponsesUsage checks that input written to the cache is counted, because it costs more.
func TestResponsesUsage(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t,
		llmtest.Always(llmtest.Status(http.StatusOK, `{"object":"response","status":"completed","model":"gpt-5.6","output":[],`+
			`"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":3},"output_tokens":7,`+
			`"output_tokens_details":{"reasoning_tokens":5},"total_tokens":16}}`)))
	got, err := openResponses(t, srv.URL).Generate(t.Context(), ask("why?"), nil)
	want := agent.Usage{InputTokens: 9, OutputTokens: 7, CacheReadTokens: 4, CacheWriteTokens: 3, ReasoningTokens: 5}
	if diff := gocmp.Diff(want, got.Usage); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func reasoningOf(t *testing.T, request []byte) string {
	t.Helper()
	var body struct {
		Reasoning json.RawMessage `json:"reasoning"`
	}
	if err := json.Unmarshal(request, &body); err != nil {
		t.Fatal(err)
	}
	return string(body.Reasoning)
}
