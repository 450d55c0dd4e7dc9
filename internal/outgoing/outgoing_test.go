package outgoing_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/outgoing"
)

// TestMessages has one line for each message, "role: text", followed by "name(arguments)#id" or "#id" for calls and
// results.
func TestMessages(t *testing.T) {
	t.Parallel()
	system := agent.Message{Role: agent.System, Content: "S"}
	user := func(text string) agent.Message { return agent.Message{Role: agent.User, Content: text} }
	says := func(text string, calls ...agent.ToolCall) agent.Message {
		return agent.Message{Role: agent.Assistant, Content: text, ToolCalls: calls}
	}
	call := func(id string) agent.ToolCall { return agent.ToolCall{ID: id, Name: "f", Arguments: "{}"} }
	result := func(id, text string) agent.Message {
		return agent.Message{Role: agent.ToolRole, ToolCallID: id, Content: text}
	}
	tests := []struct {
		name      string
		alternate bool
		in        []agent.Message
		want      string
	}{
		{"a good conversation", false, []agent.Message{system, user("a"), says("b", call("c1_0")), result("c1_0", "r"), says("d"), user("e")},
			`system: S; user: a; assistant: b f({})#c00001x00; tool: r #c00001x00; assistant: d; user: e`},
		{"nothing", false, nil, `user: Go on.`},
		{"a system message alone", false, []agent.Message{system}, `system: S; user: Go on.`},
		{"system messages in the middle", false, []agent.Message{user("a"), system, user("b")}, `system: S; user: a; user: b`},
		{"empty messages", false, []agent.Message{user("a"), says(" \n"), user(""), says("b"), user("c")}, `user: a; assistant: b; user: c`},
		{"the model speaks first and last", false, []agent.Message{says("a"), user("b"), says("c")},
			`user: Go on.; assistant: a; user: b; assistant: c; user: Go on.`},
		{"one role in a row", true, []agent.Message{user("a"), user("b"), says("c"), says("d", call("c1_0")), result("c1_0", "r")},
			"user: a\n\nb; assistant: c\n\nd f({})#c00001x00; tool: r #c00001x00"},
		{"one role in a row, which may be", false, []agent.Message{user("a"), user("b"), says("c"), says("d"), user("e")},
			`user: a; user: b; assistant: c; assistant: d; user: e`},
		{"a user after results", false, []agent.Message{user("a"), says("", call("c1_0")), result("c1_0", "r"), user("b")},
			`user: a; assistant: f({})#c00001x00; tool: r #c00001x00; user: b`},
		{"a user after results, which may not be", true,
			[]agent.Message{user("a"), says("", call("c1_0")), result("c1_0", "r"), user("b")},
			`user: a; assistant: f({})#c00001x00; tool: r #c00001x00; assistant: I have read the results.; user: b`},
		{"results late, and in another order", false,
			[]agent.Message{user("a"), says("", call("c1_0"), call("c1_1")), user("wait"), result("c1_1", "B"), result("c1_0", "A")},
			`user: a; assistant: f({})#c00001x00 f({})#c00001x01; tool: A #c00001x00; tool: B #c00001x01; user: wait`},
		{"a call without a result, a result without a call", false, []agent.Message{user("a"), result("z", "42"), says("", call("c1_0"))},
			"user: a; user: 42; assistant: f({})#c00001x00; tool: The result is not known. #c00001x00"},
		{"an empty result", false, []agent.Message{user("a"), says("", call("c1_0")), result("c1_0", " ")},
			`user: a; assistant: f({})#c00001x00; tool: (no output) #c00001x00`},
		{"the same id twice", false, []agent.Message{user("a"), says("", call("x"), call("x")), result("x", "1"), result("x", "2")},
			`user: a; assistant: f({})#FVYRMQVXE f({})#NY2CTEBQF; tool: 1 #FVYRMQVXE; tool: 2 #NY2CTEBQF`},
		{"no id and no name", false, []agent.Message{user("a"), says("", agent.ToolCall{Arguments: "{}"}), result("", "Unknown tool")},
			`user: a; assistant: unnamed({})#4OYMIQUY7; tool: Unknown tool #4OYMIQUY7`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in, _ := json.Marshal(tt.in)
			req := outgoing.Request(llm.Request{Messages: tt.in}, agent.Dialect{Alternates: tt.alternate})
			var got []string
			for _, m := range req.Messages {
				line := string(m.Role) + ": " + m.Content
				for _, c := range m.ToolCalls {
					line = strings.TrimSuffix(line, " ") + fmt.Sprintf(" %s(%s)#%s", c.Name, c.Arguments, c.ID)
				}
				if m.ToolCallID != "" {
					line += " #" + m.ToolCallID
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "; ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if after, _ := json.Marshal(tt.in); string(after) != string(in) {
				t.Errorf("the conversation itself was changed: %s", after)
			}
		})
	}
}

