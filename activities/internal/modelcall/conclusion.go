package modelcall

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// lookBack finds the text that replaces a missing conclusion: the text beside the model's last calls, or its reasoning.
func (g *briefing) lookBack(out *job.GenerateOut, log, reply []transcript.Entry) {
	all := slices.Clone(log)
	for _, e := range reply {
		if !slices.ContainsFunc(all, func(known transcript.Entry) bool { return known.Key == e.Key }) {
			all = append(all, e)
		}
	}
	if g.Plan.Conversation {
		all = transcript.Turn(all)
	}
	text := transcript.Final(all, true)
	if strings.TrimSpace(text) == "" || g.Invalid(text) != "" {
		return
	}
	out.Earlier, out.Invalid = job.Preview(text), ""
}

// whyNoReport returns why the text of a reply without calls is no report; an empty string means that it may be one.
func whyNoReport(text string, tools *tool.Set) transcript.NoReport {
	rest := strings.TrimSpace(thoughts.ReplaceAllString(text, ""))
	switch {
	case strings.TrimSpace(text) == "":
		return ""
	case rest == "":
		return transcript.OnlyThoughts
	case writtenCall(rest, tools):
		return transcript.OnlyCall
	}
	return ""
}

var (
	// thoughts matches reasoning within the text, as open models write it.
	thoughts = regexp.MustCompile(`(?is)<(?:think|thinking|thought|reasoning)>.*?(?:</(?:think|thinking|thought|reasoning)>|$)`)
	// taggedCall matches a call in the notations that open models are trained on, from its first tag to its last.
	taggedCall = regexp.MustCompile(`(?is)^(?:<(?:tool_calls?|function_calls?|tool_use|invoke|function)\b[^>]*>.*</[a-z_:]+>` +
		`|<function=.*|<tool_call>.*|<\|python_tag\|>.*|\[TOOL_CALLS\].*|<\|tool_calls?.*|<｜tool▁calls?▁begin｜>.*|<tool_code>.*)$`)
	fenced         = regexp.MustCompile("(?s)^```[a-z_]*\\s*\n(.*)\n```$")
	callExpression = regexp.MustCompile(`(?s)^([A-Za-z_][\w.-]*)\(.*\)$`)
)

// writtenCall reports whether the whole text is a tool call.
func writtenCall(text string, tools *tool.Set) bool {
	if m := fenced.FindStringSubmatch(text); m != nil {
		text = strings.TrimSpace(m[1])
	}
	if taggedCall.MatchString(text) {
		_, after, _ := strings.Cut(text[max(strings.LastIndex(text, "</"), 0):], ">")
		return !strings.Contains(text, "</") || strings.TrimSpace(after) == ""
	}
	if m := callExpression.FindStringSubmatch(text); m != nil && !strings.Contains(text, "\n\n") {
		return isTool(m[1], tools)
	}
	var all []map[string]any
	if json.Unmarshal([]byte(text), &all) != nil {
		all = make([]map[string]any, 1)
		if json.Unmarshal([]byte(text), &all[0]) != nil {
			return false
		}
	}
	return len(all) > 0 && !slices.ContainsFunc(all, func(object map[string]any) bool { return !objectIsCall(object, tools) })
}

// objectIsCall recognises {"name": …, "arguments": …} in the spellings that models use, for a tool that the agent has.
func objectIsCall(object map[string]any, tools *tool.Set) bool {
	if inner, ok := object["function"].(map[string]any); ok {
		object = inner
	}
	named, given := false, false
	for key, value := range object {
		switch key {
		case "name", "tool", "tool_name", "function", "function_name", "action":
			name, _ := value.(string)
			named = named || isTool(name, tools)
		case "arguments", "parameters", "args", "input", "params", "action_input", "tool_input":
			given = true
		case "id", "type":
		default:
			return false
		}
	}
	return named && given
}

// isTool reports whether the agent has a tool with that name, with or without the server's prefix.
func isTool(name string, tools *tool.Set) bool {
	if _, known := tools.Spec(name); known {
		return true
	}
	return slices.ContainsFunc(tools.Offered(), func(spec tool.Spec) bool {
		_, own := tool.Split(spec.Name)
		return own == name
	})
}

// nudge returns the prompt that follows a last reply without a conclusion.
func (g *generation) nudge(stored []transcript.Entry) string {
	var last transcript.Entry
	for _, e := range stored {
		if e.Kind == transcript.KindReply && !e.Superseded {
			last = e
		}
	}
	switch asked := len(last.Calls) > 0 || last.NoReport == transcript.OnlyCall; {
	case g.in.Conclude && asked:
		return prompt.NudgeNoTools
	case job.OnlyThought(last):
		return prompt.NudgeLimit
	case g.in.Conclude:
		return prompt.NudgeConclude
	case asked:
		return prompt.NudgeCall
	case last.NoReport == transcript.OnlyThoughts:
		return prompt.NudgeThoughts
	}
	return prompt.Nudge
}
