package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/workflows"
)

// The steps of an investigation: 10 model calls that ask for 10 tool calls. The
// first asks for two at once and the last for none, because it is the answer.
const (
	modelCalls = 10
	toolCalls  = 10

	stageName  = "look"
	agentName  = "Looker"
	serverName = "bench"
	toolName   = "look"
)

// callsOf is how many tools the n-th model call (from 0) asks for.
func callsOf(n int) int {
	switch n {
	case 0:
		return 2
	case modelCalls - 1:
		return 0
	}
	return 1
}

// configuration is the chain under test. The server's command is never run: the
// tool server is in this process.
const configuration = `
llm_providers:
  bench: {type: openai, model: gpt-4o, base_url: "{{.BENCH_MODEL}}"}
mcp_servers:
  ` + serverName + `: {transport: {type: stdio, command: none}}
defaults: {llm_provider: bench}
agents:
  ` + agentName + `: {description: looks at everything, mcp_servers: [` + serverName + `]}
agent_chains:
  bench:
    stages: [{name: ` + stageName + `, agents: [{name: ` + agentName + `}]}]
`

// Sizes of what an investigation is about, in bytes.
const (
	dataSize   = 2 << 10
	resultSize = 2 << 10
)

// filler is a text of n bytes that a tokenizer has some work with.
func filler(n int) string {
	const line = "2026-03-01T12:00:07Z node-7 kubelet: volume /var/lib/data is 97% full, evicting pod web-5c9f\n"
	return strings.Repeat(line, n/len(line)+1)[:n]
}

const answer = "The volume of node-7 is full: the log of the web pods has grown since the deploy."

// speak is the model: what it says depends on how often it has spoken.
func speak(req llmtest.Request) llmtest.Reply {
	turn := 0
	for _, m := range req.Messages {
		if m.Role == "assistant" {
			turn++
		}
	}
	if turn >= modelCalls-1 {
		return llmtest.Text(answer)
	}
	reply := llmtest.Text(fmt.Sprintf("Step %d: I look further.", turn+1))
	for n := range callsOf(turn) {
		reply = reply.Calls(llmtest.Call{Name: serverName + "__" + toolName, Args: fmt.Sprintf(`{"at":"%d.%d"}`, turn, n)})
	}
	return reply
}

// investigation is the workload that this is about.
type investigation struct {
	client client.Client
	data   json.RawMessage
}

func newInvestigation(c client.Client) investigation {
	data, _ := json.Marshal(filler(dataSize)) // a string always can be
	return investigation{client: c, data: data}
}

func (investigation) name() string { return nameInquest }

func (v investigation) run(ctx context.Context, id string) ([]string, error) {
	options := client.StartWorkflowOptions{ID: id, TaskQueue: workflows.TaskQueue, WorkflowTaskTimeout: workflows.WorkflowTaskTimeout}
	run, err := v.client.ExecuteWorkflow(ctx, options, workflows.TypeInvestigation, agent.Request{Chain: "bench", Data: v.data})
	if err != nil {
		return nil, err
	}
	var result workflows.InvestigationResult
	if err := run.Get(ctx, &result); err != nil {
		return nil, err
	}
	if u := result.Usage; result.Report != answer || u.ModelCalls != modelCalls || u.ToolCalls != toolCalls {
		return nil, fmt.Errorf("investigation %s did not take its %d steps: %+v", id, modelCalls+toolCalls, result)
	}
	stage := result.ID + "/" + stageName
	return []string{id, stage, stage + "/" + agentName}, nil
}
