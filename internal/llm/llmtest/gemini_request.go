package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

type geminiRequest struct {
	Contents []geminiContent `json:"contents"`
	System   geminiContent   `json:"systemInstruction"`
	Tools    []struct {
		Functions []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			JSONSchema  json.RawMessage `json:"parametersJsonSchema"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"functionDeclarations"`
		Search *struct{} `json:"googleSearch"`
		Pages  *struct{} `json:"urlContext"`
		Code   *struct{} `json:"codeExecution"`
	} `json:"tools"`
	ToolConfig struct {
		Both bool `json:"includeServerSideToolInvocations"`
	} `json:"toolConfig"`
	Config struct {
		MIMEType    string   `json:"responseMimeType"`
		MaxTokens   int      `json:"maxOutputTokens"`
		Temperature *float64 `json:"temperature"`
	} `json:"generationConfig"`
}

// decodeGemini converts a request in Gemini's format to OpenAI's form.
func decodeGemini(r *http.Request, body []byte) (Request, error) {
	model, method, _ := strings.Cut(r.PathValue("call"), ":")
	req := Request{
		Model: model, Wire: Gemini, Stream: method == "streamGenerateContent",
		Body: body, Header: r.Header.Clone(), Key: r.Header.Get("X-Goog-Api-Key"),
	}
	req.Header.Del("X-Goog-Api-Key")
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok { // on Vertex AI
		req.Key = token
		req.Header.Del("Authorization")
	}
	if r.URL.Query().Get("alt") != "sse" {
		req.Wire = GeminiArray
	}
	req.numbers = strings.Contains(r.URL.Query().Get("$alt"), "enum-encoding=int")
	var in geminiRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return req, fmt.Errorf("decode request: %w", err)
	}
	if !req.Stream && method != "generateContent" {
		return req, fmt.Errorf("no method %q", method)
	}
	req.MaxTokens, req.Temperature = in.Config.MaxTokens, in.Config.Temperature
	in.System.Role = "system"
	for _, c := range append([]geminiContent{in.System}, in.Contents...) {
		req.Messages = append(req.Messages, c.messages()...)
	}
	req.addTools(in)
	return req, errors.Join(in.refused(model), geminiTurns(body))
}

// refused returns Google's error for tools that a model cannot combine.
// https://ai.google.dev/gemini-api/docs/tool-combination
func (in geminiRequest) refused(model string) error {
	functions, native := false, false
	for _, group := range in.Tools {
		functions = functions || len(group.Functions) > 0
		native = native || group.Search != nil || group.Pages != nil || group.Code != nil
	}
	switch newer := strings.HasPrefix(model, "gemini-3"); {
	case newer && functions && native && !in.ToolConfig.Both:
		return errors.New("Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling.")
	case newer:
		return nil
	case functions && native:
		return errors.New("Tool use with function calling is unsupported")
	case (functions || native) && in.Config.MIMEType == "application/json":
		return errors.New("Tool use with a response mime type: 'application/json' is unsupported")
	}
	return nil
}

func (r *Request) addTools(in geminiRequest) {
	for _, group := range in.Tools {
		for _, f := range group.Functions {
			tool := Tool{Type: "function"}
			tool.Function.Name, tool.Function.Description, tool.Function.Parameters = f.Name, f.Description, f.JSONSchema
			if tool.Function.Parameters == nil {
				tool.Function.Parameters = f.Parameters
			}
			r.Tools = append(r.Tools, tool)
		}
	}
}

// messages converts a content to messages: one for its text and calls, and one for each tool result.
func (c geminiContent) messages() []Message {
	var results []Message
	said := Message{Role: c.Role}
	if c.Role == "model" {
		said.Role = "assistant"
	}
	for _, p := range c.Parts {
		if p.Signature != "" {
			said.Signature = p.Signature
		}
		switch {
		case p.Response != nil:
			results = append(results, p.Response.message())
		case p.Call != nil:
			said.ToolCalls = append(said.ToolCalls, p.toolCall())
		case p.Text != nil && !p.Thought:
			text := said.Text() + *p.Text
			said.Content = &text
		case p.Text == nil:
			said.image = true
		}
	}
	if said.Content == nil && said.ToolCalls == nil {
		return results
	}
	return append(results, said)
}

func (p geminiPart) toolCall() ToolCall {
	call := ToolCall{ID: p.Call.ID, Type: "function", Signature: p.Signature}
	call.Function.Name, call.Function.Arguments = p.Call.Name, string(p.Call.Args)
	return call
}

// message returns a tool's result. Without an id it is identified by the tool's name.
func (r geminiResponse) message() Message {
	var fields struct {
		Output *string `json:"output"`
	}
	text := string(r.Response)
	if json.Unmarshal(r.Response, &fields) == nil && fields.Output != nil {
		text = *fields.Output
	}
	id := r.ID
	if id == "" {
		id = r.Name
	}
	return Message{Role: "tool", Content: &text, ToolCallID: id}
}

