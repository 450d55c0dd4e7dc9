package written_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/written"
)

var offer = written.Offer{Tools: []written.Tool{
	{Name: "plain", Schema: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"},"n":{"type":"integer"}}}`)},
	{Name: "loki__query"},
}}

func calls(all ...string) (out []agent.ToolCall) {
	for n := 0; n+1 < len(all); n += 2 {
		out = append(out, agent.ToolCall{ID: fmt.Sprintf("call_%d", n/2), Name: all[n], Arguments: all[n+1]})
	}
	return out
}

// texts are written texts with their meaning. The notations are those of the models' own chat templates.
var texts = []struct {
	name, text string
	want       written.Reply
}{
	// Calls
	{"Hermes, Qwen", "<tool_call>\n{\"name\": \"plain\", \"arguments\": {\"q\": \"x\"}}\n</tool_call>",
		written.Reply{Calls: calls("plain", `{"q": "x"}`)}},
	{"two calls after a text", "Let me check.\n<tool_call>\n{\"name\":\"plain\",\"arguments\":{\"n\":9007199254740993}}\n</tool_call>\n" +
		"<tool_call>\n{\"name\":\"loki__query\",\"arguments\":{}}\n</tool_call>",
		written.Reply{Text: "Let me check.", Calls: calls("plain", `{"n":9007199254740993}`, "loki__query", `{}`)}},
	{"the end of the tag is missing", `<tool_call>{"name":"plain","arguments":{}}`, written.Reply{Calls: calls("plain", `{}`)}},
	{"arguments that were encoded twice", `<tool_call>{"name":"plain","arguments":"{\"q\":\"x\"}"}</tool_call>`,
		written.Reply{Calls: calls("plain", `{"q":"x"}`)}},
	{"the tag within an argument", `<tool_call>{"name":"plain","arguments":{"q":"</tool_call>"}}</tool_call>`,
		written.Reply{Calls: calls("plain", `{"q":"</tool_call>"}`)}},
	{"the start of an answer that the model makes up", "<tool_call>{\"name\":\"plain\",\"arguments\":{}}</tool_call>\n<tool_response>\n",
		written.Reply{Calls: calls("plain", `{}`)}},
	{"Qwen Coder", "I look.\n<tool_call>\n" +
		"<function=plain>\n<parameter=q>\nline 1\nline 2\n</parameter>\n<parameter=n>\n7\n</parameter>\n</function>\n</tool_call>",
		written.Reply{Text: "I look.", Calls: calls("plain", `{"n":7,"q":"line 1\nline 2"}`)}},
	{"a number that the schema wants as text", "<function=plain>\n<parameter=q>\n12\n</parameter>\n</function>",
		written.Reply{Calls: calls("plain", `{"q":"12"}`)}},
	{"a type that is not known", "<function=loki__query>\n" +
		"<parameter=a>\n{\"b\":[1]}\n</parameter>\n<parameter=c>\nup{a=\"b\"}\n</parameter>\n</function>",
		written.Reply{Calls: calls("loki__query", `{"a":{"b":[1]},"c":"up{a=\"b\"}"}`)}},
	{"Llama 3.1", `<function=plain>{"q": "x"}</function><|eom_id|>`, written.Reply{Calls: calls("plain", `{"q": "x"}`)}},
	{"Llama 3, Python", `<|python_tag|>{"name": "plain", "parameters": {"q": "x"}}; {"name": "loki__query", "parameters": {}}<|eom_id|>`,
		written.Reply{Calls: calls("plain", `{"q": "x"}`, "loki__query", `{}`)}},
	{"Llama 3.2", `{"name": "plain", "parameters": {"q": "x"}}`, written.Reply{Calls: calls("plain", `{"q": "x"}`)}},
	{"Llama 4", `[plain(q="it's", n=2), loki__query(on=True, of=None, with='x', list=[1, 2])]`,
		written.Reply{Calls: calls("plain", `{"n":2,"q":"it's"}`, "loki__query", `{"list":[1,2],"of":null,"on":true,"with":"x"}`)}},
	{"LFM 2", `<|tool_call_start|>[plain(q="x")]<|tool_call_end|>`, written.Reply{Calls: calls("plain", `{"q":"x"}`)}},
	{"Mistral", `[TOOL_CALLS] [{"name": "plain", "arguments": {"q": "x"}}, {"name": "loki__query", "arguments": {}}]</s>`,
		written.Reply{Calls: calls("plain", `{"q": "x"}`, "loki__query", `{}`)}},
	{"Mistral, later", `[TOOL_CALLS]plain[ARGS]{"q": "x"}[TOOL_CALLS]loki__query[CALL_ID]a1b2[ARGS]{}`,
		written.Reply{Calls: calls("plain", `{"q": "x"}`, "loki__query", `{}`)}},
	{"Mistral, without marks between", `[TOOL_CALLS]plain{"q": "x"}`, written.Reply{Calls: calls("plain", `{"q": "x"}`)}},
	{"a fenced block alone", "```json\n{\"name\": \"plain\", \"arguments\": {\"q\": \"x\"}}\n```",
		written.Reply{Calls: calls("plain", `{"q": "x"}`)}},
	{"a fenced block with tags alone", "```xml\n<tool_call>{\"name\": \"plain\", \"arguments\": {}}</tool_call>\n```",
		written.Reply{Calls: calls("plain", `{}`)}},
	{"the spelling of the API", `{"tool_calls":[{"id":"1","type":"function","function":{"name":"plain","arguments":"{}"}}]}`,
		written.Reply{Calls: calls("plain", `{}`)}},
	{"a list in JSON", `[{"name":"plain","arguments":{}},{"name":"plain","arguments":{"q":"y"}}]`,
		written.Reply{Calls: calls("plain", `{}`, "plain", `{"q":"y"}`)}},
	{"Kimi K2", "I look.\n<|tool_calls_section_begin|>" +
		`<|tool_call_begin|>functions.loki__query:0<|tool_call_argument_begin|>{"q": "x"}<|tool_call_end|>` +
		`<|tool_calls_section_end|>`, written.Reply{Text: "I look.", Calls: calls("loki__query", `{"q": "x"}`)}},
	{"DeepSeek V3", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>plain\n```json\n{\"q\": \"x\"}\n```<｜tool▁call▁end｜>\n" +
		"<｜tool▁call▁begin｜>function<｜tool▁sep｜>plain\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
		written.Reply{Calls: calls("plain", `{"q": "x"}`, "plain", `{}`)}},
	{"DeepSeek V3.1", `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>plain<｜tool▁sep｜>{"q": "x"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
		written.Reply{Calls: calls("plain", `{"q": "x"}`)}},
	{"DeepSeek V3.2", "<｜DSML｜function_calls>\n" +
		"<｜DSML｜invoke name=\"plain\">\n<｜DSML｜parameter name=\"q\" string=\"true\">x</｜DSML｜parameter>\n" +
		"</｜DSML｜invoke>\n</｜DSML｜function_calls>", written.Reply{Calls: calls("plain", `{"q":"x"}`)}},
	{"GLM", "<tool_call>plain\n<arg_key>q</arg_key>\n<arg_value>x</arg_value>\n<arg_key>n</arg_key>\n<arg_value>7</arg_value>\n</tool_call>",
		written.Reply{Calls: calls("plain", `{"n":7,"q":"x"}`)}},
	{"MiniMax", "<minimax:tool_call>\n<invoke name=\"plain\">\n<parameter name=\"q\">x</parameter>\n</invoke>\n</minimax:tool_call>",
		written.Reply{Calls: calls("plain", `{"q":"x"}`)}},
	{"Claude", "I look.\n<function_calls>\n<invoke name=\"plain\">\n<parameter name=\"q\">a < b</parameter>\n</invoke>\n</function_calls>",
		written.Reply{Text: "I look.", Calls: calls("plain", `{"q":"a < b"}`)}},
	{"gpt-oss", `<|channel|>analysis<|message|>I need a look.<|end|>` +
		`<|start|>assistant<|channel|>commentary to=functions.plain <|constrain|>json` +
		`<|message|>{"q":"x"}<|call|>`, written.Reply{Thinking: "I need a look.", Calls: calls("plain", `{"q":"x"}`)}},
	{"gpt-oss, the other order", `<|start|>assistant to=functions.plain<|channel|>commentary json<|message|>{"q":"x"}<|call|>`,
		written.Reply{Calls: calls("plain", `{"q":"x"}`)}},
	{"Granite", `<|tool_call|>[{"name": "plain", "arguments": {"q": "x"}}]`, written.Reply{Calls: calls("plain", `{"q": "x"}`)}},
	{"Phi", `functools[{"name": "plain", "arguments": {"q": "x"}}]`, written.Reply{Calls: calls("plain", `{"q": "x"}`)}},
	{"Command R", `<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "plain", "parameters": {"q": "x"}}]<|END_ACTION|>`,
		written.Reply{Calls: calls("plain", `{"q": "x"}`)}},
	{"InternLM", `<|action_start|><|plugin|>{"name": "plain", "parameters": {"q": "x"}}<|action_end|>`,
		written.Reply{Calls: calls("plain", `{"q": "x"}`)}},
	{"ReAct", "I should look.\nAction: plain\nAction Input: {\"q\": \"x\"}\nObservation:",
		written.Reply{Text: "I should look.", Calls: calls("plain", `{"q": "x"}`)}},
	{"thoughts, then a call", "<think>\nhm\n</think>\n\n<tool_call>{\"name\":\"plain\",\"arguments\":{}}</tool_call>",
		written.Reply{Thinking: "hm", Calls: calls("plain", `{}`)}},
	// Thoughts
	{"thoughts", "<think>\nhm,\n\nso\n</think>\n\nIt is the disk.", written.Reply{Thinking: "hm,\n\nso", Text: "It is the disk."}},
	{"no thoughts", "<think>\n\n</think>\n\nIt is the disk.", written.Reply{Text: "It is the disk."}},
	{"another tag", "<thinking>hm</thinking>It is the disk.", written.Reply{Thinking: "hm", Text: "It is the disk."}},
	{"reasoning", "\n<reasoning>hm</reasoning>\nIt is the disk.", written.Reply{Thinking: "hm", Text: "It is the disk."}},
	{"Magistral", "[THINK]hm[/THINK]It is the disk.", written.Reply{Thinking: "hm", Text: "It is the disk."}},
	{"Kimi", "◁think▷hm◁/think▷It is the disk.", written.Reply{Thinking: "hm", Text: "It is the disk."}},
	{"Command A", "<|START_THINKING|>hm<|END_THINKING|>It is the disk.", written.Reply{Thinking: "hm", Text: "It is the disk."}},
	{"gpt-oss, an answer", "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>It is the disk.<|return|>",
		written.Reply{Thinking: "hm", Text: "It is the disk."}},
	{"thoughts that were cut", "<think>hm, so", written.Reply{Thinking: "hm, so"}},
	{"thoughts twice", "<think>hm</think>\n<think>so</think>\nIt is the disk.", written.Reply{Thinking: "hm\n\nso", Text: "It is the disk."}},
	{"only thoughts", "<think>hm</think>", written.Reply{Thinking: "hm"}},
	// Text that must stay text
	{"text", "It is the disk: `df` says 100 %.\n", written.Reply{Text: "It is the disk: `df` says 100 %.\n"}},
	{"a tag in prose", "The server leaves <tool_call> tags in the text.",
		written.Reply{Text: "The server leaves <tool_call> tags in the text."}},
	{"a tag between backticks", "The reply ends with `<tool_call>{\"name\":\"plain\",\"arguments\":{}}</tool_call>`",
		written.Reply{Text: "The reply ends with `<tool_call>{\"name\":\"plain\",\"arguments\":{}}</tool_call>`"}},
	{"a tag in the midst of a sentence", `It wrote <tool_call>{"name":"plain","arguments":{}}</tool_call>`,
		written.Reply{Text: `It wrote <tool_call>{"name":"plain","arguments":{}}</tool_call>`}},
	{"a call in a fenced block after a text", "The log has:\n```\n<tool_call>{\"name\":\"plain\",\"arguments\":{}}</tool_call>\n```",
		written.Reply{Text: "The log has:\n```\n<tool_call>{\"name\":\"plain\",\"arguments\":{}}</tool_call>\n```"}},
	{"JSON in a fenced block after a text", "Call it so:\n```json\n{\"name\":\"plain\",\"arguments\":{}}\n```",
		written.Reply{Text: "Call it so:\n```json\n{\"name\":\"plain\",\"arguments\":{}}\n```"}},
	{"an example", "A call looks like this:\n<tool_call>{\"name\":\"plain\",\"arguments\":{}}</tool_call>",
		written.Reply{Text: "A call looks like this:\n<tool_call>{\"name\":\"plain\",\"arguments\":{}}</tool_call>"}},
	{"a call, then a text", "<tool_call>{\"name\":\"plain\",\"arguments\":{}}</tool_call>\nis what the model wrote.",
		written.Reply{Text: "<tool_call>{\"name\":\"plain\",\"arguments\":{}}</tool_call>\nis what the model wrote."}},
	{"a tool that is not offered", `<tool_call>{"name":"other","arguments":{}}</tool_call>`,
		written.Reply{Text: `<tool_call>{"name":"other","arguments":{}}</tool_call>`}},
	{"two names, of which one is offered", `<tool_call>{"name":"loki__query","tool":"loki","arguments":{}}</tool_call>`,
		written.Reply{Calls: calls("loki__query", `{}`)}},
	{"one tool by two names", `<tool_call>{"action":"loki.query","tool_name":"loki__query","args":{}}</tool_call>`,
		written.Reply{Calls: calls("loki__query", `{}`)}},
	{"the names of two tools", `<tool_call>{"name":"plain","action":"loki__query","arguments":{}}</tool_call>`, written.Reply{
		Text: `<tool_call>{"name":"plain","action":"loki__query","arguments":{}}</tool_call>`}},
	{"the names of two tools, one of them within", `<tool_call>{"name":"plain","function":{"name":"loki__query","arguments":{}}}</tool_call>`,
		written.Reply{Text: `<tool_call>{"name":"plain","function":{"name":"loki__query","arguments":{}}}</tool_call>`}},
	{"the first name is not offered", `<tool_call>{"action":"plain","name":"other","arguments":{}}</tool_call>`, written.Reply{
		Text: `<tool_call>{"action":"plain","name":"other","arguments":{}}</tool_call>`}},
	{"one of two tools is not offered", `[{"name":"plain","arguments":{}},{"name":"other","arguments":{}}]`,
		written.Reply{Text: `[{"name":"plain","arguments":{}},{"name":"other","arguments":{}}]`}},
	{"arguments that are not JSON", `<tool_call>{"name":"plain","arguments":{q:x}}</tool_call>`,
		written.Reply{Text: `<tool_call>{"name":"plain","arguments":{q:x}}</tool_call>`}},
	{"arguments that are no object", `<tool_call>{"name":"plain","arguments":[1]}</tool_call>`,
		written.Reply{Text: `<tool_call>{"name":"plain","arguments":[1]}</tool_call>`}},
	{"JSON with other fields", `{"name":"plain","arguments":{},"severity":"high"}`,
		written.Reply{Text: `{"name":"plain","arguments":{},"severity":"high"}`}},
	{"an action and its input", `{"action":"plain","input":{"q":"x"}}`, written.Reply{Text: `{"action":"plain","input":{"q":"x"}}`}},
	{"a tool and its args", "```json\n{\"tool\":\"plain\",\"args\":{}}\n```",
		written.Reply{Text: "```json\n{\"tool\":\"plain\",\"args\":{}}\n```"}},
	{"JSON of another type", `{"type":"fix","name":"plain","arguments":{}}`,
		written.Reply{Text: `{"type":"fix","name":"plain","arguments":{}}`}},
	{"JSON with the name of a tool without its server", `{"name":"query","arguments":{}}`,
		written.Reply{Text: `{"name":"query","arguments":{}}`}},
	{"JSON after a text", "I look.\n{\"name\":\"plain\",\"arguments\":{}}",
		written.Reply{Text: "I look.\n{\"name\":\"plain\",\"arguments\":{}}"}},
	{"a call after a sentence on the same line", `I look. <tool_call>{"name":"plain","arguments":{}}</tool_call>`,
		written.Reply{Text: `I look. <tool_call>{"name":"plain","arguments":{}}</tool_call>`}},
	{"a call and an answer that the model made up", "Action: plain\nAction Input: {}\nObservation: all is well",
		written.Reply{Text: "Action: plain\nAction Input: {}\nObservation: all is well"}},
	{"JSON with a name alone", `{"name":"plain"}`, written.Reply{Text: `{"name":"plain"}`}},
	{"a list of numbers", `[1, 2, 3]`, written.Reply{Text: `[1, 2, 3]`}},
	{"an action without its input", "Action: plain", written.Reply{Text: "Action: plain"}},
	{"a heading", "Action: restart the pod\nAction Input: none", written.Reply{Text: "Action: restart the pod\nAction Input: none"}},
	{"the end of thoughts in prose", "The template writes </think> before the answer.",
		written.Reply{Text: "The template writes </think> before the answer."}},
	{"the end of thoughts in code", "The template ends with:\n```\n</think>\n```\nand so on.",
		written.Reply{Text: "The template ends with:\n```\n</think>\n```\nand so on."}},
	{"thoughts in the midst of a line", "Use <think>hm</think> for it.", written.Reply{Text: "Use <think>hm</think> for it."}},
	{"thoughts in code", "So:\n```\n<think>\nhm\n</think>\n```\n", written.Reply{Text: "So:\n```\n<think>\nhm\n</think>\n```\n"}},
	{"less-than signs", "a < b, <b>c</b>, <|x|>, [TOOL", written.Reply{Text: "a < b, <b>c</b>, <|x|>, [TOOL"}},
}

