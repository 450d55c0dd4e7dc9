package outgoing_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/outgoing"
)

// TestWindows reads the windows in the refusals of real servers; window.go names the sources.
func TestWindows(t *testing.T) {
	t.Parallel()
	type sizes struct{ window, prompt int }
	for words, want := range map[string]sizes{
		"request (9127 tokens) exceeds the available context size (8192 tokens), try increasing it": {8192, 9127},
		"This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the " +
			"completion). Please reduce the length of the messages or completion. None": {16384, 112946},
		"This model's maximum context length is 128000 tokens. However, your messages resulted in 202868 tokens (202767 in the messages, " +
			"101 in the functions). Please reduce the length of the messages or functions.": {128000, 202868},
		"VLLMValidationError: This model's maximum context length is 128000 tokens. \nHowever, you requested 65535 output tokens and " +
			"your prompt contains at \nleast 62466 input tokens, for a total of at least 128001 tokens.": {128000, 62466},
		"maximum context length is 8192 tokens":                                              {8192, 0},
		"The input (61709 tokens) is longer than the model's context length (40960 tokens).": {40960, 61709},
		"longer than the model's context length (8192 tokens)":                               {8192, 0},
		"Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded with context length of only " +
			"7866 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input.": {7866, 10136},
		"The number of tokens to keep from the initial prompt is greater than the context length " +
			"(n_keep: 13055>= n_ctx: 4096). Try …": {4096, 13055},
		"Prompt too long: 41911 tokens exceeds max context window of 32768 tokens": {32768, 41911},
		"Requested tokens (2285) exceed context window of 2048":                    {2048, 2285},
		"Request too large for model `m` in organization `org_1` service tier `on_demand` on tokens per minute (TPM): " +
			"Limit 12000, Requested 14137, please reduce your message size and try again.": {12000, 0},
		"Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 342389. The input or output tokens must be " +
			"reduced in order to run successfully.": {30000, 0},
		"'max_tokens' or 'max_completion_tokens' is too large: 64000. This model's maximum context length is 64001 tokens and your " +
			"request has 1200 input tokens (64000 > 64001 - 1200).": {64001, 1200},
		"Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)":                 {262144, 0},
		"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 204800]":               {204800, 0},
		"prompt token count of 93854 exceeds the limit of 90000":                                               {90000, 93854},
		"This model's maximum prompt length is 131072 but the request contains 136973 tokens.":                 {131072, 136973},
		"Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000": {40000, 0},
		"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 8740 `inputs` tokens and 500 `max_new_tokens`": {
			4096, 8740},
		"length of prompt_tokens (163280) must be less than max_seq_len (32768).": {32768, 163280},
		"Prompt exceeds max length":                                                               {},
		"Request body too large for gpt-4o model. Max size: 8000 tokens.":                         {8000, 0},
		"Input is too long for requested model.":                                                  {},
		"prompt is too long: 208310 tokens > 200000 maximum":                                      {200000, 208310},
		"The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).": {1048576, 1200293},
		"Context size has been exceeded.":                                                         {},
		"While executing CallExpression at line 100, column 24 in source:\n… Error: Jinja Exception: No user query found in " +
			"messages.": {},
	} {
		refused := refusal(500, words)
		var learner outgoing.Learner
		_, err := learner.Send(agent.Dialect{}, &llm.Request{}, func(*llm.Request, agent.Dialect) (llm.Response, error) {
			return llm.Response{}, refused
		})
		if !errors.Is(err, llm.ErrContextTooLong) || refused.Window != want.window || refused.Prompt != want.prompt {
			t.Errorf("%s: %v, window %d, prompt %d, want %+v", words, err, refused.Window, refused.Prompt, want)
		}
	}
	for _, other := range []string{
		"Rate limit reached for model `m` on tokens per minute (TPM): Limit 6000, Used 5034, Requested 1443. Please try again in 4.77s.",
		"max_tokens is too large: 9000. This model supports at most 4096 completion tokens", "the server is overloaded",
	} {
		refused := refusal(500, other)
		var learner outgoing.Learner
		_, err := learner.Send(agent.Dialect{}, &llm.Request{}, func(*llm.Request, agent.Dialect) (llm.Response, error) {
			return llm.Response{}, refused
		})
		if errors.Is(err, llm.ErrContextTooLong) || refused.Window != 0 {
			t.Errorf("%s: %v, window %d", other, err, refused.Window)
		}
	}
}

func refusal(status int, words string) *llm.Error {
	return &llm.Error{Kind: llm.ErrInvalidRequest, Status: status, Message: words}
}

