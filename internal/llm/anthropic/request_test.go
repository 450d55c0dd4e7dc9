package anthropic_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

const model = "claude-sonnet-4-5"

// sent returns a field of a client's request, in compact JSON without cache marks.
func sent(t *testing.T, field string, req llm.Request) string {
	t.Helper()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Text("ok")))
	if _, err := open(t, srv.GeminiURL).Generate(t.Context(), req, nil); err != nil {
		t.Fatalf("%v\n%s", err, srv.Requests()[0].Body)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(srv.Wait(1).Body, &fields); err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(`"cache_control":{"type":"ephemeral"},`, "", `,"cache_control":{"type":"ephemeral"}`,
		"").Replace(string(fields[field]))
}

// replied returns the message that a model's reply becomes.
func replied(t *testing.T, model string, reply llmtest.Reply) agent.Message {
	t.Helper()
	srv := llmtest.Start(t, llmtest.Always(reply))
	got, err := open(t, srv.GeminiURL).Generate(t.Context(),
		llm.Request{Model: model, Messages: []agent.Message{{Role: agent.User, Content: "why?"}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return agent.Message{
		Role: agent.Assistant, Content: got.Content, Thinking: got.Thinking, ToolCalls: got.ToolCalls, ProviderState: got.ProviderState,
	}
}

func TestThoughtsComeBack(t *testing.T) {
	t.Parallel()
	thought := llmtest.Text("Let me see.").Thinking("hm").Signed("c2ln").Calls(llmtest.Call{ID: "toolu_1", Name: "f",
		Args: `{"key":"s3cret"}`})
	const signed = `{"signature":"c2ln","thinking":"hm","type":"thinking"},`
	const text, call = `{"text":"Let me see.","type":"text"},`, `{"id":"toolu_1","input":{"key":"s3cret"},"name":"f","type":"tool_use"}`
	ours := strings.Replace(call, "toolu_1", "JA4KBQSS4", 1)
	tests := []struct {
		name   string
		change func(*agent.Message)
		model  string
		want   string // the content of the turn
	}{
		{"unchanged", func(*agent.Message) {}, model, signed + text + call},
		{"our own ids", func(m *agent.Message) { m.ToolCalls[0].ID = "c1_0" }, model, signed + text + call},
		{"text that was masked", func(m *agent.Message) { m.Content = "Let *** see." }, model,
			signed + strings.Replace(text, "me", "***", 1) + call},
		{"arguments that were masked", func(m *agent.Message) { m.ToolCalls[0].Arguments = `{"key":"***"}` }, model,
			signed + text + strings.Replace(call, "s3cret", "***", 1)},
		{"another model", func(*agent.Message) {}, "claude-opus-4-5", text + ours},
		{"another provider's reply", func(m *agent.Message) { m.ProviderState = json.RawMessage(`{"gemini":{"model":"x"}}`) }, model,
			text + ours},
		{"other calls", func(m *agent.Message) { m.ToolCalls[0].Name = "g" }, model, text + strings.Replace(ours, `"f"`, `"g"`, 1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			message := replied(t, model, thought)
			if strings.Contains(string(message.ProviderState), "s3cret") {
				t.Errorf("the state repeats arguments, unmasked: %s", message.ProviderState)
			}
			tt.change(&message)
			got := sent(t, "messages", llm.Request{Model: tt.model, Messages: []agent.Message{
				{Role: agent.User, Content: "why?"}, message, {Role: agent.ToolRole, ToolCallID: message.ToolCalls[0].ID, Content: "42"},
			}})
			want := `[{"content":[{"text":"why?","type":"text"}],"role":"user"},{"content":[` + tt.want + `],"role":"assistant"},` +
				`{"content":[{"tool_use_id":"` + id(tt.want) + `","content":[{"text":"42","type":"text"}],"type":"tool_result"}],"role":"user"}]`
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestThoughtsAlone checks that thinking at the end of a truncated reply is not sent, because Anthropic refuses it:
// "The final block in an assistant message cannot be `thinking`."
func TestThoughtsAlone(t *testing.T) {
	t.Parallel()
	ask := agent.Message{Role: agent.User, Content: "why?"}
	cut := replied(t, model, llmtest.Text("").Thinking("hm").Signed("c2ln"))
	late := cut
	late.ProviderState = json.RawMessage(`{"anthropic":{"model":"` + model +
		`","blocks":[{"type":"thinking","thinking":"a","signature":"c2ln"},` +
		`{"type":"text","text":"So."},{"type":"thinking","thinking":"b","signature":"c2ln"},{"type":"redacted_thinking","data":"ZGF0YQ=="}]}}`)
	late.Content = "So."
	const asked = `[{"content":[{"text":"why?","type":"text"}`
	for name, tt := range map[string]struct {
		reply agent.Message
		want  string
	}{
		"nothing else": {cut, asked + `,{"text":"why?","type":"text"}],"role":"user"}]`},
		"at the end": {late,
			asked + `],"role":"user"},{"content":[{"signature":"c2ln","thinking":"a","type":"thinking"},{"text":"So.","type":"text"}],` +
				`"role":"assistant"},` + strings.TrimPrefix(asked, "[") + `],"role":"user"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := sent(t, "messages", llm.Request{Model: model, Messages: []agent.Message{ask, tt.reply, ask}})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestThoughtsWithoutText checks that thinking without visible text is sent back with its signature, and so is the
// thinking of other models with this API, which sign nothing and refuse calls without it: "The `content[].thinking` in
// the thinking mode must be passed back to the API." (https://github.com/esengine/DeepSeek-Reasonix/issues/8902)
func TestThoughtsWithoutText(t *testing.T) {
	t.Parallel()
	call := llmtest.Calls(llmtest.Call{ID: "a", Name: "f", Args: "{}"})
	for name, tt := range map[string]struct {
		model string
		reply llmtest.Reply
		want  string
	}{
		"not shown":                  {"claude-opus-4-8", call.Signed("c2ln"), `{"signature":"c2ln","thinking":"","type":"thinking"},`},
		"not signed":                 {"claude-opus-4-8", call.Thinking("hm"), ``},
		"not signed, by another API": {"deepseek-v4-pro", call.Thinking("hm"), `{"signature":"","thinking":"hm","type":"thinking"},`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			message := replied(t, tt.model, tt.reply)
			got := sent(t, "messages", llm.Request{Model: tt.model, Messages: []agent.Message{
				{Role: agent.User, Content: "why?"}, message, {Role: agent.ToolRole, ToolCallID: "a", Content: "42"},
			}})
			want := `{"content":[` + tt.want + `{"id":"a","input":{},"name":"f","type":"tool_use"}],"role":"assistant"}`
			if !strings.Contains(got, want) {
				t.Errorf("got %s, want %s in it", got, want)
			}
		})
	}
}

// id returns the id of the call in a turn.
func id(turn string) string {
	_, rest, _ := strings.Cut(turn, `"id":"`)
	found, _, _ := strings.Cut(rest, `"`)
	return found
}

func TestTurns(t *testing.T) {
	t.Parallel()
	user := func(text string) agent.Message { return agent.Message{Role: agent.User, Content: text} }
	says := func(text string, calls ...string) agent.Message {
		m := agent.Message{Role: agent.Assistant, Content: text}
		for _, c := range calls {
			m.ToolCalls = append(m.ToolCalls, agent.ToolCall{ID: c, Name: "f", Arguments: "{}"})
		}
		return m
	}
	result := func(id, text string) agent.Message {
		return agent.Message{Role: agent.ToolRole, ToolCallID: id, Content: text}
	}
	picture := result("c0_0", "a graph")
	picture.Images = []agent.Image{{Type: "image/png", Data: []byte("png")}, {Type: "image/png", Ref: "only described"}}
	const call = `{"id":"c00000x00","input":{},"name":"f","type":"tool_use"}`
	tests := []struct {
		name     string
		messages []agent.Message
		want     string
	}{
		{"one role in a row", []agent.Message{user("a"), user("b"), says("c"), says("d"), user("e")},
			`user: {"text":"a","type":"text"},{"text":"b","type":"text"}; assistant: {"text":"c","type":"text"},{"text":"d","type":"text"}; ` +
				`user: {"text":"e","type":"text"}`},
		{"texts of nothing", []agent.Message{user("a"), says(" \n"), user(""), says(""), user("b")},
			`user: {"text":"a","type":"text"},{"text":"b","type":"text"}`},
		{"the model speaks first and last", []agent.Message{says("a "), user("b"), says("c\n")},
			`user: {"text":"Go on.","type":"text"}; assistant: {"text":"a ","type":"text"}; user: {"text":"b","type":"text"}; ` +
				`assistant: {"text":"c\n","type":"text"}; user: {"text":"Go on.","type":"text"}`},
		{"results in another order, and late",
			[]agent.Message{user("q"), says("", "c0_0", "c0_1"), user("wait"), result("c0_1", "B"), result("c0_0", "A")},
			`user: {"text":"q","type":"text"}; assistant: ` + call + `,` + strings.Replace(call, "x00", "x01", 1) +
				`; user: {"tool_use_id":"c00000x00","content":[{"text":"A","type":"text"}],"type":"tool_result"},` +
				`{"tool_use_id":"c00000x01","content":[{"text":"B","type":"text"}],"type":"tool_result"},{"text":"wait","type":"text"}`},
		{"a call without a result", []agent.Message{user("q"), says("", "c0_0"), user("and?")},
			`user: {"text":"q","type":"text"}; assistant: ` + call +
				`; user: {"tool_use_id":"c00000x00","content":[{"text":"The result is not known.","type":"text"}],` +
				`"type":"tool_result"},{"text":"and?","type":"text"}`},
		{"a result without a call", []agent.Message{user("q"), result("z", "42")},
			`user: {"text":"q","type":"text"},{"text":"42","type":"text"}`},
		{"a picture", []agent.Message{user("q"), says("", "c0_0"), picture}, `user: {"text":"q","type":"text"}; assistant: ` + call +
			`; user: {"tool_use_id":"c00000x00","content":[{"text":"a graph","type":"text"},{"source":{"data":"cG5n","media_type":"image/png",` +
			`"type":"base64"},"type":"image"}],"type":"tool_result"}`},
		{"arguments that are no object",
			[]agent.Message{user("q"), {Role: agent.Assistant, ToolCalls: []agent.ToolCall{{ID: "c0_0", Name: "f", Arguments: "[1"}}},
				result("c0_0", "no")},
			`user: {"text":"q","type":"text"}; assistant: ` + strings.Replace(call, "{}", `{"raw":"[1"}`, 1) +
				`; user: {"tool_use_id":"c00000x00","content":[{"text":"no","type":"text"}],"type":"tool_result"}`},
		{"nothing at all", nil, `user: {"text":"Go on.","type":"text"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var turns []struct {
				Role    string
				Content json.RawMessage
			}
			if err := json.Unmarshal([]byte(sent(t, "messages", llm.Request{Model: model, Messages: tt.messages})), &turns); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, turn := range turns {
				got = append(got, turn.Role+": "+strings.Trim(string(turn.Content), "[]"))
			}
			if diff := cmp.Diff(strings.Split(tt.want, "; "), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestWithheldTools checks that tools that must not be called any more are declared as before, because the cache begins
// with them.
func TestWithheldTools(t *testing.T) {
	t.Parallel()
	ask := []agent.Message{{Role: agent.User, Content: "why?"}}
	functions := []llm.Tool{{Name: "f"}}
	offered := sent(t, "tools", llm.Request{Model: model, Messages: ask, Tools: functions})
	withheld := llm.Request{Model: model, Messages: ask, Withheld: functions}
	if got := sent(t, "tools", withheld); got != offered {
		t.Errorf("tools = %s, want %s", got, offered)
	}
	if got := sent(t, "tool_choice", withheld); got != `{"type":"none"}` {
		t.Errorf("tool_choice = %s, want none", got)
	}
}

// TestAskedOnce checks that a prompt that no request continues is not written to the cache, which costs a quarter more.
func TestAskedOnce(t *testing.T) {
	t.Parallel()
	for of, marks := range map[string]int{"": 0, "i/e": 3} {
		srv := llmtest.Start(t, llmtest.Always(llmtest.Text("ok")))
		_, err := open(t, srv.GeminiURL).Generate(t.Context(), llm.Request{
			Model: model, Conversation: of, Tools: []llm.Tool{{Name: "f"}},
			Messages: []agent.Message{{Role: agent.System, Content: "You investigate."}, {Role: agent.User, Content: "why?"}},
		}, nil)
		if n := strings.Count(string(srv.Wait(1).Body), `"cache_control":{"type":"ephemeral"}`); err != nil || n != marks {
			t.Errorf("%q: %d marks, want %d; %v", of, n, marks, err)
		}
	}
}

// TestThinking covers both directions: newer models refuse most of the parameters of older ones, and vice versa.
func TestThinking(t *testing.T) {
	t.Parallel()
	on, budget := agent.Thinking{Mode: agent.ThinkingOn}, agent.Thinking{Mode: agent.ThinkingOn, Budget: 9000}
	const adaptive = `{"type":"adaptive","display":"summarized"}`
	const bound = `{"type":"adaptive","display":"summarized","block_binding":{"prefix_mismatch_behavior":"drop_block"}}`
	tests := []struct {
		name     string
		model    string
		thinking agent.Thinking
		want     string // thinking max_tokens temperature output_config
	}{
		{"unasked", "claude-sonnet-4-5", agent.Thinking{}, ` 500 0.5 `},
		{"a budget", "claude-sonnet-4-5", budget, `{"type":"enabled","budget_tokens":9000} 10024  `},
		{"on, where a budget is needed", "claude-haiku-4-5-20251001", on, `{"type":"enabled","budget_tokens":8192} 9216  `},
		{"off", "claude-sonnet-4-6", agent.Thinking{Mode: agent.ThinkingOff}, `{"type":"disabled"} 500 0.5 `},
		{"on, where the model decides", "anthropic/claude-opus-4.6", on, adaptive + ` 500  `},
		{"an effort", "claude-opus-4-8", agent.Thinking{Mode: agent.ThinkingAdaptive, Effort: "xhigh"}, adaptive + ` 500  {"effort":"xhigh"}`},
		{"an effort alone", "claude-opus-4-5", agent.Thinking{Effort: "low"}, ` 500 0.5 {"effort":"low"}`},
		{"unasked, by a model that thinks unasked", "claude-sonnet-5", agent.Thinking{}, adaptive + ` 500  `},
		{"off, by a model that thinks unasked", "claude-sonnet-5", agent.Thinking{Mode: agent.ThinkingOff}, `{"type":"disabled"} 500  `},
		{"a model whose thoughts are bound", "claude-opus-5-5", agent.Thinking{}, bound + ` 500  `},
		{"no temperature for newer models", "claude-opus-4-7", agent.Thinking{}, ` 500  `},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			half := float32(0.5)
			req := llm.Request{Model: tt.model, Thinking: tt.thinking, MaxTokens: 500, Temperature: &half,
				Messages: []agent.Message{{Role: agent.User, Content: "why?"}}}
			var got []string
			for _, field := range []string{"thinking", "max_tokens", "temperature", "output_config"} {
				got = append(got, sent(t, field, req))
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestThinkingInTheMidstOfATurn checks a model with a budget, which refuses to think in the middle of another model's
// turn.
func TestThinkingInTheMidstOfATurn(t *testing.T) {
	t.Parallel()
	ask := agent.Message{Role: agent.User, Content: "why?"}
	answer := agent.Message{Role: agent.ToolRole, ToolCallID: "a", Content: "42"}
	foreign := agent.Message{Role: agent.Assistant, ToolCalls: []agent.ToolCall{{ID: "a", Name: "f"}}}
	own := replied(t, model, llmtest.Calls(llmtest.Call{ID: "a", Name: "f", Args: "{}"}).Thinking("hm").Signed("c2ln"))
	unthought := replied(t, model, llmtest.Calls(llmtest.Call{ID: "b", Name: "f", Args: "{}"}))
	second := agent.Message{Role: agent.ToolRole, ToolCallID: "b", Content: "42"}
	tests := map[string]struct {
		messages []agent.Message
		thinks   bool
	}{
		"another model's turn":                {[]agent.Message{ask, foreign, answer}, false},
		"its own":                             {[]agent.Message{ask, own, answer}, true},
		"its own, that thought at first only": {[]agent.Message{ask, own, answer, unthought, second}, true},
		"after somebody has spoken":           {[]agent.Message{ask, foreign, answer, {Role: agent.Assistant, Content: "So."}, ask}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := sent(t, "thinking", llm.Request{Model: model, Thinking: agent.Thinking{Mode: agent.ThinkingOn}, Messages: tt.messages})
			if thinks := strings.Contains(got, "enabled"); thinks != tt.thinks {
				t.Errorf("thinking = %s, want it to think: %v", got, tt.thinks)
			}
		})
	}
}

// TestThoughtsSurviveARestartAndAFallback checks a conversation that went to another provider and back, through the
// store, as after a restart. Claude's thinking must be unchanged, byte by byte.
func TestThoughtsSurviveARestartAndAFallback(t *testing.T) {
	t.Parallel()
	const thought = `{"type":"content_block_delta","index":0,"delta":{"type":"%s_delta","%[1]s":"%s"}}`
	own := replied(t, model, llmtest.Raw(`{"type":"message_start","message":{"model":"m"}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		fmt.Sprintf(thought, "thinking", `a < b & \"c\"\n`), fmt.Sprintf(thought, "signature", "EqQB+/="),
		`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"EmwK/+="}}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":{}}}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`, `{"type":"message_stop"}`))
	data, err := json.Marshal([]agent.Message{
		{Role: agent.User, Content: "why?"}, own, {Role: agent.ToolRole, ToolCallID: "toolu_1", Content: "42"},
		{Role: agent.Assistant, Thinking: "another model's", ToolCalls: []agent.ToolCall{{ID: "call_9", Name: "g", Arguments: "{}"}}},
		{Role: agent.ToolRole, ToolCallID: "call_9", Content: "43"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var messages []agent.Message
	if err := json.Unmarshal(data, &messages); err != nil {
		t.Fatal(err)
	}
	got := sent(t, "messages", llm.Request{Model: model, Messages: messages, Thinking: agent.Thinking{Mode: agent.ThinkingOn}})
	for _, want := range []string{`"signature":"EqQB+/="`, `{"data":"EmwK/+=","type":"redacted_thinking"}`} {
		if !strings.Contains(got, want) {
			t.Errorf("the request has no %s: %s", want, got)
		}
	}
	var turns []struct{ Content []struct{ Thinking string } }
	if err := json.Unmarshal([]byte(got), &turns); err != nil || turns[1].Content[0].Thinking != "a < b & \"c\"\n" {
		t.Errorf("the thought is not as it was: %v: %s", err, got)
	}
	if strings.Contains(got, "another model's") {
		t.Errorf("the request has thoughts of another model: %s", got)
	}
}
