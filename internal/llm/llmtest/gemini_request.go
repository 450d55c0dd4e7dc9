package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
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
