package activities_test

import (
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/prompt"
)

// Text that is only a tool call, or only thoughts, is not a report, and the model is told which.
func TestTextThatIsNoReport(t *testing.T) {
	t.Parallel()
	const call = `{"name": "lab__read", "arguments": {"n": 1}}`
	for name, tt := range map[string]struct {
		text  string
		nudge string // "" means the text is a report
	}{
		"a report":                         {text: "The disk is full."},
		"a report about a call":            {text: "I would call `lab.read(n=1)` next.\n\nThe disk is full."},
		"a report after thoughts":          {text: "<think>hm</think>\nThe disk is full."},
		"a report after a call":            {text: "<tool_call>" + call + "</tool_call>\nThe disk is full."},
		"JSON":                             {text: `{"name": "db-1", "arguments": {"disk": "full"}}`},
		"JSON with a tool's name":          {text: `{"name": "lab.read", "status": "broken"}`},
		"a code block":                     {text: "```sh\ndf -h\n```"},
		"Hermes":                           {"<tool_call>\n" + call + "\n</tool_call>", prompt.NudgeCall},
		"Hermes, two":                      {"<tool_call>" + call + "</tool_call>\n<tool_call>" + call + "</tool_call>", prompt.NudgeCall},
		"Hermes, cut":                      {"<tool_call>\n{\"name\": \"lab__read\",", prompt.NudgeCall},
		"Hermes after thoughts":            {"<think>I need data</think>\n<tool_call>" + call + "</tool_call>", prompt.NudgeCall},
		"Llama":                            {"<|python_tag|>" + call, prompt.NudgeCall},
		"Llama, function":                  {`<function=lab__read>{"n": 1}</function>`, prompt.NudgeCall},
		"Mistral":                          {"[TOOL_CALLS][" + call + "]", prompt.NudgeCall},
		"DeepSeek":                         {"<｜tool▁calls▁begin｜>…", prompt.NudgeCall},
		"Claude":                           {"<function_calls><invoke name=\"lab__read\"></invoke></function_calls>", prompt.NudgeCall},
		"JSON that is a call":              {call, prompt.NudgeCall},
		"JSON, fenced":                     {"```json\n" + call + "\n```", prompt.NudgeCall},
		"JSON, several":                    {"[" + call + ", " + call + "]", prompt.NudgeCall},
		"JSON, other keys, the tool's own": {`{"tool": "read", "parameters": {"n": 1}}`, prompt.NudgeCall},
		"JSON, two names":                  {`{"action": "inspect", "name": "read", "arguments": {"n": 1}}`, prompt.NudgeCall},
		"an expression":                    {"lab.read(n=1)", prompt.NudgeCall},
		"only thoughts":                    {"<think>The disk may be full.</think>", prompt.NudgeThoughts},
		"thoughts, cut":                    {"<thinking>The disk may be", prompt.NudgeThoughts},
		"nothing":                          {" \n", prompt.Nudge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.reply = func(llm.Request) (llm.Response, error) {
				return llm.Response{Content: tt.text, Finish: llm.FinishStop}, nil
			}
			out, err := b.generate(activities.GenerateIn{Iteration: 1})
			if err != nil || out.Empty != (tt.nudge != "") {
				t.Fatalf("%+v, %v", out, err)
			}
			if !out.Empty {
				return
			}
			nudge := activities.GenerateIn{Iteration: 2, Inputs: []activities.Input{{Kind: activities.InputNudge}}}
			if _, err := b.generate(nudge); err != nil {
				t.Fatal(err)
			}
			sent := b.requests[len(b.requests)-1].Messages
			if last := sent[len(sent)-1]; last.Role != agent.User || last.Content != tt.nudge {
				t.Errorf("the model is told %q, want %q", last.Content, tt.nudge)
			}
		})
	}
}

