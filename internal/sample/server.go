package sample

import (
	"context"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServerName is the MCP server's own name.
const ServerName = "incident"

const instructions = "Logs, metrics, events and manifests of one incident, as files. All times are UTC. " +
	"Begin with list_services, list_metrics, or query_logs with level error."

// ServeMCP serves the incident in dir (a folder with logs, metrics, manifests and events.json, as Extract writes it) over MCP on standard
// input and output, until the input or ctx ends.
func ServeMCP(ctx context.Context, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open incident: %w", err)
	}
	defer func() { _ = root.Close() }()
	if err := NewServer(root).Run(ctx, &mcp.StdioTransport{}); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve incident over MCP: %w", err)
	}
	return nil
}

// NewServer returns the server for an incident's folder.
func NewServer(root *os.Root) *mcp.Server {
	in := incident{root}
	s := mcp.NewServer(&mcp.Implementation{Name: ServerName, Version: "1"}, &mcp.ServerOptions{Instructions: instructions})
	add(s, "list_services", "List the services that have logs, with the number of lines by level and the time range.", in.listServices)
	add(s, "query_logs", "Search the logs of one service or of all, oldest first. The first line of the result counts all "+
		"matching lines by service. Each further line is a log line as written, after its [service].", in.queryLogs)
	add(s, "list_metrics", "List the metrics, with the services that each is measured for and the time range. "+
		"The name ends with the unit.", in.listMetrics)
	add(s, "query_metric", "Read a metric as CSV: one row per minute, one column per service.", in.queryMetric)
	add(s, "get_manifest", "Read a Kubernetes object as YAML. Kinds: deployment, configmap, horizontalpodautoscaler.", in.getManifest)
	add(s, "list_events", "List Kubernetes events, oldest first: time, type, reason, object, message, and how often.", in.listEvents)
	return s
}

// add offers a read-only tool. An error from call becomes an error result that the model can read and act on.
func add[In any](s *mcp.Server, name, description string, call func(In) (string, error)) {
	closed := false
	tool := &mcp.Tool{
		Name:        name,
		Description: description,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed},
	}
	mcp.AddTool(s, tool, func(_ context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		text, err := call(in)
		if err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
}

// none is the input of tools without parameters.
type none struct{}