// geminiData are the fields of which a part must have exactly one. https://ai.google.dev/api/caching#Part
var geminiData = []string{
	"text", "inlineData", "functionCall", "functionResponse", "fileData", "executableCode", "codeExecutionResult", "toolCall", "toolResponse",
}

// geminiRequired are the required fields of a part's data.
var geminiRequired = map[string][]string{
	"inlineData": {"mimeType", "data"}, "fileData": {"fileUri"}, "functionCall": {"name"}, "functionResponse": {"name", "response"},
	"executableCode": {"language", "code"}, "codeExecutionResult": {"outcome"}, "toolCall": {"toolType"}, "toolResponse": {"toolType"},
}

// rawContent is a turn of a request to Gemini, with parts as they were sent.
type rawContent struct {
	Role  string
	Parts []map[string]json.RawMessage
}

// geminiTurns checks the turns of a request as Google does: their roles, their parts, and that the answers to calls follow the calls.
// https://ai.google.dev/gemini-api/docs/function-calling
func geminiTurns(body []byte) error {
	var in struct{ Contents []rawContent }
	if err := json.Unmarshal(body, &in); err != nil || len(in.Contents) == 0 {
		return errors.New("* GenerateContentRequest.contents: contents is not specified")
	}
	var open []geminiResponse // the calls of the previous turn
	for i, turn := range in.Contents {
		at := fmt.Sprintf("contents[%d]", i)
		if turn.Role != "user" && turn.Role != "model" {
			return errors.New("Please use a valid role: user, model.")
		}
		if len(turn.Parts) == 0 {
			return fmt.Errorf("* GenerateContentRequest.%s.parts: contents.parts must not be empty.", at)
		}
		var calls []geminiResponse
		for n, p := range turn.Parts {
			field, err := geminiField(fmt.Sprintf("%s.parts[%d]", at, n), turn.Role, p)
			if err != nil {
				return err
			}
			var link geminiResponse // calls and responses have the same identifying fields
			_ = json.Unmarshal(p[field], &link)
			switch field {
			case "functionCall":
				calls = append(calls, link)
			case "functionResponse":
				known := slices.IndexFunc(open, func(call geminiResponse) bool { return call.ID == link.ID && call.Name == link.Name })
				if known < 0 {
					return errors.New("Please ensure that function response turn comes immediately after a function call turn.")
				}
				open = slices.Delete(open, known, known+1)
			}
		}
		if len(open) > 0 {
			return errors.New("Please ensure that the number of function response parts is equal to the number of function call parts " +
				"of the function call turn.")
		}
		if len(calls) > 0 && i == 0 {
			return errors.New("Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
		}
		open = calls
	}
	if len(open) > 0 {
		return errors.New("Please ensure that function response turn comes immediately after a function call turn.")
	}
	return nil
}

// geminiField returns the data field of a part, or Google's error about the part.
func geminiField(at, role string, part map[string]json.RawMessage) (string, error) {
	var data []string
	for _, field := range slices.Sorted(maps.Keys(part)) {
		if slices.Contains(geminiData, field) {
			data = append(data, field)
		}
	}
	switch {
	case len(data) == 0:
		return "", fmt.Errorf("* GenerateContentRequest.%s.data: required oneof field 'data' must have one initialized field", at)
	case len(data) > 1:
		return "", fmt.Errorf("Invalid value at '%s' (oneof), oneof field 'data' is already set. Cannot set '%s'", at, data[1])
	case data[0] == "functionCall" && role != "model", data[0] == "functionResponse" && role != "user":
		return "", fmt.Errorf("%s: %s is not allowed in a turn of the role %s", at, data[0], role)
	}
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(part[data[0]], &fields) // a text has no fields
	for _, name := range geminiRequired[data[0]] {
		if value := string(fields[name]); value == "" || value == `""` || value == "null" {
			return "", fmt.Errorf("* GenerateContentRequest.%s.%s.%s: field is required", at, data[0], name)
		}
	}
	var signature string
	if raw, signed := part["thoughtSignature"]; signed {
		if json.Unmarshal(raw, &signature) != nil || !isBase64(signature) {
			return "", fmt.Errorf("Invalid value at '%s.thought_signature' (TYPE_BYTES), Base64 decoding failed for %s", at, raw)
		}
	}
	return data[0], nil
}

// isBase64 reports whether a text is base64 in one of the two alphabets that Google accepts, and not empty.
func isBase64(text string) bool {
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
		if _, err := encoding.DecodeString(text); err == nil && text != "" {
			return true
		}
	}
	return false
}