// TestArguments maps arguments from models to those sent back to them.
func TestArguments(t *testing.T) {
	t.Parallel()
	nested := strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)
	for written, want := range map[string]string{
		`{"q": "x", "n": 9007199254740993}`: `{"q": "x", "n": 9007199254740993}`,
		``:                                  `{}`,
		`null`:                              `{}`,
		`""`:                                `{}`,
		`"{\"q\":\"x\"}"`:                   `{"q":"x"}`,
		`{"q": "x"}</tool_call>`:            `{"raw":"{\"q\": \"x\"}</tool_call>"}`,
		`{"q":`:                             `{"raw":"{\"q\":"}`,
		"```json\n{}\n```":                  "{\"raw\":\"```json\\n{}\\n```\"}",
		`{"q":1}{"q":2}`:                    `{"raw":"{\"q\":1}{\"q\":2}"}`,
		`[1]`:                               `{"raw":"[1]"}`,
		`ls`:                                `{"raw":"ls"}`,
		`{"n":1e999}`:                       `{"raw":"{\"n\":1e999}"}`,
		"{\"q\":\"\xff\"}":                  "{\"q\":\"\uFFFD\"}",
		`{"q":"\ud800"}`:                    "{\"q\":\"\uFFFD\"}",
		nested:                              `{"raw":` + strconv.Quote(nested) + `}`,
	} {
		if got := outgoing.Arguments(written); got != want {
			t.Errorf("%s: got %s, want %s", written, got, want)
		}
	}
}