// TestUnknownFields checks which fields a request omits, or by which rule it replaces them, after a refusal of a real server;
// fields.go names the sources.
func TestUnknownFields(t *testing.T) {
	t.Parallel()
	warm := float32(0.5)
	for words, want := range map[string][]string{
		"Extra inputs are not permitted, field: 'stream_options'":              {"stream_options"},
		"Validation error at #/stream_options: Extra inputs are not permitted": {"stream_options"},
		"[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': 'Extra inputs are not permitted', 'input': " +
			"{'include_usage': True}}]": {"stream_options"},
		"body.stream_options: Extra inputs are not permitted":                       {"stream_options"},
		"body.messages.2.reasoning_content: extra fields not permitted":             {"reasoning_content"},
		"Unrecognized request argument supplied: stream_options. Please contact us": {"stream_options"},
		"Unrecognized request arguments supplied: stream_options, prompt_cache_key": {"stream_options", "prompt_cache_key"},
		"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.": {
			"max_tokens"},
		"Unknown parameter: 'prompt_cache_key'.": {"prompt_cache_key"},
		"'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning_content' is unsupported)]": {
			"reasoning_content"},
		`Invalid JSON payload received. Unknown name "prompt_cache_key": Cannot find field.` + "\n" +
			`Invalid JSON payload received. Unknown name "stream_options": Cannot find field.`: {"prompt_cache_key", "stream_options"},
		`json: unknown field "stream_options"`:                                                          {"stream_options"},
		"unknown field `stream_options`, expected one of `model`, `messages`":                           {"stream_options"},
		"body.temperature: Extra inputs are not permitted":                                              {},
		"messages: Extra inputs are not permitted":                                                      nil,
		"body.tools.0.function.strict: Extra inputs are not permitted":                                  nil,
		"[{'type': 'literal_error', 'loc': ('body', 'stream_options'), 'msg': 'Input should be true'}]": nil,
		`Unknown name "include" at 'tools[0].function_declarations[1].parameters': Cannot find field.`:  nil,
	} {
		var learner outgoing.Learner
		var asked []llm.Request
		full := llm.Request{Temperature: &warm}
		out, err := learner.Send(agent.Dialect{}, &full, func(req *llm.Request, _ agent.Dialect) (llm.Response, error) {
			if asked = append(asked, *req); len(asked) == 1 {
				return llm.Response{}, refusal(400, words)
			}
			return llm.Response{}, nil
		})
		if want == nil {
			if err == nil || len(asked) != 1 {
				t.Errorf("%s: asked %d times, %v", words, len(asked), err)
			}
			continue
		}
		if err != nil || len(asked) != 2 {
			t.Errorf("%s: asked %d times, %v", words, len(asked), err)
			continue
		}
		if diff := cmp.Diff(want, append([]string{}, asked[1].Omit...)); diff != "" {
			t.Errorf("%s: omitted (-want +got):\n%s", words, diff)
		}
		told := func(o llm.Omission) bool { return len(want) == 0 || strings.Contains(o.Why, want[0]) }
		if len(out.Omitted) == 0 || !slices.ContainsFunc(out.Omitted, told) || len(want) == 0 && asked[1].Temperature != nil {
			t.Errorf("%s: %+v, temperature %v", words, out.Omitted, asked[1].Temperature)
		}
	}
}

// TestRefusalsByStatus checks where a rule is learned: from templates that fail with 500, and inside a stream, but not from an outage.
func TestRefusalsByStatus(t *testing.T) {
	t.Parallel()
	const roles = "\n------------\nWhile executing CallExpression at line 189, column 32 in source:\n...== 0) %}↵ " +
		"           {{- raise_exception('After the optional system message, con...\nError: Jinja Exception: After the optional " +
		"system message, conversation roles must alternate user and assistant roles except for tool calls and results."
	for _, tt := range []struct {
		status int
		words  string
		asked  int
	}{
		{0, roles, 2}, {404, roles, 2}, {400, roles, 2}, {422, roles, 2}, {500, roles, 2},
		{429, roles, 1}, {503, roles, 1}, {401, roles, 1}, {500, "internal server error", 1}, {0, "connection refused", 1},
	} {
		req := llm.Request{Messages: []agent.Message{{Role: agent.User, Content: "a"}, {Role: agent.User, Content: "b"}}}
		var learner outgoing.Learner
		asked := 0
		out, err := learner.Send(agent.Dialect{}, &req, func(sent *llm.Request, _ agent.Dialect) (llm.Response, error) {
			if asked++; len(sent.Messages) > 1 {
				return llm.Response{}, refusal(tt.status, tt.words)
			}
			return llm.Response{}, nil
		})
		if asked != tt.asked || (err == nil) != (tt.asked == 2) || (len(out.Omitted) == 1) != (tt.asked == 2) {
			t.Errorf("%d %.40q: asked %d times, %v, %+v", tt.status, tt.words, asked, err, out.Omitted)
		}
	}
}
