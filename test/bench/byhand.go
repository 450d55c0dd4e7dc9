package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/workflows"
)

// The loop by hand is what a developer would write in a day: a loop in one workflow, the same two calls over
// HTTP in plain activities, and the conversation carried through the history.

type handIn struct {
	Model string `json:"model"`
	Task  string `json:"task"`
}

type handMessage struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	ToolCalls  []handCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type handCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type handRequest struct {
	Model    string        `json:"model"`
	Messages []handMessage `json:"messages"`
	Tools    []handTool    `json:"tools,omitempty"`
}

type handTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Parameters  any    `json:"parameters"`
	} `json:"function"`
}

func byHand(ctx workflow.Context, in handIn) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	var act *hand // nil, because it only names activities
	messages := []handMessage{{Role: "system", Content: "You find out what is wrong. Use the tools."}, {Role: "user", Content: in.Task}}
	for {
		var reply handMessage
		if err := workflow.ExecuteActivity(ctx, act.CallModel, handRequest{Model: in.Model, Messages: messages}).Get(ctx, &reply); err != nil {
			return "", err
		}
		messages = append(messages, reply)
		if len(reply.ToolCalls) == 0 {
			return reply.Content, nil
		}
		var results []workflow.Future
		for _, call := range reply.ToolCalls {
			results = append(results, workflow.ExecuteActivity(ctx, act.CallTool, call))
		}
		for n, call := range reply.ToolCalls {
			result := handMessage{Role: "tool", ToolCallID: call.ID}
			if err := results[n].Get(ctx, &result.Content); err != nil {
				return "", err
			}
			messages = append(messages, result)
		}
	}
}

// hand has the activities of the loop by hand.
type hand struct {
	model string
	http  *http.Client
	mcp   *mcp.ClientSession
	tools []handTool
}

func newHand(ctx context.Context, model, tools string) (*hand, error) {
	h := &hand{model: model, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}}
	var err error
	transport := &mcp.StreamableClientTransport{Endpoint: tools, HTTPClient: h.http}
	if h.mcp, err = mcp.NewClient(&mcp.Implementation{Name: "by-hand", Version: "1"}, nil).Connect(ctx, transport, nil); err != nil {
		return nil, fmt.Errorf("connect to the tool server: %w", err)
	}
	listed, err := h.mcp.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, t := range listed.Tools {
		tool := handTool{Type: "function"}
		tool.Function.Name, tool.Function.Description, tool.Function.Parameters = t.Name, t.Description, t.InputSchema
		h.tools = append(h.tools, tool)
	}
	return h, nil
}

// CallModel is an activity.
func (h *hand) CallModel(ctx context.Context, in handRequest) (handMessage, error) {
	in.Tools = h.tools
	body, err := json.Marshal(in)
	if err != nil {
		return handMessage{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.model+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return handMessage{}, err
	}
	resp, err := h.http.Do(req)
	if err != nil {
		return handMessage{}, err
	}
	defer resp.Body.Close()
	var out struct {
		Choices []struct {
			Message handMessage `json:"message"`
		} `json:"choices"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		return handMessage{}, fmt.Errorf("the model answered with %s: %w", resp.Status, err)
	}
	if len(out.Choices) == 0 {
		return handMessage{}, fmt.Errorf("the model answered with %s and no choices", resp.Status)
	}
	return out.Choices[0].Message, nil
}

// CallTool is an activity.
func (h *hand) CallTool(ctx context.Context, call handCall) (string, error) {
	params := &mcp.CallToolParams{Name: call.Function.Name, Arguments: json.RawMessage(call.Function.Arguments)}
	result, err := h.mcp.CallTool(ctx, params)
	if err != nil {
		return "", err
	}
	if len(result.Content) > 0 {
		if text, ok := result.Content[0].(*mcp.TextContent); ok {
			return text.Text, nil
		}
	}
	return "", fmt.Errorf("tool %s did not answer with a text", params.Name)
}

// handmade is the loop by hand as a workload.
type handmade struct {
	client client.Client
	scale  scale
}

func (handmade) name() string { return nameHand }

func (h handmade) run(ctx context.Context, id string, _ time.Duration) ([]string, error) {
	options := client.StartWorkflowOptions{ID: id, TaskQueue: bareQueue, WorkflowTaskTimeout: workflows.WorkflowTaskTimeout}
	run, err := h.client.ExecuteWorkflow(ctx, options, byHand, handIn{Model: h.scale.model, Task: filler(h.scale.data)})
	if err != nil {
		return nil, err
	}
	var report string
	if err := run.Get(ctx, &report); err != nil {
		return []string{id}, err
	}
	if report != answer {
		return nil, fmt.Errorf("the loop by hand %s says %q", id, report)
	}
	return []string{id}, nil
}
