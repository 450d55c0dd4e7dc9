package llmtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// replyCase is a reply and the client's expected response.
type replyCase struct {
	name  string
	reply Reply
	want  llm.Response
}

// replyCases returns the cases for all wire formats and those for w.
func replyCases(w Wire) []replyCase {
	cases := slices.Concat(textCases(), endCases(), repeatCases())
	if w == GeminiArray {
		return slices.Concat(cases, arrayCases())
	}
	cases = slices.Concat(cases, keptAliveCases())
	switch w {
	case Gemini:
		return slices.Concat(cases, thinkingCases(), callCases(), geminiCases())
	case Responses:
		return slices.Concat(cases, thinkingCases(), callCases(), responsesCases())
	case Anthropic:
		return slices.Concat(cases, thinkingCases(), callCases(), anthropicCases())
	}
	return slices.Concat(cases, thinkingCases(), callCases(), openAICases(), openAICallCases())
}

func textCases() []replyCase {
	return []replyCase{
		{"text and usage", Text("It is the disk.").Usage(12, 5).Chunked(3, 0), llm.Response{
			Content: "It is the disk.", Finish: llm.FinishStop, Model: "m", Usage: agent.Usage{InputTokens: 12, OutputTokens: 5}}},
		{"no usage", Text("Yes.").Usage(0, 0), llm.Response{Content: "Yes.", Finish: llm.FinishStop, Model: "m"}},
		{"the model that answers", Text("Yes.").Model("m-2026-01").Usage(0, 0),
			llm.Response{Content: "Yes.", Finish: llm.FinishStop, Model: "m-2026-01"}},
		{"nothing", Text("").Usage(0, 0), llm.Response{Finish: llm.FinishStop, Model: "m"}},
	}
}

// keptAliveCases are replies with the data by which gateways keep a connection open.
func keptAliveCases() (out []replyCase) {
	for _, data := range []string{": keepalive", "keepalive", `"ping"`, "null", "[ping]", ": OPENROUTER PROCESSING"} {
		for n := range 3 {
			out = append(out, replyCase{fmt.Sprintf("%s after %d chunks", data, n), Text("Yes.").Usage(0, 0).Chunked(2, 0).Insert(n, data),
				llm.Response{Content: "Yes.", Finish: llm.FinishStop, Model: "m"}})
		}
	}
	return out
}

// thinkingCases are for clients that pass on thinking.
func thinkingCases() []replyCase {
	return []replyCase{
		{"thinking", Text("Yes.").Thinking("hm, so").Usage(0, 0).Chunked(2, 0),
			llm.Response{Thinking: "hm, so", Content: "Yes.", Finish: llm.FinishStop, Model: "m"}},
		{"thinking that repeats", Text("never said").Thinking(strings.Repeat(repeated, 9)).Chunked(3, 0).Usage(0, 0),
			llm.Response{Thinking: repeated, Finish: llm.FinishRepeating, Model: "m"}},
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
		{"cut after the finish", story.Cut(2), ended(llm.FinishStop)},
		{"silent after the finish", story.Stall(2), ended(llm.FinishStop)},
		{"an error after the finish", story.ErrorAfter(2, "server_error", "overloaded"), ended(llm.FinishStop)},
		{"malformed data after the finish", story.Malformed(2), ended(llm.FinishStop)},
	}
}

// twoCalls are parallel calls. callCases and openAICallCases send them in all the ways in which servers do.
func twoCalls() []agent.ToolCall {
	return []agent.ToolCall{
		{ID: "a", Name: "shell", Arguments: `{"command":"ls"}`},
		{ID: "b", Name: "loki__query", Arguments: `{"q":1}`},
	}
}

func callCases() []replyCase {
	called := llm.Response{ToolCalls: twoCalls(), Finish: llm.FinishToolCalls, Model: "m"}
	said := called
	said.Content, said.Thinking = "Let me see.", "hm"
	return []replyCase{
		{"parallel calls", wireCalls(twoCalls()).Thinking("hm").Text("Let me see.").Usage(0, 0).Chunked(2, 0), said},
		{"stop beside calls", wireCalls(twoCalls()).Finish("stop").Usage(0, 0), called},
	}
}

// repeated is a typical text of a stuck model.
const repeated = "and then the pod restarts again, "

func repeatCases() []replyCase {
	return []replyCase{
		{"repeating", Repeat("I see:\n", repeated).Usage(0, 0),
			llm.Response{Content: "I see:\n" + repeated, Finish: llm.FinishRepeating, Model: "m"}},
	}
}

func wireCalls(calls []agent.ToolCall) Reply {
	var out Reply
	for _, c := range calls {
		out = out.Calls(Call{ID: c.ID, Name: c.Name, Args: c.Arguments})
	}
	return out
}