// TestNames checks names that servers refuse.
func TestNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"": "unnamed", "loki__query": "loki__query", "loki.query": "loki_query", "1password__get": "_1password__get", "-x": "_-x",
		"größe": "gr__e", strings.Repeat("x", 80): strings.Repeat("x", 64),
	} {
		if got := outgoing.Name(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

// TestFewerTools: a server with a limit gets the tools that the model did not search for, and the latest of those that it found.
func TestFewerTools(t *testing.T) {
	t.Parallel()
	tools := []llm.Tool{{Name: "base"}, {Name: "search_tools"}, {Name: "a", Found: 7}, {Name: "b", Found: 2}, {Name: "c", Found: 5}}
	for limit, want := range map[int]string{
		0: "base search_tools a b c -", 5: "base search_tools a b c -", 4: "base search_tools a c - b", 3: "base search_tools a - b c",
		2: "base search_tools - a b c", 1: "base - search_tools a b c",
	} {
		kept, left := outgoing.Tools(tools, agent.Dialect{MaxTools: limit})
		var got []string
		for _, tool := range kept {
			got = append(got, tool.Name)
		}
		got = append(got, "-")
		for _, omitted := range left {
			if !omitted.Limit {
				t.Errorf("limit %d: %+v", limit, omitted)
			}
			got = append(got, omitted.Tool)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("limit %d: %q, want %q", limit, got, want)
		}
	}
}

// TestSchemaWithSpaceAround checks that a schema is JSON after a long description is moved into it, whatever white space it
// begins with.
func TestSchemaWithSpaceAround(t *testing.T) {
	t.Parallel()
	for _, space := range []string{"", " ", "\n\t"} {
		schema := json.RawMessage(space + `{"type":"object","properties":{}}` + space)
		kept, left := outgoing.Tools([]llm.Tool{{Name: "a", Description: strings.Repeat("word ", 10), Schema: schema}},
			agent.Dialect{MaxDescription: 30})
		if len(kept) != 1 || len(left) > 0 || !json.Valid(kept[0].Schema) {
			t.Errorf("with %q around: kept %+v, left out %+v", space, kept, left)
		}
	}
}

// TestTools checks that a tool that cannot be expressed does not affect other tools.
func TestTools(t *testing.T) {
	t.Parallel()
	tools := []llm.Tool{
		{Name: "a", Description: "does a"},
		{Name: "text", Schema: json.RawMessage(`{"type":"string"}`)},
		{Name: "a", Description: "is another a"},
		{Name: "b", Description: strings.Repeat("word ", 10), Schema: json.RawMessage(`{"type":"object",` +
			`"properties":{"x y":{"type":"string"}}}`)},
		{Name: "c"},
	}
	kept, left := outgoing.Tools(tools, agent.Dialect{MaxTools: 2, MaxDescription: 30})
	want := []llm.Tool{
		{Name: "a", Description: "does a", Schema: json.RawMessage(`{"type":"object","properties":{}}`)},
		{Name: "b", Description: "word word word word word word",
			Schema: json.RawMessage(`{"description":"(continues the description of the tool) word word word word \n` +
				`There is another argument, \"x y\" (optional): {\"type\":\"string\"}","type":"object","properties":{}}`)},
	}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	wantLeft := []llm.Omission{
		{Tool: "text", Why: "its schema does not describe an object"}, {Tool: "a", Why: "another tool has the same name"},
		{Tool: "c", Why: "the provider accepts at most 2 tools", Limit: true},
	}
	if diff := cmp.Diff(wantLeft, left); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
}

// TestToolsAtTheEnd checks that a request whose history has calls always declares tools.
func TestToolsAtTheEnd(t *testing.T) {
	t.Parallel()
	history := []agent.Message{{Role: agent.User, Content: "a"}, {Role: agent.Assistant, ToolCalls: []agent.ToolCall{{ID: "c1_0", Name: "f"}}}}
	got := outgoing.Request(llm.Request{Messages: history}, agent.Dialect{})
	if len(got.Tools) != 0 || len(got.Withheld) != 1 || got.Withheld[0].Name != "f" {
		t.Errorf("tools %v, withheld %v", got.Tools, got.Withheld)
	}
	got = outgoing.Request(llm.Request{Messages: history, Withheld: []llm.Tool{{Name: "g"}}}, agent.Dialect{})
	if len(got.Tools) != 0 || len(got.Withheld) != 1 || got.Withheld[0].Name != "g" {
		t.Errorf("tools %v, withheld %v", got.Tools, got.Withheld)
	}
	if got = outgoing.Request(llm.Request{Messages: history[:1]}, agent.Dialect{}); len(got.Withheld) != 0 {
		t.Errorf("without calls, withheld %v", got.Withheld)
	}
}

// TestLearn checks refusals of real servers, and the dialects learned from them. learn.go names the sources.
func TestLearn(t *testing.T) {
	t.Parallel()
	for want, refusals := range map[agent.Dialect][]string{
		{RefusesNone: true}: {
			"litellm.UnsupportedParamsError: Bedrock doesn't support tool_choice=none. To drop it from the call, set `litellm.drop_params = True.",
			"No endpoints found that support the provided 'tool_choice' value. To learn more about provider routing, visit: …",
			"deepseek-reasoner does not support this tool_choice",
			"400 Error from provider (DeepSeek): deepseek-reasoner does not support this `tool_choice`",
			`litellm.BadRequestError: DeepseekException - {"error":{"message":"Thinking mode does not support this tool_choice"}}`,
		},
		{Alternates: true}: {
			"After the optional system message, conversation roles must alternate user/assistant/user/assistant/...",
			"Conversation roles must alternate user/assistant/user/assistant/...",
			"After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.",
			"Unexpected role 'user' after role 'tool'",
			`Provider returned error: {"object":"error","message":"Unexpected role 'user' after role 'tool'","code":"3230"}`,
		},
		{PlainBesideTools: true}: {
			"json mode cannot be combined with tool/function calling",
			"'response_format` json_object cannot be combined with tool/function calling",
			"Function calling with a response mime type: 'application/json' is unsupported",
			"Tool use with a response mime type: 'application/json' is unsupported",
		},
		{MaxDescription: 1024}: {
			"Invalid 'tools[13].function.description': string too long. Expected a string with maximum length 1024, but got a string …",
		},
		{MaxDescription: 512}: {"Invalid 'tools[0].description': string too long. Expected a string with maximum length 512, but …"},
		{MaxTools: 128}: {
			"Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 131 instead.",
			"'tools' : maximum number of items is 128", "'tools': maximum number of items is 128",
		},
		{MaxTools: 512}: {
			"The GenerateContentRequest proto is invalid:\n  * tools[0].function_declarations: [FIELD_INVALID] At most 512 function " +
				"declarations can be specified.",
		},
		{MaxTools: 200}: {"Maximum tools limit reached. 219 tools have been provided but the maximum is 200."},
		{RefusesTemperature: true}: {
			"Unsupported parameter: 'temperature' is not supported with this model.",
			"Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
			"`temperature` is deprecated for this model.", "temperature is deprecated for this model.",
			"`temperature` may only be set to 1 when thinking is enabled or in adaptive mode. Please consult our documentation at …",
		},
		{RefusesThinking: true}: {
			"Thinking level is not supported for this model.", "thinking_config is not supported.",
			"Thinking is not enabled for models/gemini-2.0-flash-preview-image-generation",
			"Unable to submit request because thinking is not supported by this model. Learn more: …",
			"Unable to submit request because thinking_level MEDIUM is not supported by this model. Learn more: …",
			"Unable to submit request because thinking_level is not supported by this model.. Learn more: …",
			"Unable to submit request because Thinking_config.include_thoughts is only enabled when thinking is enabled..",
		},
		{RefusesSchema: true}: {
			"Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model. Learn more about …",
			"Invalid schema for response_format 'output': In context=(), 'additionalProperties' is required to be supplied and to be false.",
			"This response_format type is unavailable now", "response_format: response_format.type `json_schema` is unavailable now at line 1",
			"output_config.format.schema: Invalid schema: Enum must be a non-empty array",
			`* GenerateContentRequest.generation_config.response_schema.properties["a"].properties: should be non-empty for OBJECT type`,
		},
		{MaxTokens: 8192}: {
			"max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-sonnet-20241022",
			"Unable to submit request because it has a maxOutputTokens value of 655360 but the supported range is from 1 (inclusive) to " +
				"8193 (exclusive). Update the value and try again.",
			"max_tokens is too large: 50000. This model supports at most 8192 completion tokens, whereas you provided 50000.",
			"Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
			"max_tokens for `llama-3.1-8b-instant` must be less than or equal to 8192",
			"`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for …",
		},
	} {
		for _, refusal := range refusals {
			got, learned := outgoing.Learn(agent.Dialect{}, refusal)
			if got != want || !learned {
				t.Errorf("%s: %+v", refusal, got)
			}
			if second, learned := outgoing.Learn(got, refusal); learned {
				t.Errorf("%s: learned once more: %+v", refusal, second)
			}
		}
	}
}

// TestLearnNothing checks refusals that name the same fields and mean something else.
func TestLearnNothing(t *testing.T) {
	t.Parallel()
	for _, refusal := range []string{
		"The model does not exist",
		"temperature: must be between 0 and 1", "Invalid 'temperature': decimal above maximum value.",
		"thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
		"max_tokens: 0 is less than the minimum of 1",
		"The arguments to a tool_call with ID 'x' are not a valid JSON string. Parsing error: EOF while parsing a value",
		"Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
		"Failed to parse tool call arguments as JSON",
		"Can only get item pairs from a mapping. (tool call arguments json)",
		"Tool choice is none, but model called a tool",
		"Invalid tool_choice type: 'object'. Supported string values: none, auto, required",
		`"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`,
		"Invalid value: 'auto'. Supported values are: 'code_interpreter', 'function' (param: tool_choice.type)",
		"No endpoints found that support tool use.",
		"tool_choice is required",
		"Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
		"Invalid 'tools[43].function.name': string too long. Expected a string with maximum length 64, but got a string with length 71 instead.",
		"Invalid 'tools': array too long. Expected an array with maximum length 0",
		"'max_tokens' or 'max_completion_tokens' is too large: 64000. This model's maximum context length is 64001 tokens",
		"This model's maximum context length is 8192 tokens. However, you requested 8256 tokens",
	} {
		if got, learned := outgoing.Learn(agent.Dialect{}, refusal); learned {
			t.Errorf("%s: %+v", refusal, got)
		}
	}
	known := agent.Dialect{MaxTools: 64, MaxTokens: 1000}
	for _, refusal := range []string{"'tools' : maximum number of items is 128", "the valid range of max_tokens is [1, 8192]"} {
		if got, learned := outgoing.Learn(known, refusal); learned {
			t.Errorf("%s: raised a limit: %+v", refusal, got)
		}
	}
}
