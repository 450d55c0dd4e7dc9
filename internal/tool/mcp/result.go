package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/kit/toolresult"
	"github.com/inquest-dev/inquest/internal/tool"
)

// answer holds the fields of a tools/call result that are used here.
type answer struct {
	content    []json.RawMessage
	structured any // numbers are json.Number; nil if there is none
	isError    bool
	needsInput bool
	others     any // the other fields, which another version of MCP may define; nil if there are none
}

// knownFields are the fields of results that MCP defines now.
var knownFields = []string{"content", "structuredContent", "isError", "resultType", "_meta"}

// read splits a result into its parts. A part with an unexpected form is read as what it most likely means, and does
// not affect the others.
func read(raw json.RawMessage) (a answer, err error) {
	if bytes.ContainsAny(raw[:1], `["`) {
		a.content = []json.RawMessage{raw} // a text
		_ = json.Unmarshal(raw, &a.content)
		return a, nil
	}
	var fields struct{ Content, StructuredContent, IsError, ResultType json.RawMessage }
	var all map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(raw, &fields), json.Unmarshal(raw, &all)); err != nil {
		return a, fmt.Errorf("read the result: %w", err)
	}
	if json.Unmarshal(fields.Content, &a.content) != nil && fields.Content != nil {
		if !bytes.ContainsAny(fields.Content[:1], `{"`) {
			return a, errors.New("read the result: its content is not a list of blocks")
		}
		a.content = []json.RawMessage{fields.Content} // a single block without a list
	}
	if fields.StructuredContent != nil {
		if a.structured, err = decode(fields.StructuredContent); err != nil {
			return a, fmt.Errorf("read the structured content: %w", err)
		}
	}
	a.isError = slices.Contains([]string{"true", `"true"`}, string(fields.IsError))
	a.needsInput = string(fields.ResultType) == `"input_required"`
	maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool { return slices.Contains(knownFields, name) })
	if text, err := encode(all); err == nil && len(all) > 0 {
		a.others, _ = decode(text) // it has been decoded before
	}
	return a, nil
}

// convert converts a server's answer to a result. Every part is in the text, as it is or described. Parts other than
// text are kept as artifacts.
func convert(raw json.RawMessage) (tool.Result, error) {
	answer, err := read(raw)
	if err != nil {
		return tool.Result{}, err
	}
	if answer.needsInput {
		return tool.Failure(tool.ErrorTool, "The tool requires input from a person, which cannot be provided."), nil
	}
	var p parts
	for _, content := range answer.content {
		p.addRaw(content)
	}
	p.addStructured(answer.structured)
	if p.text("") == "" && answer.others != nil { // such as toolResult, in MCP's first version
		answer.structured = answer.others
		p.addStructured(answer.structured)
	}
	result := tool.Result{Status: tool.StatusSuccess, Content: p.text("The tool returned nothing."), Artifacts: p.artifacts}
	if answer.isError {
		result.Status, result.ErrorType = tool.StatusError, tool.ErrorTool
		result.Content = p.text("The tool failed without giving a reason.")
		// Servers of the TypeScript SDK turn that protocol error into a result.
		if strings.HasPrefix(result.Content, "MCP error -32602:") {
			result.ErrorType = invalidParams(result.Content)
		}
		result.Recoverable = result.ErrorType != tool.ErrorUnknownTool
	}
	if fault, failed := failed(answer.structured); failed {
		if !answer.isError {
			result.Status, result.ErrorType = tool.StatusError, tool.ErrorTool
		}
		result.Fault = fault
	}
	return result, nil
}

// aboutFaults are the keys with which results describe a failure.
var aboutFaults = []string{"error", "error_type", "message", "recoverable", "retry_after"}

// failed reports whether structured content describes a failed call, and returns the description. Its status must say
// so, and it must contain nothing else, or a reason. A key "error" alone, or the status of a failed pipeline, also
// occurs in successful results.
func failed(structured any) (agent.Fault, bool) {
	fields, _ := structured.(map[string]any)
	status, _ := fields["status"].(string)
	why := slices.ContainsFunc(aboutFaults, func(key string) bool { return fields[key] != nil })
	if status == "" || !why && len(fields) > 1 {
		return agent.Fault{}, false
	}
	result, err := toolresult.Normalize(map[string]any{"status": status})
	if err != nil || result.Status != toolresult.StatusError {
		return agent.Fault{}, false
	}
	if result, err = toolresult.Normalize(fields); err != nil {
		return agent.Fault{}, true
	}
	if own := result.Error.Type; own != tool.ErrorTool { // the server's type; results have our own types
		if result.Error.Details == nil {
			result.Error.Details = map[string]any{}
		}
		result.Error.Details["error_type"] = own
	}
	return result.Fault(), true
}

