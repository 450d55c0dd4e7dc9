package sample

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/knowledge/pack"
)

// ServePack serves the demo of a toolset pack over MCP on standard input and output, until the input or ctx ends.
func ServePack(ctx context.Context, name string) error {
	p, _ := pack.Named(name)
	demo, ok := p.Demo()
	if !ok {
		return fmt.Errorf("no demo of a pack %q", name)
	}
	if err := NewPackServer(p, demo).Run(ctx, &mcp.StdioTransport{}); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve the demo of the pack %s over MCP: %w", name, err)
	}
	return nil
}

// NewPackServer returns a server with the tools that a demo calls. It answers the demo's calls, and refuses others.
func NewPackServer(p pack.Pack, demo pack.Demo) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: p.Name, Version: "demo"}, nil)
	for _, call := range demo.Calls {
		s.AddTool(&mcp.Tool{
			Name: call.Tool, Description: fmt.Sprintf("A tool of the MCP server for %s, with the answers of a demo.", p.Title),
			InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true},
		}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return answer(demo, req.Params.Name, req.Params.Arguments), nil
		})
	}
	return s
}

// answer answers a call. A call that the demo does not have gets the arguments of those that it has.
func answer(demo pack.Demo, tool string, arguments json.RawMessage) *mcp.CallToolResult {
	var known []string
	for _, call := range demo.Calls {
		if call.Tool != tool {
			continue
		}
		if sameJSON(arguments, []byte(call.Arguments)) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.TrimSpace(call.Result)}}}
		}
		known = append(known, call.Arguments)
	}
	text := fmt.Sprintf("This demo has no answer for these arguments. It has answers for: %s", strings.Join(known, " "))
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
