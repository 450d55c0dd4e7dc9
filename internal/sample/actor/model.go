// Package actor plays the agents of the sample chain and of the examples: a model without a
// model, which reacts to what the tools return.
package actor

import (
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// signature ends every conclusion: nobody shall take the script for a model.
const signature = "*Written by a scripted model (no language model was asked); the data was read live by tools.*"

// Model answers as the agents of the sample chain and of the examples. It is a function of the
// request alone: the system prompt says which agent it plays, the tool results
// among the messages say where it is. What it asks for next and what it concludes
// follow from those results: other data, other conclusion.
func Model(req llm.Request) llm.Response {
	s := readScene(req)
	switch s.agent {
	case "LogAgent":
		return s.play(newLogAgent(s))
	case "MetricsAgent":
		return s.play(newMetricsAgent(s))
	case "SynthesisAgent":
		return s.play(newSynthesisAgent(s))
	case "AnalysisAgent":
		return s.play(newAnalysisAgent(s))
	case "RecommendAgent":
		return s.play(newRecommendAgent(s))
	case "Planner":
		return s.planner()
	case "Executor":
		return executor{s}.say()
	case "Critic":
		return s.critic()
	}
	return s.stranger()
}

// role is an agent that looks at what is known so far.
type role interface {
	// wants lists every call that the agent would like to have made by now, those
	// included that were made. When none is left, the agent concludes.
	wants() []ask
	// thought says what the agent makes of what it knows.
	thought() string
	conclude() report
}

// ask is a wish for a tool call.
type ask struct {
	tool string // without its server
	args map[string]any
}

// play asks for what is still missing, or concludes.
func (s scene) play(r role) llm.Response {
	open := s.open(r.wants())
	if len(open) == 0 {
		final := r.conclude()
		final.unchecked = append(final.unchecked, s.unchecked(r.wants())...)
		return llm.Response{Thinking: r.thought(), Content: final.String() + "\n" + signature, Finish: llm.FinishStop}
	}
	return s.call(r.thought(), open)
}

// call asks for tool calls.
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

// open returns the wishes that can be fulfilled and were not yet.
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
		return "Next I call " + asks[0].tool + "."
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

// stranger answers for whom there is no script.
func (s scene) stranger() llm.Response {
	who := "an agent that the system prompt does not name"
	if s.agent != "" {
		who = s.agent
	}
	return llm.Response{Finish: llm.FinishStop, Content: "I am a scripted model and only play the agents of the sample chain " +
		"(LogAgent, MetricsAgent, SynthesisAgent, AnalysisAgent, RecommendAgent). For " + who + " I have no script, so I looked at nothing " +
		"and conclude nothing.\n\nTo use a real model, add an entry to llm_providers in the configuration (its type, its model and the environment " +
		"variable that holds the key), and name it as the chain's or the agent's llm_provider, or start the investigation with it as the request's provider."}
}
