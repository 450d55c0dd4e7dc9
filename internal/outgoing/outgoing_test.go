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

// TestMessages: one line for each message, "role: text" and then "name(arguments)#id" or "#id" of calls and results.
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

// TestArguments: what models have written, and what goes back to them.
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

// TestNames: names that servers refuse.
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

// TestTools: one tool that cannot be expressed does not take the others away.
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
	wantLeft := []outgoing.Omission{
		{Tool: "text", Why: "its schema does not describe an object"}, {Tool: "a", Why: "another tool has its name"},
		{Tool: "c", Why: "the model's server takes 2 tools at most"},
	}
	if diff := cmp.Diff(wantLeft, left); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
}

// TestToolsAtTheEnd: a request whose history has calls declares tools, whether it is given some or not.
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

// TestLearn: what servers say when they refuse a request, and what they are sent then.
func TestLearn(t *testing.T) {
	t.Parallel()
	for refusal, want := range map[string]agent.Dialect{
		"Bedrock doesn't support tool_choice=none. To drop it from the call, …":         {RefusesNone: true},
		"Conversation roles must alternate user/assistant/user/assistant/...":           {Alternates: true},
		"Unexpected role 'user' after role 'tool'":                                      {Alternates: true},
		"json mode cannot be combined with tool/function calling":                       {PlainBesideTools: true},
		"Invalid 'tools[2].function.description': string too long. Expected …":          {MaxDescription: 1024},
		"Invalid 'tools': array too long. Expected an array with maximum length 128, …": {MaxTools: 128},
		"The model does not exist":                                                      {},
	} {
		got, learned := outgoing.Learn(agent.Dialect{}, refusal)
		if got != want || learned != (want != agent.Dialect{}) {
			t.Errorf("%s: %+v", refusal, got)
		}
		if again, learned := outgoing.Learn(got, refusal); learned {
			t.Errorf("%s: learned once more: %+v", refusal, again)
		}
	}
}