func TestRead(t *testing.T) {
	t.Parallel()
	for _, tt := range texts {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, offer.Read(tt.text), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("reply (-want +got):\n%s", diff)
			}
		})
	}
}

// TestReadLater covers texts that only their end identifies, so that a part was already shown.
func TestReadLater(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       written.Reply
	}{
		{"the beginning of thoughts is missing", "hm, so\n</think>\n\nIt is the disk.",
			written.Reply{Thinking: "hm, so", Text: "It is the disk."}},
		{"an end of thoughts alone", "</think>\n\nIt is the disk.", written.Reply{Text: "It is the disk."}},
		{"thoughts between paragraphs", "Sure.\n\n<think>\nhm\n</think>\n\nIt is the disk.",
			written.Reply{Thinking: "hm", Text: "Sure.\n\nIt is the disk."}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, offer.Read(tt.text), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestReadWithoutTools checks that there are no calls without offered tools, and no bare JSON calls if the request asks
// for JSON.
func TestReadWithoutTools(t *testing.T) {
	t.Parallel()
	const text = `<tool_call>{"name":"plain","arguments":{}}</tool_call>`
	if got := (written.Offer{}).Read(text); got.Text != text || len(got.Calls) > 0 {
		t.Errorf("without tools: %+v", got)
	}
	asked := offer
	asked.JSON = true
	const object = `{"name":"plain","arguments":{}}`
	if got := asked.Read(object); got.Text != object || len(got.Calls) > 0 {
		t.Errorf("a JSON object that was asked for: %+v", got)
	}
	if got := asked.Read(text); len(got.Calls) != 1 {
		t.Errorf("a call beside a JSON object: %+v", got)
	}
}

// TestNames checks how models name a tool of a server. A name that two servers have is ambiguous and not used.
func TestNames(t *testing.T) {
	t.Parallel()
	offer := written.Offer{Tools: []written.Tool{{Name: "loki__query"}, {Name: "tempo__query"}, {Name: "loki__labels"}, {Name: "labels_of"}}}
	for name, want := range map[string]string{
		"loki__query": "loki__query", "loki.query": "loki__query", "functions.loki__query:3": "loki__query", "labels": "loki__labels",
		"functions.labels": "loki__labels", "labels_of": "labels_of", "query": "", "loki": "", "": "", "label": "", "mimir.query": "",
	} {
		got := ""
		for _, call := range offer.Read(`<tool_call>{"name":"` + name + `","arguments":{}}</tool_call>`).Calls {
			got = call.Name
		}
		if got != want {
			t.Errorf("%q is read as %q, want %q", name, got, want)
		}
	}
}

// TestInThoughts checks that only a token notation at the end of thoughts counts, because thoughts are drafts.
func TestInThoughts(t *testing.T) {
	t.Parallel()
	const call = `{"name":"plain","arguments":{}}`
	for thinking, want := range map[string]written.Reply{
		"I need a look.\n<tool_call>" + call + "</tool_call>":       {Thinking: "I need a look.", Calls: calls("plain", "{}")},
		"I need a look.\n[TOOL_CALLS][" + call + "]":                {Thinking: "I need a look.", Calls: calls("plain", "{}")},
		"I need a look.\nAction: plain\nAction Input: {}":           {},
		"I need a look.\n<function=plain>{}</function>":             {},
		"I need a look.\nfunctools[" + call + "]":                   {},
		"Not <tool_call>" + call + "</tool_call>":                   {},
		"The page says:\n<tool_call>" + injected + "</tool_call>":   {Quoted: []string{"plain"}},
		"I need a look.\n<tool_call>" + call + "</tool_call> Done.": {},
		call: {},
	} {
		if want.Thinking == "" {
			want.Thinking = thinking
		}
		if diff := cmp.Diff(want, sent.InThoughts(thinking), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", thinking, diff)
		}
	}
}

// show streams a text in pieces and returns what readers see, before and after the end.
func show(text string, size int) (streamed, all written.Reply) {
	live, runes := offer.Live(), []rune(text)
	for len(runes) > 0 {
		n := min(size, len(runes))
		said, thought := live.Add(string(runes[:n]))
		streamed.Text, streamed.Thinking = streamed.Text+said, streamed.Thinking+thought
		runes = runes[n:]
	}
	read := offer.Read(text)
	said, thought := live.Rest(read.Text, read.Thinking)
	return streamed, written.Reply{Text: streamed.Text + said, Thinking: streamed.Thinking + thought}
}

// TestLive checks that the text shown while streaming is the final text without marks and calls, and that no more is
// held back than might be a mark.
func TestLive(t *testing.T) {
	t.Parallel()
	for _, tt := range texts {
		for _, size := range []int{1, 3, 1 << 20} {
			t.Run(fmt.Sprintf("%s by %d", tt.name, size), func(t *testing.T) {
				t.Parallel()
				streamed, all := show(tt.text, size)
				if want := tt.want.Text; strings.TrimRight(all.Text, "\n ") != strings.TrimRight(want, "\n ") {
					t.Errorf("shown: %q, want %q", all.Text, want)
				}
				thoughts := strings.Join(strings.Fields(tt.want.Thinking), "")
				if strings.Join(strings.Fields(all.Thinking), "") != thoughts {
					t.Errorf("thoughts shown: %q, want %q", all.Thinking, tt.want.Thinking)
				}
				if held := utf8.RuneCountInString(all.Text) - utf8.RuneCountInString(streamed.Text); held > 80 && len(tt.want.Calls) > 0 {
					t.Errorf("%d characters were held back", held)
				}
			})
		}
	}
}

// TestLiveIsNotLate checks that prose about marks is shown at once.
func TestLiveIsNotLate(t *testing.T) {
	t.Parallel()
	const text = "The server leaves\n<tool_call> tags in the text, and [TOOL_CALLS] too. <think> it keeps."
	streamed, _ := show(text, 1)
	if streamed.Text != text {
		t.Errorf("shown: %q", streamed.Text)
	}
}

// TestReadLosesNothing checks that a random mix of marks and words is read without a crash or lost words, and that what
// is shown while streaming does not depend on the pieces.
func TestReadLosesNothing(t *testing.T) {
	t.Parallel()
	tokens := []string{
		"word ", "\n", "`", "```\n", "<", ">", "{", "}", "[", "]", `"`, ":", ";", "Action: plain\nAction Input: {}", "plain",
		"<function=plain>", "</function>",
		`{"name":"plain","arguments":{}}`, "<tool_call>", "</tool_call>", "[TOOL_CALLS]", "[ARGS]", "<think>", "</think>",
		"<|channel|>", "<|message|>",
		"<|start|>assistant", "final", "analysis", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>",
		"<arg_key>a</arg_key><arg_value>b</arg_value>", "plain(a=1)", "é",
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(tokens), 0, 12).Draw(t, "text"), "")
		got := offer.Read(text)
		for _, call := range got.Calls {
			if call.Name != "plain" || !json.Valid([]byte(call.Arguments)) {
				t.Fatalf("%q: call %+v", text, call)
			}
		}
		if len(got.Calls) == 0 {
			words := strings.Count(text, "word")
			if n := strings.Count(got.Text, "word") + strings.Count(got.Thinking, "word"); n != words {
				t.Fatalf("%q: %d of %d words are left in %+v", text, n, words, got)
			}
		}
		_, whole := show(text, 1<<20)
		_, pieces := show(text, 1)
		if strings.Join(strings.Fields(whole.Text), "") != strings.Join(strings.Fields(pieces.Text), "") {
			t.Fatalf("%q is shown as %q in pieces, %q as a whole", text, pieces.Text, whole.Text)
		}
	})
}
