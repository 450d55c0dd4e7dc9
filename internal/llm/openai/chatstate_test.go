package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

// TestChatThoughts: what servers want back with a reply's calls comes back to the model that sent it, as it was, and to
// no other. The replies are spelled as in https://github.com/Zoo-Code-Org/Zoo-Code/issues/201 (DeepSeek),
// https://ai.google.dev/gemini-api/docs/thought-signatures#openai, https://github.com/earendil-works/pi/issues/6733
// (Vertex AI), https://openrouter.ai/docs/guides/best-practices/reasoning-tokens and LiteLLM's documentation.
func TestChatThoughts(t *testing.T) {
	t.Parallel()
	const (
		calls = `"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"f","arguments":"{}"}},` +
			`{"index":1,"id":"y","type":"function","function":{"name":"g","arguments":"{}"}}]`
		a    = `{"id":"c00001x00","type":"function","function":{"name":"f","arguments":"{}"}`
		b    = `{"id":"c00001x01","type":"function","function":{"name":"g","arguments":"{}"}}`
		skip = `,"extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}}}`
		see  = `"content":"Let me see.",`
		bare = see + `"tool_calls":[` + a + `},` + b + `]`
	)
	chunk := func(delta string) string { return `{"model":"m-001","choices":[{"delta":{` + delta + `}}]}` }
	signed := func(field string) []string {
		return []string{chunk(`"content":"Let me see."`),
			chunk(`"tool_calls":[{"index":0,"id":"x","type":"function",` + field + `,"function":{"name":"f","arguments":""}}]`),
			chunk(`"tool_calls":[{"index":0,"extra_content":null,"function":{"arguments":"{}"}},` +
				`{"index":1,"id":"y","type":"function","function":{"name":"g","arguments":"{}"}}]`)}
	}
	deepseek := []string{chunk(`"reasoning_content":"hm"`), chunk(`"reasoning_content":" <so>","content":""`),
		chunk(`"content":"Let me see."`), chunk(calls)}
	const google = `"extra_content":{"google":{"thought_signature":"EocD+/=="}}`
	for name, tt := range map[string]struct {
		asked  string
		chunks []string
		next   string // the model of the next request; empty means the same
		want   string
	}{
		"DeepSeek": {"deepseek-reasoner", deepseek, "",
			see + `"reasoning_content":"hm \u003cso\u003e","tool_calls":[` + a + `},` + b + `]`},
		"another model of DeepSeek's": {"deepseek-reasoner", deepseek, "deepseek-chat",
			see + `"reasoning_content":"","tool_calls":[` + a + `},` + b + `]`},
		"a model of somebody else's": {"deepseek-reasoner", deepseek, "gpt-4o", bare},
		"DeepSeek, that thought nothing": {"deepseek/deepseek-v4-pro", []string{chunk(`"content":"Let me see."`), chunk(calls)}, "",
			see + `"reasoning_content":"","tool_calls":[` + a + `},` + b + `]`},
		"an empty thought": {"m", []string{chunk(`"content":"","reasoning_content":""`), chunk(`"content":"Let me see."`), chunk(calls)}, "",
			see + `"reasoning_content":"","tool_calls":[` + a + `},` + b + `]`},
		"no thought": {"m", []string{chunk(`"content":"Let me see.","reasoning_content":null`), chunk(calls)}, "", bare},
		"Google": {"gemini-3-flash", signed(google), "",
			see + `"tool_calls":[` + a + `,` + google + `},` + b + `]`},
		"Google, after another": {"gpt-4o", signed(`"x":1`), "gemini-3-flash",
			see + `"tool_calls":[` + a + skip + `,` + b + `]`},
		"Google's older models": {"gpt-4o", signed(`"x":1`), "gemini-2.5-flash", bare},
		"Vertex AI": {"google/gemini-3-pro", signed(`"extra_content":{"vertex":{"thought_signature":"AY89"}}`), "",
			see + `"tool_calls":[` + a + `,"extra_content":{"vertex":{"thought_signature":"AY89"}}},` + b + `]`},
		"LiteLLM": {"m", signed(`"provider_specific_fields":{"thought_signature":"AY89"}`), "",
			see + `"tool_calls":[` + a + `,"provider_specific_fields":{"thought_signature":"AY89"}},` + b + `]`},
		"OpenRouter": {"anthropic/claude-sonnet-4.5", []string{
			chunk(`"reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm","format":"anthropic-claude-v1","index":0}]`),
			chunk(`"reasoning":" so","reasoning_details":[{"type":"reasoning.text","text":" so","signature":null,` +
				`"format":"anthropic-claude-v1","index":0}]`),
			chunk(`"reasoning":"","reasoning_details":[{"type":"reasoning.text","signature":"EqQB","format":"anthropic-claude-v1","index":0}]`),
			chunk(see + `"reasoning_details":[{"type":"reasoning.encrypted","data":"gAAA","id":"rs_1",` +
				`"format":"openai-responses-v1","index":0}]`),
			chunk(calls),
		}, "", see + `"reasoning_details":[{"format":"anthropic-claude-v1","index":0,"signature":"EqQB",` +
			`"text":"hm so","type":"reasoning.text"},` +
			`{"data":"gAAA","format":"openai-responses-v1","id":"rs_1","index":0,"type":"reasoning.encrypted"}],` +
			`"tool_calls":[` + a + `},` + b + `]`},
		"details of another shape": {"m", []string{chunk(see + `"reasoning_details":"hm"`), chunk(calls)}, "", bare},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.Start(t, llmtest.Always(llmtest.Raw(append(tt.chunks, end)...)))
			req := ask("why?")
			req.Model = tt.asked
			reply, err := open(t, srv.URL).Generate(t.Context(), req, nil)
			if err != nil || len(reply.ToolCalls) != 2 {
				t.Fatalf("%+v, %v", reply, err)
			}
			said := agent.Message{Role: agent.Assistant, Content: reply.Content, ToolCalls: reply.ToolCalls, ProviderState: reply.ProviderState}
			said.ToolCalls[0].ID, said.ToolCalls[1].ID = "c1_0", "c1_1"
			stored, err := json.Marshal(said)
			if err == nil {
				said = agent.Message{}
				err = json.Unmarshal(stored, &said)
			}
			if err != nil {
				t.Fatal(err)
			}
			if tt.next != "" {
				req.Model = tt.next
			}
			req.Messages = append(req.Messages, said)
			if got := sentMessage(t, req, 1); !cmp.Equal(got, `{"role":"assistant",`+tt.want+`}`) {
				t.Errorf("got  %s\nwant {\"role\":\"assistant\",%s}", got, tt.want)
			}
		})
	}
}

