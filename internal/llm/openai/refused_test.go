package openai_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

// TestRefusedFields checks that an optional field is omitted after a server has named it as unknown, in the forms of FastAPI, Mistral,
// and others, and that the model's name and the messages never are.
func TestRefusedFields(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status       int
		body, refuse string // refuse matches the requests that the server refuses
	}{
		"FastAPI": {422, `{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted",` +
			`"input":{"include_usage":true}}]}`, `"stream_options"`},
		"Mistral": {422, `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],` +
			`"msg":"Extra inputs are not permitted"}]},"type":"invalid_request_error"}`, `"stream_options"`},
		"Mistral, now": {400, `{"object":"Error","message":[{"type":"extra_forbidden","loc":["body","stream_options"],` +
			`"msg":"Extra inputs are not permitted","input":[]}],"type":"invalid_request_error","code":3001}`, `"stream_options"`},
		"a param": {400, `{"error":{"message":"Extra inputs are not permitted","type":"invalid_request_error","param":"stream_options"}}`,
			`"stream_options"`},
		"Azure": {400, `{"error":{"message":"Unrecognized request argument supplied: stream_options","param":null,"code":null}}`,
			`"stream_options"`},
		"Groq": {400, `{"error":{"message":"'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property ` +
			`'reasoning_content' is unsupported)]","type":"invalid_request_error"}}`, `"reasoning_content"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused := regexp.MustCompile(tt.refuse)
			srv := llmtest.Start(t, func(req llmtest.Request) llmtest.Reply {
				if refused.Match(req.Body) {
					return llmtest.Status(tt.status, tt.body)
				}
				return llmtest.Text("ok")
			})
			client := open(t, srv.URL)
			req := ask("why?")
			req.Model = "deepseek-chat" // whose messages have reasoning_content
			req.Messages = append(req.Messages, agent.Message{Role: agent.Assistant,
				ToolCalls: []agent.ToolCall{{ID: "c1_0", Name: "f", Arguments: `{"reasoning_content":12345678901234567890}`}}})
			for range 2 {
				reply, err := client.Generate(t.Context(), req, nil)
				if err != nil || len(reply.Omitted) != 1 || !strings.Contains(reply.Omitted[0].Why, strings.Trim(tt.refuse, `"`)) {
					t.Fatalf("omitted %+v, %v", reply.Omitted, err)
				}
			}
			all := srv.Requests()
			if len(all) != 3 {
				t.Fatalf("%d requests, want a refusal and two replies", len(all))
			}
			var sent struct {
				Model    string
				Messages []json.RawMessage
			}
			if err := json.Unmarshal(all[2].Body, &sent); err != nil || sent.Model != "deepseek-chat" || len(sent.Messages) != 3 ||
				!strings.Contains(string(sent.Messages[1]), "12345678901234567890") {
				t.Errorf("%s, %v", all[2].Body, err)
			}
		})
	}
}