// parts collects a result in the order of its content.
type parts struct {
	texts     []string
	artifacts []tool.Artifact
}

// addRaw adds a content block in the server's form.
func (p *parts) addRaw(raw json.RawMessage) {
	var text string
	var block struct{ Type, Text string }
	switch {
	case string(raw) == "null":
		return
	case json.Unmarshal(raw, &text) == nil: // MCP requires {"type":"text"}
		p.say(text)
		return
	case json.Unmarshal(raw, &block) == nil && block.Type == "text": // avoids the SDK's copies
		p.say(block.Text)
		return
	}
	content, err := contentOf(raw)
	if err != nil {
		p.addUnknown(raw)
		return
	}
	if link, ok := content.(*mcp.ResourceLink); ok { // its JSON is complete
		p.addJSON("link "+link.URI, link.URI, raw)
		return
	}
	p.add(content)
}

// contentOf decodes a content block.
func contentOf(raw json.RawMessage) (mcp.Content, error) {
	list, err := encode(map[string]any{"content": []json.RawMessage{raw}})
	if err != nil {
		return nil, err
	}
	var answer mcp.CallToolResult
	if err := json.Unmarshal(list, &answer); err != nil {
		return nil, err
	}
	if len(answer.Content) != 1 || answer.Content[0] == nil {
		return nil, errors.New("it is empty")
	}
	return answer.Content[0], nil
}

// maxUnknown is how much of an undecodable content block is shown, in bytes.
const maxUnknown = 4 << 10

// addUnknown describes a content block that the SDK cannot decode, because its type is unknown or it is malformed.
func (p *parts) addUnknown(raw json.RawMessage) {
	var block struct{ Type, URI string }
	_ = json.Unmarshal(raw, &block) // a block that is not an object has no type
	what := fmt.Sprintf("content of unknown type %q", clip.Bytes(block.Type, maxName))
	if slices.Contains([]string{"text", "image", "audio", "resource", "resource_link"}, block.Type) {
		what = "malformed content of type " + block.Type
	}
	if len(raw) <= maxUnknown {
		p.say("[" + what + "]")
		p.addJSON(what, block.URI, raw)
	} else if p.keep(what, tool.Artifact{MIMEType: "application/json", Name: block.URI, JSON: raw}) {
		p.say(fmt.Sprintf("[%s, %d bytes: kept as an artifact]", what, len(raw)))
	}
}

// addJSON shows a block's JSON and keeps it.
func (p *parts) addJSON(what, name string, raw json.RawMessage) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		p.say(fmt.Sprintf("[content that cannot be shown: %v]", err))
		return
	}
	p.say(compact.String())
	p.keep(what, tool.Artifact{MIMEType: "application/json", Name: name, JSON: compact.Bytes()})
}

func (p *parts) add(content mcp.Content) {
	switch c := content.(type) {
	case *mcp.TextContent:
		p.say(c.Text)
	case *mcp.ImageContent:
		p.show("image", tool.Artifact{MIMEType: c.MIMEType, Data: c.Data})
	case *mcp.AudioContent:
		p.show("audio", tool.Artifact{MIMEType: c.MIMEType, Data: c.Data})
	case *mcp.EmbeddedResource:
		p.addResource(c.Resource)
	default:
		data, err := json.Marshal(content)
		if err != nil {
			p.say(fmt.Sprintf("[content that cannot be shown: %v]", err))
			return
		}
		p.addJSON("content", "", data)
	}
}

func (p *parts) addResource(r *mcp.ResourceContents) {
	switch {
	case r == nil:
		p.say("[empty resource]")
	case r.Blob != nil:
		p.show("resource "+r.URI, tool.Artifact{MIMEType: r.MIMEType, Name: r.URI, Data: r.Blob})
	default:
		p.say(fmt.Sprintf("[resource %s]\n%s", r.URI, r.Text))
		text := []byte(tool.ValidText(r.Text))
		p.keep("resource "+r.URI, tool.Artifact{MIMEType: cmp.Or(r.MIMEType, "text/plain"), Name: r.URI, Data: text})
	}
}

