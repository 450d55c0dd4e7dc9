package mcp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/tool"
)

// convert makes a result of a server's answer. Every part of it is in the text,
// as itself or described, and what is not text is kept whole as an artifact.
func convert(answer *mcp.CallToolResult) tool.Result {
	if answer.NeedsInput() {
		return tool.Failure(tool.ErrorTool, "The tool asks for input from a person, which cannot be given.")
	}
	var p parts
	for _, content := range answer.Content {
		p.add(content)
	}
	p.addStructured(answer.StructuredContent)
	result := tool.Result{Status: tool.StatusSuccess, Content: p.text("The tool returned nothing."), Artifacts: p.artifacts}
	if answer.IsError {
		result.Status, result.ErrorType = tool.StatusError, tool.ErrorTool
		result.Content = p.text("The tool failed without saying why.")
		// Servers of the TypeScript SDK make a result of that protocol error.
		if strings.HasPrefix(result.Content, "MCP error -32602:") {
			result.ErrorType = invalidParams(result.Content)
		}
	}
	return result
}

// parts collects a result in the order of its content.
type parts struct {
	texts     []string
	artifacts []tool.Artifact
}

func (p *parts) add(content mcp.Content) {
	switch c := content.(type) {
	case *mcp.TextContent:
		p.say(c.Text)
	case *mcp.ImageContent:
		p.keep("image", tool.Artifact{MIMEType: c.MIMEType, Data: c.Data})
	case *mcp.AudioContent:
		p.keep("audio", tool.Artifact{MIMEType: c.MIMEType, Data: c.Data})
	case *mcp.EmbeddedResource:
		p.addResource(c.Resource)
	default:
		// A link to a resource, or something newer than this: its JSON says it all.
		data, err := json.Marshal(content)
		if err != nil {
			p.say(fmt.Sprintf("[content that cannot be shown: %v]", err))
			return
		}
		p.say(string(data))
		p.artifacts = append(p.artifacts, tool.Artifact{MIMEType: "application/json", JSON: data})
	}
}

func (p *parts) addResource(r *mcp.ResourceContents) {
	switch {
	case r == nil:
		p.say("[empty resource]")
	case r.Blob != nil:
		p.keep("resource "+r.URI, tool.Artifact{MIMEType: r.MIMEType, Name: r.URI, Data: r.Blob})
	default:
		p.say(fmt.Sprintf("[resource %s]\n%s", r.URI, r.Text))
	}
}

// addStructured shows structured content unless a text part says the same, as
// MCP asks servers to do; that part is then also the better artifact, because
// numbers in it are not rounded.
func (p *parts) addStructured(value any) {
	if value == nil {
		return
	}
	data, err := json.Marshal(value)
	if err != nil {
		p.say(fmt.Sprintf("[structured content that cannot be shown: %v]", err))
		return
	}
	if same := p.saying(value); same != "" {
		data = json.RawMessage(same)
	} else {
		p.say(string(data))
	}
	p.artifacts = append(p.artifacts, tool.Artifact{MIMEType: "application/json", Name: "structuredContent", JSON: data})
}

func (p *parts) saying(value any) string {
	for _, text := range p.texts {
		var said any
		if json.Unmarshal([]byte(text), &said) == nil && reflect.DeepEqual(said, value) {
			return text
		}
	}
	return ""
}

func (p *parts) keep(what string, a tool.Artifact) {
	a.MIMEType, a.Name = tool.ValidText(a.MIMEType), tool.ValidText(a.Name)
	p.say(fmt.Sprintf("[%s, %s, %d bytes: kept as an artifact]", what, a.MIMEType, len(a.Data)))
	p.artifacts = append(p.artifacts, a)
}

func (p *parts) say(text string) { p.texts = append(p.texts, tool.ValidText(text)) }

func (p *parts) text(none string) string {
	if text := strings.Join(p.texts, "\n"); strings.TrimSpace(text) != "" {
		return text
	}
	return none
}
