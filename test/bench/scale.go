package main

import "strings"

// scale is the amount of work of an investigation. Its name is that of its chain.
type scale struct {
	name       string
	model      string // by which the model server knows the scale of a request
	modelCalls int
	atFirst    int // tools that the first model call asks for at once
	data       int // bytes that the investigation is about
	result     int // bytes that a tool returns
}

// The scales: 20 steps, 100 iterations, and a single model call.
var (
	short  = scale{name: "short", model: "gpt-4o", modelCalls: 10, atFirst: 2, data: 2 << 10, result: 2 << 10}
	long   = scale{name: "long", model: "gpt-4.1", modelCalls: 101, atFirst: 1, data: 200 << 10, result: 5 << 10}
	single = scale{name: "single", model: "gpt-4o-mini", modelCalls: 1, data: 2 << 10}
)

func scaleOf(model string) scale {
	for _, s := range []scale{short, long} {
		if s.model == model {
			return s
		}
	}
	return single
}

// callsOf returns how many tools the n-th model call (from 0) asks for: atFirst, then one
// each, and none in the last call, because it is the answer.
func (s scale) callsOf(n int) int {
	switch n {
	case s.modelCalls - 1:
		return 0
	case 0:
		return s.atFirst
	}
	return 1
}

func (s scale) toolCalls() (sum int) {
	for n := range s.modelCalls {
		sum += s.callsOf(n)
	}
	return sum
}

func (s scale) steps() int { return s.modelCalls + s.toolCalls() }

// filler returns a text of n bytes that is realistic work for a tokenizer.
func filler(n int) string {
	const line = "2026-03-01T12:00:07Z node-7 kubelet: volume /var/lib/data is 97% full, evicting pod web-5c9f\n"
	return strings.Repeat(line, n/len(line)+1)[:n]
}

// The names of the only stage, agent, server and tool.
const (
	stageName  = "look"
	agentName  = "Looker"
	serverName = "bench"
	toolName   = "look"
	chainOwn   = "own" // the chain of the agent that calls nothing but its memory
)

// The variables of the configuration.
const (
	variableModel = "BENCH_MODEL"
	variableTools = "BENCH_TOOLS"
)

// chainsOfScales has a chain for each scale. A model that takes 300 ms is called by activities, like most models.
const chainsOfScales = `
llm_providers:
  short: {type: openai, model: gpt-4o, base_url: "{{.BENCH_MODEL}}", quick_under: 200ms}
  long: {type: openai, model: gpt-4.1, base_url: "{{.BENCH_MODEL}}", quick_under: 200ms}
  single: {type: openai, model: gpt-4o-mini, base_url: "{{.BENCH_MODEL}}"}
mcp_servers:
  ` + serverName + `: {transport: {type: http, url: "{{.BENCH_TOOLS}}"}, trust_annotations: true}
defaults: {llm_provider: short, max_iterations: 200}
agents:
  ` + agentName + `: {description: looks at everything, mcp_servers: [` + serverName + `]}
  Rememberer: {type: memgpt_agent, description: remembers everything}
agent_chains:
  short: {stages: [{name: ` + stageName + `, agents: [{name: ` + agentName + `}]}]}
  long: {llm_provider: long, stages: [{name: ` + stageName + `, agents: [{name: ` + agentName + `}]}]}
  single: {llm_provider: single, stages: [{name: ` + stageName + `, agents: [{name: ` + agentName + `}]}]}
  ` + chainOwn + `: {stages: [{name: ` + stageName + `, agents: [{name: Rememberer}]}]}
`