// TestRefusedLimit checks that the limit of the reply gets its other name after a server has refused the first one, and is omitted only
// if the server knows neither.
func TestRefusedLimit(t *testing.T) {
	t.Parallel()
	const older, newer = "max_tokens", "max_completion_tokens"
	for name, tt := range map[string]struct {
		model string
		words map[string]string // what the server says about each field that it refuses
		sent  map[string]int
		told  []string
	}{
		// https://github.com/griptape-ai/ComfyUI-Griptape/issues/312
		"OpenAI, behind another name": {"our-model", map[string]string{
			older: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."},
			map[string]int{newer: 50}, []string{"the field max_tokens is sent as max_completion_tokens because the provider does not know it"}},
		// https://github.com/voideditor/void/issues/128
		"vLLM, older": {"gpt-5", map[string]string{
			newer: "[{'type': 'extra_forbidden', 'loc': ('body', 'max_completion_tokens'), 'msg': 'Extra inputs are not permitted', 'input': 50}]"},
			map[string]int{older: 50}, []string{"the field max_completion_tokens is sent as max_tokens because the provider does not know it"}},
		"neither": {"our-model", map[string]string{
			older: `json: unknown field "max_tokens"`, newer: `json: unknown field "max_completion_tokens"`},
			map[string]int{}, []string{"the field max_tokens is omitted because the provider does not know it",
				"the field max_completion_tokens is omitted because the provider does not know it"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.Start(t, func(req llmtest.Request) llmtest.Reply {
				for field, words := range tt.words {
					if strings.Contains(string(req.Body), `"`+field+`"`) {
						return refuse(400, words)
					}
				}
				return llmtest.Text("ok")
			})
			client, req := open(t, srv.URL), ask("why?")
			req.Model, req.MaxTokens = tt.model, 50
			for range 2 {
				reply, err := client.Generate(t.Context(), req, nil)
				if err != nil {
					t.Fatal(err)
				}
				var told []string
				for _, o := range reply.Omitted {
					told = append(told, o.Why)
				}
				sent, all := map[string]int{}, srv.Requests()
				for field, limit := range map[string]int{older: all[len(all)-1].MaxTokens, newer: all[len(all)-1].MaxCompletionTokens} {
					if limit > 0 {
						sent[field] = limit
					}
				}
				if len(all) > len(tt.words)+2 || !cmp.Equal(sent, tt.sent) || !cmp.Equal(told, tt.told) {
					t.Errorf("%d requests, the last with %v, want %v; told %q", len(all), sent, tt.sent, told)
				}
			}
		})
	}
}

// TestRefusedInTheStream checks that a refusal inside a successful answer teaches as much as one with a status.
func TestRefusedInTheStream(t *testing.T) {
	t.Parallel()
	// https://github.com/sterlp/eclipse-peon-ai/issues/75
	const roles = `{"error":{"code":"server_error","message":"rpc error: code = InvalidArgument desc = \n------------\nError: Jinja ` +
		`Exception: After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and ` +
		`results.","type":"server_error"}}`
	srv := llmtest.Start(t, func(req llmtest.Request) llmtest.Reply {
		if len(req.Messages) > 1 {
			return llmtest.Raw(roles)
		}
		return llmtest.Text("ok")
	})
	req := ask("why?")
	req.Messages = append(req.Messages, agent.Message{Role: agent.User, Content: "and who?"})
	reply, err := open(t, srv.URL).Generate(t.Context(), req, nil)
	if err != nil || reply.Content != "ok" || len(reply.Omitted) != 1 {
		t.Errorf("%+v, %v", reply, err)
	}
}

// TestRefusedWithoutThoughts checks that every reply gets an empty thought after the server has asked for one.
func TestRefusedWithoutThoughts(t *testing.T) {
	t.Parallel()
	for _, words := range []string{ // https://github.com/earendil-works/pi/issues/3636, https://github.com/continuedev/continue/issues/11285
		"The `reasoning_content` in the thinking mode must be passed back to the API.",
		"Missing `reasoning_content` field in the assistant message at message index 1. For more information, please refer to …",
	} {
		srv := llmtest.Start(t, func(req llmtest.Request) llmtest.Reply {
			if strings.Count(string(req.Body), `"reasoning_content":""`) != 2 {
				return llmtest.Refuse(400, "invalid_request_error", words)
			}
			return llmtest.Text("ok")
		})
		req := ask("why?")
		req.Model = "our-thinker"
		req.Messages = append(req.Messages,
			agent.Message{Role: agent.Assistant, ToolCalls: []agent.ToolCall{{ID: "c1_0", Name: "f", Arguments: `{}`}}},
			agent.Message{Role: agent.Assistant, Content: "Hm."})
		reply, err := open(t, srv.URL).Generate(t.Context(), req, nil)
		if err != nil || len(reply.Omitted) != 1 || len(srv.Requests()) != 2 {
			t.Errorf("%+v after %d requests, %v", reply.Omitted, len(srv.Requests()), err)
		}
	}
}

// TestWindowInRefusals checks that an error about a request that is too long has the window, with any status and inside a stream.
func TestWindowInRefusals(t *testing.T) {
	t.Parallel()
	const counted = 9127
	for name, tt := range map[string]struct {
		reply  llmtest.Reply
		prompt int
	}{
		// https://github.com/ggml-org/llama.cpp/pull/15780
		"llama.cpp, before": {llmtest.Status(500, `{"error":{"code":500,"message":"the request exceeds the available context size. try `+
			`increasing the context size or enable context shift","type":"exceed_context_size_error","n_prompt_tokens":9127,`+
			`"n_ctx":8192}}`), counted},
		"llama.cpp": {llmtest.Status(400, `{"error":{"code":400,"message":"request (9127 tokens) exceeds the available context size `+
			`(8192 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9127,"n_ctx":8192}}`), counted},
		"SGLang in a stream": {llmtest.Raw(`{"error":{"object":"error","message":"The input (9127 tokens) is longer than the model's context ` +
			`length (8192 tokens).","type":"BadRequestError","param":null,"code":400}}`), counted},
		"LM Studio": {llmtest.Status(400, `{"error":"Trying to keep the first 9127 tokens when context the overflows. However, the model is `+
			`loaded with context length of only 8192 tokens, which is not enough."}`), counted},
		// The number in these two includes max_tokens.
		"Groq": {llmtest.Status(413, `{"error":{"message":"Request too large for model m on tokens per minute (TPM): Limit 8192, Requested `+
			`9127, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}}`), 0},
		"OpenAI": {llmtest.Status(429, `{"error":{"message":"Request too large for gpt-4o on tokens per min (TPM): Limit 8192, Requested 9127. `+
			`The input or output tokens must be reduced in order to run successfully.","type":"tokens","code":"rate_limit_exceeded"}}`), 0},
	} {
		_, err := open(t, llmtest.Start(t, llmtest.Always(tt.reply)).URL).Generate(t.Context(), ask("why?"), nil)
		failed, _ := errors.AsType[*llm.Error](err)
		if failed == nil || !errors.Is(err, llm.ErrContextTooLong) || failed.Window != 8192 || failed.Prompt != tt.prompt {
			t.Errorf("%s: %+v", name, failed)
		}
	}
	ollama := llmtest.Start(t, llmtest.Always(llmtest.Status(500, `{"error":{"code":500,"message":"\n------------\n… Error: Jinja `+
		`Exception: No user query found in messages.","type":"server_error"}}`)))
	if _, err := open(t, ollama.URL).Generate(t.Context(), ask("why?"), nil); !errors.Is(err, llm.ErrContextTooLong) {
		t.Errorf("Ollama: %v", err)
	}
}

// TestRefusedByATemplate checks that a conversation that a model's template refuses is not an outage: it would be refused again.
// https://github.com/ggml-org/llama.cpp/issues/19851
func TestRefusedByATemplate(t *testing.T) {
	t.Parallel()
	for _, words := range []string{
		`\n------------\n...\nError: Jinja Exception: Only user and assistant roles are supported!`,
		`Error rendering prompt with jinja template: \"Unknown role.\".`,
	} {
		srv := llmtest.Start(t, llmtest.Always(llmtest.Status(500, `{"error":{"code":500,"message":"`+words+`","type":"server_error"}}`)))
		if _, err := open(t, srv.URL).Generate(t.Context(), ask("why?"), nil); !errors.Is(err, llm.ErrInvalidRequest) {
			t.Errorf("%s: %v", words, err)
		}
	}
}
