package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// toolServer is an MCP server in this process, and the session with it.
type toolServer struct {
	server *mcp.ServerSession
	client *mcp.ClientSession
}

var _ tool.Caller = (*toolServer)(nil)

func startToolServer(ctx context.Context) (*toolServer, error) {
	server := mcp.NewServer(&mcp.Implementation{Name: serverName, Version: "1"}, nil)
	text := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: filler(resultSize)}}}
	server.AddTool(&mcp.Tool{
		Name: toolName, Description: "Looks at something.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
		InputSchema: json.RawMessage(`{"type":"object","properties":{"at":{"type":"string"}},"required":["at"]}`),
	}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return text, nil })

	ours, theirs := mcp.NewInMemoryTransports()
	t := &toolServer{}
	var err error
	if t.server, err = server.Connect(ctx, theirs, nil); err != nil {
		return nil, fmt.Errorf("start the tool server: %w", err)
	}
	t.client, err = mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(ctx, ours, nil)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connect to the tool server: %w", err), t.server.Close())
	}
	return t, nil
}

// List implements tool.Caller.
func (t *toolServer) List(ctx context.Context, server plan.Server, _ string) ([]tool.Spec, error) {
	page, err := t.client.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	var specs []tool.Spec
	for _, found := range page.Tools {
		schema, err := json.Marshal(found.InputSchema)
		if err != nil {
			return nil, err
		}
		specs = append(specs, tool.Spec{
			Name: server.Name + "." + found.Name, Description: found.Description, Schema: schema, Risk: agent.RiskReadOnly,
		})
	}
	return specs, nil
}

// Call implements tool.Caller.
func (t *toolServer) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	_, own := tool.Split(call.Name)
	answer, err := t.client.CallTool(ctx, &mcp.CallToolParams{Name: own, Arguments: call.Arguments})
	if err != nil {
		return tool.Result{}, err
	}
	if text, ok := answer.Content[0].(*mcp.TextContent); ok {
		return tool.Success(text.Text), nil
	}
	return tool.Result{}, fmt.Errorf("tool %s answered with a %T", own, answer.Content[0])
}

func (t *toolServer) close() error { return errors.Join(t.client.Close(), t.server.Close()) }
