package actor

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/prompt"
)

// scene is a request from an agent's point of view.
type scene struct {
	agent    string
	system   string
	task     string   // the first user message
	guidance []string // what people have said since
	// offered maps the tools' own names to the names in the request.
	offered map[string]string
	calls   []answered // in order
}

// answered is a call with its result.
type answered struct {
	tool   string // without its server
	args   string // canonical
	values map[string]any
	result string
}

var replica = regexp.MustCompile(`-\d+$`) // replicas are named Name-1 to Name-N

func readScene(req llm.Request) scene {
	s := scene{offered: map[string]string{}}
	for _, t := range req.Tools {
		s.offered[ownName(t.Name)] = t.Name
	}
	byID := map[string]agent.ToolCall{}
	for _, m := range req.Messages {
		switch m.Role {
		case agent.System:
			s.system += m.Content + "\n"
		case agent.User:
			s.read(m.Content)
		case agent.Assistant:
			for _, call := range m.ToolCalls {
				byID[call.ID] = call
			}
		case agent.ToolRole:
			s.answer(byID[m.ToolCallID], m.Content)
		}
	}
	s.agent = replica.ReplaceAllString(prompt.AgentOf(s.system), "")
	return s
}

func (s *scene) read(text string) {
	if s.task == "" {
		s.task = text
		return
	}
	s.guidance = append(s.guidance, prompt.Blocks(text, "guidance")...)
}

func (s *scene) answer(call agent.ToolCall, result string) {
	a := answered{tool: ownName(call.Name), result: result}
	_ = json.Unmarshal([]byte(call.Arguments), &a.values) // the arguments are our own
	a.args = arguments(a.values)
	s.calls = append(s.calls, a)
}

// ownName removes the server from a tool's name, whether a__b as in requests or a.b.
func ownName(name string) string {
	name = strings.Replace(name, ".", "__", 1)
	if _, own, ok := strings.Cut(name, "__"); ok {
		return own
	}
	return name
}

// arguments encodes arguments canonically, so that calls can be compared.
func arguments(values map[string]any) string {
	if len(values) == 0 {
		return "{}"
	}
	data, err := json.Marshal(values)
	if err != nil {
		return "{}" // impossible: it has only strings and numbers
	}
	return string(data)
}

func (s scene) made(a ask) bool {
	return slices.ContainsFunc(s.calls, func(c answered) bool { return c.tool == a.tool && c.args == arguments(a.args) })
}

// results returns the successful calls of a tool.
func (s scene) results(tool string) []answered {
	var out []answered
	for _, c := range s.calls {
		if c.tool == tool && c.ok() {
			out = append(out, c)
		}
	}
	return out
}

func (c answered) text(name string) string {
	text, _ := c.values[name].(string)
	return text
}

// good matches the beginning of each tool's results. Everything else is an error, no matter from where.
var good = map[string]*regexp.Regexp{
	"list_services": regexp.MustCompile(`^\d+ services:`),
	"query_logs":    regexp.MustCompile(`^Matching lines: \d`),
	"list_metrics":  regexp.MustCompile(`^\d+ metrics:`),
	"query_metric":  regexp.MustCompile(`^time,`),
	"get_manifest":  regexp.MustCompile(`^apiVersion:`),
	"list_events":   regexp.MustCompile(`^Matching events: \d`),
	// kubernetes-mcp-server 0.0.67 and prometheus-mcp 1.1.3
	"events_list":      regexp.MustCompile(`^(# )?(The following events|No events)`),
	"prometheus_query": regexp.MustCompile(`^\{`),
	// grep's counts, log lines, or no match (grep then exits with 1)
	"shell": regexp.MustCompile(`^(\S+:\d+\n|\{|ts=|Command executed successfully|Command failed with exit code 1:)`),
}

func (c answered) ok() bool {
	pattern := good[c.tool]
	return pattern != nil && pattern.MatchString(c.result+"\n")
}

// unchecked describes the failures and the gaps that follow from them.
func (s scene) unchecked(wants []ask) []string {
	var out []string
	for _, server := range prompt.Unavailable(s.system) {
		if !s.has(server) { // it may have become available since
			out = append(out, server+".")
		}
	}
	for _, c := range s.calls {
		if !c.ok() {
			out = append(out, fmt.Sprintf("The call %s %s failed: %s", c.tool, c.args, firstLine(c.result)))
		}
	}
	var missing []string
	for _, a := range wants {
		if s.offered[a.tool] == "" && !s.made(a) && !slices.Contains(missing, a.tool) {
			missing = append(missing, a.tool)
		}
	}
	if len(missing) > 0 {
		out = append(out, "Tools that I wanted to call but was not offered: "+strings.Join(missing, ", ")+".")
	}
	return out
}

// has reports whether tools of a server are offered although the prompt says "Server NAME is not available".
func (s scene) has(unavailable string) bool {
	words := strings.Fields(unavailable)
	for _, wire := range s.offered {
		if len(words) > 1 && strings.HasPrefix(wire, words[1]+"__") {
			return true
		}
	}
	return false
}

func firstLine(text string) string {
	const limit = 200
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return clip.Text(text, limit)
}