// addStructured adds the parts of structured content that the result does not contain already: servers repeat their
// text in it, as MCP recommends, and their images. If a text part is exactly the same JSON, the artifact has it in the
// server's own form.
func (p *parts) addStructured(value any) {
	if value == nil {
		return
	}
	same := p.saying(value)
	if same == "" {
		if value = p.unsaid(value); value == nil {
			return
		}
	}
	data, err := encode(value)
	switch {
	case err != nil:
		p.say(fmt.Sprintf("[structured content that cannot be shown: %v]", err))
		return
	case same != "":
		data = json.RawMessage(same)
	default:
		p.say(string(data))
	}
	p.keep("structured content", tool.Artifact{MIMEType: "application/json", Name: "structuredContent", JSON: data})
}

// unsaid returns the new part of structured content, or nil.
func (p *parts) unsaid(value any) any {
	object, ok := value.(map[string]any)
	if !ok {
		if p.says(value) {
			return nil
		}
		return value
	}
	rest := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !p.says(object[name]) {
			rest[name] = object[name]
		}
	}
	if len(rest) == 0 && len(object) > 0 {
		return nil
	}
	return rest
}

// says reports whether the result already contains a structured value. A new content block in it is added as such,
// because an image is not text.
func (p *parts) says(value any) bool {
	if p.saying(value) != "" {
		return true
	}
	switch v := value.(type) {
	case string:
		same := func(text string) bool { return strings.TrimSpace(text) == strings.TrimSpace(tool.ValidText(v)) }
		return slices.ContainsFunc(p.texts, same) || same(strings.Join(p.texts, "\n"))
	case []any:
		all := len(v) > 0
		for _, element := range v {
			all = p.says(element) && all
		}
		return all
	case map[string]any:
		if content := block(v); content != nil {
			p.addNew(content)
			return true
		}
		all := len(v) > 0
		for _, element := range v {
			all = p.says(element) && all
		}
		return all
	}
	return false
}

// block returns the content that a structured value describes, or nil.
func block(value map[string]any) mcp.Content {
	switch value["type"] {
	case "text", "image", "audio", "resource":
	default:
		return nil
	}
	raw, err := encode(value)
	if err != nil {
		return nil
	}
	content, err := contentOf(raw)
	if err != nil {
		return nil
	}
	return content
}

// addNew adds content that is new.
func (p *parts) addNew(content mcp.Content) {
	alone, more := parts{}, parts{artifacts: p.artifacts} // more knows how much is kept
	alone.add(content)
	more.add(content)
	old := func(a tool.Artifact) bool {
		return len(alone.artifacts) == 1 && bytes.Equal(a.Data, alone.artifacts[0].Data)
	}
	said := len(more.artifacts) == len(p.artifacts) && slices.Contains(p.texts, more.texts[0])
	if !said && !slices.ContainsFunc(p.artifacts, old) {
		p.texts, p.artifacts = append(p.texts, more.texts...), more.artifacts
	}
}

// saying returns the text part that is a value's JSON.
func (p *parts) saying(value any) string {
	for _, text := range p.texts {
		if said, err := decode([]byte(text)); err == nil && equal(said, value) {
			return text
		}
	}
	return ""
}

// The limits on artifacts of a result.
const (
	maxArtifact  = 16 << 20 // bytes
	maxArtifacts = 50
	maxName      = 1000 // bytes of an artifact's name, which every reader of the journal reads
)

// show keeps a part that is not text, and mentions it in the text.
func (p *parts) show(what string, a tool.Artifact) {
	if p.keep(what, a) {
		p.say(fmt.Sprintf("[%s, %s, %d bytes: kept as an artifact]", what, a.MIMEType, len(a.Data)))
	}
}

// keep adds an artifact, or mentions that it is one too many or too large.
func (p *parts) keep(what string, a tool.Artifact) bool {
	a.MIMEType, a.Name = clip.Bytes(tool.ValidText(a.MIMEType), maxName), clip.Bytes(tool.ValidText(a.Name), maxName)
	if size := len(a.Data) + len(a.JSON); size > maxArtifact || len(p.artifacts) >= maxArtifacts {
		const text = "[%s, %s, %d bytes: not kept (limit per result: %d artifacts of %d bytes each)]"
		p.say(fmt.Sprintf(text, what, a.MIMEType, size, maxArtifacts, maxArtifact))
		return false
	}
	p.artifacts = append(p.artifacts, a)
	return true
}

func (p *parts) say(text string) { p.texts = append(p.texts, tool.ValidText(text)) }

func (p *parts) text(none string) string {
	if text := strings.Join(p.texts, "\n"); strings.TrimSpace(text) != "" {
		return text
	}
	return none
}
