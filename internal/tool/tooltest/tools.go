package tooltest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// PNG is the image that the tool "image" returns: one pixel.
var PNG = []byte("\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" +
	"\x00\x00\x00\x0dIDATx\xdac8``\xf0\x1f\x00\x04\xf4\x02 \x88\x18\xab\xf2\x00\x00\x00\x00IEND\xaeB`\x82")

var (
	anyObject   = map[string]any{"type": "object"}
	readOnly    = &mcp.ToolAnnotations{ReadOnlyHint: true}
	destructive = &mcp.ToolAnnotations{DestructiveHint: new(true)}
	idempotent  = &mcp.ToolAnnotations{IdempotentHint: true}
)

type (
	result  = mcp.CallToolResult
	nothing struct{}
	textIn  struct {
		Text string `json:"text"`
	}
	sumIn struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	bytesIn struct {
		Bytes int `json:"bytes"`
	}
	deployIn struct {
		Apart bool `json:"apart,omitempty"` // the question does not say which call it belongs to
	}
	logIn struct {
		Bytes int    `json:"bytes"` // of the lines before the last
		Last  string `json:"last"`
	}
)

// add registers a tool that builds its results itself.
func add[In any](s *mcp.Server, name string, hints *mcp.ToolAnnotations,
	run func(context.Context, *mcp.CallToolRequest, In) (*result, error)) {
	handler := func(ctx context.Context, req *mcp.CallToolRequest, in In) (*result, any, error) {
		res, err := run(ctx, req, in)
		return res, nil, err
	}
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: "The tool " + name, Annotations: hints}, handler)
}

// addTools registers the tools without effects.
func addTools(s *mcp.Server) {
	add(s, "echo", readOnly, echo)
	add(s, "add", readOnly, func(_ context.Context, _ *mcp.CallToolRequest, in sumIn) (*result, error) {
		return text("%d", in.A+in.B), nil
	})
	add(s, "fail", readOnly, func(_ context.Context, _ *mcp.CallToolRequest, in textIn) (*result, error) {
		return nil, errors.New(in.Text)
	})
	add(s, "big", readOnly, func(_ context.Context, _ *mcp.CallToolRequest, in bytesIn) (*result, error) {
		return text("%s", strings.Repeat("x", in.Bytes)), nil
	})
	add(s, "log", readOnly, func(_ context.Context, _ *mcp.CallToolRequest, in logIn) (*result, error) {
		line := "2025-01-02T03:04:05Z INFO \"café\" answered GET /api/v1/orders in 12 ms\n"
		return text("%s%s", strings.Repeat(line, in.Bytes/len(line)), in.Last), nil
	})
	add(s, "invalid_utf8", readOnly, always(text("a%sb", invalidMark)))
	add(s, "empty", readOnly, always(&result{Content: []mcp.Content{}}))
	add(s, "image", readOnly, always(&result{Content: []mcp.Content{
		&mcp.TextContent{Text: "before"}, &mcp.ImageContent{MIMEType: "image/png", Data: PNG}, &mcp.TextContent{Text: "after"},
	}}))
	add(s, "resources", readOnly, always(&result{Content: []mcp.Content{
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a.txt", MIMEType: "text/plain", Text: "contents"}},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///b.bin", MIMEType: "application/x-b", Blob: []byte{1, 2, 3}}},
		&mcp.ResourceLink{URI: "file:///c", Name: "c", Description: "see c"},
	}}))
	add(s, "structured", readOnly, always(&result{Content: []mcp.Content{}, StructuredContent: map[string]any{"count": 3}}))
	add(s, "structured_twice", readOnly, always(&result{
		Content:           []mcp.Content{&mcp.TextContent{Text: `{ "count": 3 }`}},
		StructuredContent: map[string]any{"count": 3},
	}))
	add(s, "env", readOnly, func(context.Context, *mcp.CallToolRequest, nothing) (*result, error) {
		return text("%s", strings.Join(slices.Sorted(slices.Values(os.Environ())), "\n")), nil
	})
	add(s, "client", readOnly, func(_ context.Context, req *mcp.CallToolRequest, _ nothing) (*result, error) {
		//lint:ignore SA1019 clients still offer it, and ours must not
		roots := req.Session.InitializeParams().Capabilities.RootsV2 != nil
		return text("pid=%d roots=%t key=%v", os.Getpid(), roots, req.Params.Meta[KeyMeta]), nil
	})
}

func echo(_ context.Context, _ *mcp.CallToolRequest, in textIn) (*result, error) {
	return text("%s", in.Text), nil
}

func always(res *result) func(context.Context, *mcp.CallToolRequest, nothing) (*result, error) {
	return func(context.Context, *mcp.CallToolRequest, nothing) (*result, error) { return res, nil }
}

func text(format string, args ...any) *result {
	return &result{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

// deploy asks people where to deploy, and returns their answer.
func deploy(ctx context.Context, req *mcp.CallToolRequest, in deployIn) (*result, error) {
	if in.Apart {
		ctx = context.Background()
	}
	answer, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Where to?", RequestedSchema: map[string]any{
		"type": "object", "properties": map[string]any{"environment": map[string]any{"type": "string"}},
	}})
	if err != nil {
		return nil, err
	}
	return text("%s: %v", answer.Action, answer.Content["environment"]), nil
}