// TestChatThoughtsAlone checks that thinking is not sent back without calls, or if calls of its reply were left out.
func TestChatThoughtsAlone(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Text("The disk.").Thinking("hm")))
	reply, err := open(t, srv.URL).Generate(t.Context(), ask("why?"), nil)
	if err != nil || reply.ProviderState != nil {
		t.Errorf("state %s, %v", reply.ProviderState, err)
	}
	req := ask("why?")
	req.Messages = append(req.Messages, agent.Message{Role: agent.Assistant,
		ToolCalls:     []agent.ToolCall{{ID: "c1_0", Name: "f", Arguments: "{}"}},
		ProviderState: json.RawMessage(`{"at":"127.0.0.1","openai_chat":{"model":"m","reasoning_content":"hm","calls":[{},{}]}}`)})
	const want = `{"role":"assistant","content":null,"tool_calls":[{"id":"c00001x00","type":"function","function":{"name":"f",` +
		`"arguments":"{}"}}]}`
	if got := sentMessage(t, req, 1); got != want {
		t.Errorf("got %s", got)
	}
}

// TestStateStaysAtItsService checks that a fallback to a model of the same name at another service does not get the
// first one's thinking.
func TestStateStaysAtItsService(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Calls(llmtest.Call{Name: "f", Args: "{}"}).Thinking("hm")))
	req := ask("why?")
	reply, err := open(t, srv.URL).Generate(t.Context(), req, nil)
	if err != nil || reply.ProviderState == nil {
		t.Fatalf("state %s, %v", reply.ProviderState, err)
	}
	req.Messages = append(req.Messages, agent.Message{Role: agent.Assistant, ToolCalls: reply.ToolCalls, ProviderState: reply.ProviderState})
	for n, at := range []string{"127.0.0.1", "localhost"} {
		if _, err := open(t, strings.Replace(srv.URL, "127.0.0.1", at, 1)).Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(srv.Wait(n+2).Body), "reasoning_content"); got != (at == "127.0.0.1") {
			t.Errorf("at %s, the thoughts are sent: %t", at, got)
		}
	}
}

const end = `{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`

// sentMessage returns the n-th message sent for a request.
func sentMessage(t *testing.T, req llm.Request, n int) string {
	t.Helper()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Text("ok")))
	if _, err := open(t, srv.URL).Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	var body struct{ Messages []json.RawMessage }
	if err := json.Unmarshal(srv.Wait(1).Body, &body); err != nil {
		t.Fatal(err)
	}
	return string(body.Messages[n])
}