// An earlier text replaces an empty closing reply, and the report says so.
func TestEarlierTextStands(t *testing.T) {
	t.Parallel()
	asks := agent.ToolCall{ID: "x", Name: "lab__read", Arguments: `{"n":1}`}
	empty := llm.Response{Finish: llm.FinishStop}
	beside := llm.Response{Content: "The disk is full.", ToolCalls: []agent.ToolCall{asks}, Finish: llm.FinishToolCalls}
	for name, tt := range map[string]struct {
		replies []llm.Response
		want    string
	}{
		"beside the last call":       {[]llm.Response{beside, empty}, "The disk is full."},
		"beside it, before thoughts": {[]llm.Response{beside, {Thinking: "done", Finish: llm.FinishStop}}, "The disk is full."},
		"as reasoning":               {[]llm.Response{{Thinking: "The disk is full.", Finish: llm.FinishStop}, empty}, "The disk is full."},
		"as reasoning, not what was said long before": {[]llm.Response{
			{Content: "I look.", ToolCalls: []agent.ToolCall{asks}, Finish: llm.FinishToolCalls},
			{ToolCalls: []agent.ToolCall{asks}, Finish: llm.FinishToolCalls},
			{Thinking: "The disk is full.", Finish: llm.FinishStop}}, "The disk is full."},
		"nowhere": {[]llm.Response{empty, empty}, ""},
		"a call written as text is not it": {[]llm.Response{beside,
			{Content: "<tool_call>{}</tool_call>", Finish: llm.FinishStop}}, "The disk is full."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			var out activities.GenerateOut
			for n, reply := range tt.replies {
				b.reply = func(llm.Request) (llm.Response, error) { return reply, nil }
				var err error
				if out, err = b.generate(activities.GenerateIn{Iteration: n + 1}); err != nil {
					t.Fatal(err)
				}
			}
			if !out.Empty || out.Earlier != tt.want {
				t.Errorf("%+v", out)
			}
			value, err := b.env.ExecuteActivity(b.act.Finish, activities.FinishIn{
				Investigation: "inv", Status: agent.StatusCompleted, Results: []activities.Source{{Stage: "s", Execution: "s/A"}},
			})
			var finished activities.FinishOut
			if err == nil {
				err = value.Get(&finished)
			}
			report, marked := strings.CutPrefix(finished.Report, "**This report is incomplete: "+activities.EarlierStands+".**\n\n")
			if err != nil || report != tt.want || marked != (tt.want != "") {
				t.Errorf("report %q, %v", finished.Report, err)
			}
		})
	}
}

// A call at the forced conclusion is not made. Its result and the next prompt say why.
func TestCallAtTheConclusion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.reply = asking(agent.ToolCall{ID: "x", Name: "lab__read", Arguments: `{"n":1}`})
	out, err := b.generate(activities.GenerateIn{Iteration: 1, Conclude: true})
	if err != nil || !out.Empty || len(out.Calls) > 0 || out.NoReport != "a request for tools that were no longer available" {
		t.Fatalf("%+v, %v", out, err)
	}
	b.reply = asking()
	in := activities.GenerateIn{Iteration: 2, Conclude: true, Inputs: []activities.Input{{Kind: activities.InputNudge}}}
	if _, err := b.generate(in); err != nil {
		t.Fatal(err)
	}
	sent := b.requests[len(b.requests)-1].Messages
	result, nudge := sent[len(sent)-2], sent[len(sent)-1]
	if result.Role != agent.ToolRole || result.Content != "This call was not run: tools are no longer available." ||
		nudge.Content != prompt.NudgeNoTools || len(b.calls) > 0 {
		t.Errorf("the model is told %+v, %+v; %d calls", result, nudge, len(b.calls))
	}
}

// A reply that reached its limit within its thoughts is requested a second time, whether the thoughts are shown or not.
func TestOnlyThoughtsAtTheLimit(t *testing.T) {
	t.Parallel()
	for name, thoughts := range map[string]llm.Response{
		"not shown": {}, "shown": {Thinking: "The disk may be"}, "in the text": {Content: "<think>The disk may be"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			thoughts.Finish, thoughts.Usage = llm.FinishLength, agent.Usage{InputTokens: 9, OutputTokens: 64}
			b.reply = func(llm.Request) (llm.Response, error) { return thoughts, nil }
			out, err := b.generate(activities.GenerateIn{Iteration: 1})
			const why = "only thinking, which took its whole limit of 64 tokens,"
			if err != nil || !out.Empty || out.Partial != "" || out.NoReport != why {
				t.Fatalf("%+v, %v", out, err)
			}
			nudge := activities.GenerateIn{Iteration: 2, Inputs: []activities.Input{{Kind: activities.InputNudge}}}
			if _, err := b.generate(nudge); err != nil {
				t.Fatal(err)
			}
			sent := b.requests[len(b.requests)-1].Messages
			if last := sent[len(sent)-1]; last.Content != prompt.NudgeLimit {
				t.Errorf("the model is told %q", last.Content)
			}
		})
	}
}
