package openai_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// TestResponsesThoughts: what a model thought comes back to it byte by byte, and to no other one.
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
		Role: agent.Assistant, Content: reply.Content, ProviderState: reply.ProviderState, ToolCalls: []agent.ToolCall{{ID: "c1", Name: "f", Arguments: `{"a":2}`}},
	}
	const thought = `{"id":"rs_llmtest","summary":[{"text":"hm","type":"summary_text"}],"type":"reasoning","encrypted_content":"ZW5j"}`
	const text, call = `{"role":"assistant","content":"Let me see."}`, `{"type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\":2}"}`
	for name, tt := range map[string]struct {
		model  string
		change func(*agent.Message)
		want   []string
	}{
		"the same model":   {"gpt-5", nil, []string{thought, text, call}},
		"another model":    {"o3", nil, []string{text, call}},
		"no call any more": {"gpt-5", func(m *agent.Message) { m.ToolCalls = nil }, []string{text}},
		"another's state":  {"gpt-5", func(m *agent.Message) { m.ProviderState = json.RawMessage(`{"gemini":{"model":"gpt-5"}}`) }, []string{text, call}},
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
			if err := json.Unmarshal(srv.Wait(1).Body, &body); err != nil || body.Store == nil || *body.Store || len(body.Include) != 1 || body.Reasoning == nil {
				t.Fatalf("%+v, %v", body, err)
			}
			for i, want := range tt.want {
				var got, wanted any
				if json.Unmarshal(body.Input[i+1], &got) != nil || json.Unmarshal([]byte(want), &wanted) != nil || !cmp.Equal(got, wanted) {
					t.Errorf("item %d is %s, want %s", i+1, body.Input[i+1], want)
				}
			}
		})
	}
}

// TestUnverified: an organisation that OpenAI has not verified is served without summaries of thoughts.
// What OpenAI says is from https://github.com/continuedev/continue/issues/9854.
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
	if diff := cmp.Diff([]string{`{"summary":"auto"}`, "", `{"effort":"low"}`}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestChatModels: of newer models, those of ChatGPT take no wishes of thoughts, but the fields of the others.
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

// TestResponsesUsage: input that is written to the cache costs more, so it is counted.
func TestResponsesUsage(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Status(http.StatusOK, `{"object":"response","status":"completed","model":"gpt-5.6","output":[],`+
		`"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":3},"output_tokens":7,`+
		`"output_tokens_details":{"reasoning_tokens":5},"total_tokens":16}}`)))
	got, err := openResponses(t, srv.URL).Generate(t.Context(), ask("why?"), nil)
	want := agent.Usage{InputTokens: 9, OutputTokens: 7, CacheReadTokens: 4, CacheWriteTokens: 3, ReasoningTokens: 5}
	if diff := cmp.Diff(want, got.Usage); err != nil || diff != "" {
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
