// Package actor plays the agents of the sample chain and of the examples: a scripted model that reacts to the tools' results. The agents'
// texts are in texts.tmpl.
package actor

import (
	_ "embed"
	"fmt"
	"strings"
	"text/template"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// signature ends every conclusion, so that nobody mistakes the script for a model.
const signature = "*Written by a scripted model (no language model was asked); the data was read live by tools.*"

// Model answers as the agents of the sample chain and of the examples. It is a function of the request alone: the system prompt says
// which agent it plays, and the tool results in the messages say how far it is. Its next calls and its conclusion follow from those
// results, so other data leads to another conclusion.
func Model(req llm.Request) llm.Response {
	s := readScene(req)
	switch s.agent {
	case "LogAgent":
		return s.play(logAgent(s))
	case "MetricsAgent":
		return s.play(metricsAgent(s))
	case "SynthesisAgent":
		return s.play(synthesisAgent(s))
	case "AnalysisAgent":
		return s.play(analysisAgent(s))
	case "RecommendAgent":
		return s.play(recommendAgent(s))
	case "ClusterAgent":
		return s.play(clusterAgent(s))
	case "SignalsAgent":
		return s.play(signalsAgent(s))
	case "Reporter":
		return s.play(reporter(s))
	case "ExecSummaryAgent":
		return s.summary()
	case "ConclusionAgent":
		return s.compareConclusions()
	case "Planner":
		return s.planner()
	case "Executor":
		return s.executor()
	case "Critic":
		return s.critic()
	}
	return llm.Response{Content: say("stranger", s.agent), Finish: llm.FinishStop} // an agent without a script
}

// role is an agent's conclusion from everything that is known so far.
type role struct {
	// wants lists all calls that the agent would like to have made by now, including those already made. When none is left, the agent
	// concludes.
	wants    []ask
	findings     // handed to the next stage
	See      any // other data for the agent's texts
}

// page is the data of a text.
type page struct {
	role
	Calls int // number of calls made
}

// ask is a tool call that an agent wants.
type ask struct {
	tool string // without its server
	args map[string]any
}

// play makes the missing calls, or concludes.
func (s scene) play(r role) llm.Response {
	r.Unchecked = append(r.Unchecked, s.unchecked(r.wants)...)
	p := page{r, len(s.calls)}
	thought := say(s.agent+" thought", p)
	if open := s.open(r.wants); len(open) > 0 {
		return s.call(thought, open)
	}
	return llm.Response{Thinking: thought, Content: say(s.agent+" report", p) + "\n\n" + signature, Finish: llm.FinishStop}
}

//go:embed texts.tmpl
var texts string

var library = template.Must(template.New("").Parse(texts))

// say renders one of the texts.
func say(name string, data any) string {
	var out strings.Builder
	if err := library.ExecuteTemplate(&out, name, data); err != nil {
		return err.Error() // impossible: the tests render every text
	}
	return strings.TrimSpace(out.String())
}

// call returns a response with tool calls.
func (s scene) call(thought string, open []ask) llm.Response {
	res := llm.Response{Thinking: thought, Content: announce(open), Finish: llm.FinishToolCalls}
	for i, a := range open {
		res.ToolCalls = append(res.ToolCalls, agent.ToolCall{
			ID:        fmt.Sprintf("call_%d", len(s.calls)+i),
			Name:      s.offered[a.tool],
			Arguments: arguments(a.args),
		})
	}
	return res
}

// open returns the wanted calls that are possible and have not been made.
func (s scene) open(wants []ask) []ask {
	var out []ask
	seen := map[string]bool{}
	for _, a := range wants {
		key := a.tool + arguments(a.args)
		if s.offered[a.tool] != "" && !s.made(a) && !seen[key] {
			seen[key] = true
			out = append(out, a)
		}
	}
	return out
}

func announce(asks []ask) string {
	if len(asks) == 1 {
		return "Next, I will call " + asks[0].tool + "."
	}
	n := map[string]int{}
	for _, a := range asks {
		n[a.tool]++
	}
	var tools []string
	for _, tool := range ranked(n) {
		tools = append(tools, fmt.Sprintf("%d × %s", n[tool], tool))
	}
	return "Next, in parallel: " + strings.Join(tools, ", ") + "."
}
