package llmtest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// replyCase is a reply and what a client makes of it.
type replyCase struct {
	name  string
	reply Reply
	want  llm.Response
}

func replyCases() []replyCase {
	return slices.Concat(textCases(), endCases(), callCases(), repeatCases())
}

func textCases() []replyCase {
	return []replyCase{
		{"text and usage", Text("It is the disk.").Usage(12, 5).Chunked(3, 0), llm.Response{
			Content: "It is the disk.", Finish: llm.FinishStop, Model: "m", Usage: agent.Usage{InputTokens: 12, OutputTokens: 5}}},
		{"no usage", Text("Yes.").Usage(0, 0), llm.Response{Content: "Yes.", Finish: llm.FinishStop, Model: "m"}},
		{"the model that answers", Text("Yes.").Model("m-2026-01").Usage(0, 0),
			llm.Response{Content: "Yes.", Finish: llm.FinishStop, Model: "m-2026-01"}},
		{"nothing", Text("").Usage(0, 0), llm.Response{Finish: llm.FinishStop, Model: "m"}},
		{"thinking", Text("Yes.").Thinking("hm, so").Usage(0, 0).Chunked(2, 0),
			llm.Response{Thinking: "hm, so", Content: "Yes.", Finish: llm.FinishStop, Model: "m"}},
		{"reasoning", Raw(`{"model":"m","choices":[{"delta":{"reasoning":"hm","content":null}}]}`, end),
			llm.Response{Thinking: "hm", Finish: llm.FinishStop, Model: "m"}},
		{"reasoning, twice the same", Raw(`{"model":"m","choices":[{"delta":{"reasoning":"hm","reasoning_content":"hm"}}]}`, end),
			llm.Response{Thinking: "hm", Finish: llm.FinishStop, Model: "m"}},
		{"no stream at all", Status(http.StatusOK, `{"object":"chat.completion","model":"m","choices":[{"message":{"content":"Yes."},`+
			"\n"+`"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`), llm.Response{
			Content: "Yes.", Finish: llm.FinishStop, Model: "m", Usage: agent.Usage{InputTokens: 3, OutputTokens: 2}}},
	}
}

// endCases are replies with an unusual end.
func endCases() []replyCase {
	story := Text("It is").Usage(0, 0)
	ended := func(finish llm.Finish) llm.Response {
		return llm.Response{Content: "It is", Finish: finish, Model: "m"}
	}
	return []replyCase{
		{"length", story.Finish("length"), ended(llm.FinishLength)},
		{"filtered after some text", story.Finish("content_filter"), ended(llm.FinishFiltered)},
		{"a reason of the provider's own", story.Finish("tired"), ended("tired")},
		{"an empty finish after the finish", story.Insert(2, `{"choices":[{"delta":{},"finish_reason":""}]}`), ended(llm.FinishStop)},
		{"cut after the finish", story.Cut(2), ended(llm.FinishStop)},
		{"silent after the finish", story.Stall(2), ended(llm.FinishStop)},
	}
}

// callCases are two parallel calls, in all the ways in which servers send them.
func callCases() []replyCase {
	calls := []agent.ToolCall{
		{ID: "a", Name: "shell", Arguments: `{"command":"ls"}`},
		{ID: "b", Name: "loki__query", Arguments: `{"q":1}`},
	}
	called := llm.Response{ToolCalls: calls, Finish: llm.FinishToolCalls, Model: "m"}
	said := called
	said.Content, said.Thinking = "Let me see.", "hm"
	return []replyCase{
		{"parallel calls", wireCalls(calls).Thinking("hm").Text("Let me see.").Usage(0, 0).Chunked(2, 0), said},
		{"stop beside calls", wireCalls(calls).Finish("stop").Usage(0, 0), called},
		{"no index", Raw(delta(`{"id":"a","function":{"name":"shell","arguments":"{\"command\""}}`),
			delta(`{"function":{"arguments":":\"ls\"}"}}`),
			delta(`{"id":"b","function":{"name":"loki__query","arguments":"{\"q\":1}"}}`), end), called},
		{"no index, one chunk", Raw(delta(`{"id":"a","function":{"name":"shell","arguments":"{\"command\":\"ls\"}"}},`+
			`{"id":"b","function":{"name":"loki__query","arguments":"{\"q\":1}"}}`), end), called},
		{"no index and a name of its own", Raw(delta(`{"id":"a"}`), delta(`{"function":{"name":"shell","arguments":"{\"command\":\"ls\"}"}}`),
			delta(`{"id":"b"}`), delta(`{"function":{"name":"loki__query"}}`), delta(`{"function":{"arguments":"{\"q\":1}"}}`), end), called},
		{"neither index nor id", Raw(delta(`{"function":{"name":"shell","arguments":"1"}},{"function":{"name":"shell","arguments":"2"}}`), end), llm.Response{
			ToolCalls: []agent.ToolCall{{Name: "shell", Arguments: "1"}, {Name: "shell", Arguments: "2"}}, Finish: llm.FinishToolCalls, Model: "m"}},
		{"fragments, mixed", Raw(delta(`{"index":0,"id":"a","function":{"name":"shell","arguments":""}}`),
			delta(`{"index":1,"id":"b","function":{"name":"loki__query","arguments":"{\"q\""}},{"index":0,"function":{"arguments":"{\"command\""}}`),
			delta(`{"index":0,"function":{"arguments":":\"ls\"}"}},{"index":1,"function":{"arguments":":1}"}}`), end), called},
		{"every call at index 0", Raw(delta(`{"index":0,"id":"a","function":{"name":"shell","arguments":"{\"command\":\"ls\"}"}}`),
			delta(`{"index":0,"id":"b","function":{"name":"loki__query","arguments":"{\"q\":1}"}}`), end), called},
		{"a new id with every fragment", Raw(delta(`{"index":0,"id":"a","function":{"name":"shell","arguments":"{\"command\""}}`),
			delta(`{"index":0,"id":"z","function":{"arguments":":\"ls\"}"}},{}`), end),
			llm.Response{ToolCalls: calls[:1], Finish: llm.FinishToolCalls, Model: "m"}},
	}
}

func repeatCases() []replyCase {
	const unit = "and then the pod restarts again, "
	stuck := strings.Repeat(unit, 9)
	return []replyCase{
		{"repeating", Repeat("I see:\n", unit), llm.Response{Content: "I see:\n" + unit, Finish: llm.FinishRepeating, Model: "m"}},
		{"thinking that repeats", Text("never said").Thinking(stuck).Chunked(3, 0),
			llm.Response{Thinking: unit, Finish: llm.FinishRepeating, Model: "m"}},
		{"repeating beside a call", Raw(delta(`{"id":"a","function":{"name":"shell"}}`),
			`{"model":"m","choices":[{"delta":{"content":"`+stuck+`"}}]}`, end),
			llm.Response{Content: unit, Finish: llm.FinishRepeating, Model: "m"}},
	}
}

// end is the last chunk of a hand-written stream.
const end = `{"model":"m","choices":[{"delta":{},"finish_reason":"stop"}]}`

func delta(calls string) string {
	return `{"model":"m","choices":[{"delta":{"tool_calls":[` + calls + `]}}]}`
}

func wireCalls(calls []agent.ToolCall) Reply {
	var out Reply
	for _, c := range calls {
		out = out.Calls(Call{ID: c.ID, Name: c.Name, Args: c.Arguments})
	}
	return out
}
