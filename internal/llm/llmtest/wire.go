package llmtest

import (
	"encoding/json"
	"fmt"
)

// openAIFormat is the format of chat completions.
type openAIFormat struct{}

// completion is a chunk of a stream, or a complete reply.
type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

type choice struct {
	Index   int      `json:"index"`
	Delta   *message `json:"delta,omitempty"`
	Message *message `json:"message,omitempty"`
	Finish  *string  `json:"finish_reason"`
}

type message struct {
	Role      string     `json:"role,omitempty"`
	Content   string     `json:"content,omitempty"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

type toolCall struct {
	Index    *int     `json:"index,omitempty"` // in streams
	ID       string   `json:"id,omitempty"`
	Type     string   `json:"type,omitempty"`
	Function function `json:"function"`
}

type function struct {
	Name string `json:"name,omitempty"`
	Args string `json:"arguments"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`

	Details *promptDetails `json:"prompt_tokens_details,omitempty"`
}

func (openAIFormat) chunks(r Reply, req Request) []string {
	var out []string
	send := func(m message) {
		if len(out) == 0 {
			m.Role = "assistant"
		}
		out = append(out, r.completion(req, choice{Delta: &m}))
	}
	for _, part := range split(r.thinking, r.size) {
		send(message{Reasoning: part})
	}
	for _, part := range split(r.text, r.size) {
		send(message{Content: part})
	}
	for i, call := range r.toolCalls() {
		args := call.Function.Args
		call.Function.Args = ""
		call.Index = &i
		send(message{ToolCalls: []toolCall{call}})
		for _, part := range split(args, r.size) {
			send(message{ToolCalls: []toolCall{{Index: &i, Function: function{Args: part}}}})
		}
	}
	if r.fault.noFinish {
		return out
	}
	reason := r.reason()
	out = append(out, r.completion(req, choice{Delta: &message{}, Finish: &reason}))
	if use := r.tokens(req); use != nil && req.Options.IncludeUsage {
		out = append(out, r.render(req, completion{Object: "chat.completion.chunk", Choices: []choice{}, Usage: use}))
	}
	return out
}

func (openAIFormat) whole(r Reply, req Request) string {
	reason := r.reason()
	m := message{Role: "assistant", Content: r.text, Reasoning: r.thinking, ToolCalls: r.toolCalls()}
	return r.render(req, completion{
		Object:  "chat.completion",
		Choices: []choice{{Message: &m, Finish: &reason}},
		Usage:   r.tokens(req),
	})
}

func (openAIFormat) say(r Reply, req Request, text string) string {
	return r.completion(req, choice{Delta: &message{Content: text}})
}

func (openAIFormat) refusal(f fault) (int, string) { return f.status, errorBody(f.code, f.message) }

func (openAIFormat) frame(_ int, data string) string { return "data: " + data + "\n\n" }

func (f openAIFormat) end(n int, finished bool) string {
	if !finished {
		return ""
	}
	return f.frame(n, "[DONE]")
}

func errorBody(code, message string) string {
	type object struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    string `json:"code"`
	}
	body, _ := json.Marshal(map[string]object{"error": {message, code, code}}) // cannot fail: strings
	return string(body)
}

func (r Reply) completion(req Request, c choice) string {
	return r.render(req, completion{Object: "chat.completion.chunk", Choices: []choice{c}})
}

func (r Reply) render(req Request, c completion) string {
	c.ID, c.Model = "chatcmpl-llmtest", r.model
	if c.Model == "" {
		c.Model = req.Model
	}
	data, _ := json.Marshal(c) // cannot fail: strings and numbers
	return string(data)
}

func (r Reply) toolCalls() []toolCall {
	var out []toolCall
	for i, c := range r.calls {
		if c.ID == "" {
			c.ID = fmt.Sprintf("call_%d", i)
		}
		out = append(out, toolCall{ID: c.ID, Type: "function", Function: function{Name: c.Name, Args: c.Args}})
	}
	return out
}

func (r Reply) reason() string {
	switch {
	case r.finish != "":
		return r.finish
	case len(r.calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

// tokens returns the usage to report, or nil.
func (r Reply) tokens(req Request) *usage {
	if r.usage != nil {
		if r.usage.Total == 0 {
			return nil
		}
		return r.usage
	}
	in, out := len(req.Body)/4, (len(r.text)+len(r.thinking))/4+1
	return &usage{Prompt: in, Completion: out, Total: in + out}
}

// split cuts a text into parts of size characters. A size of zero means one part; an empty text has none.
func split(text string, size int) []string {
	var out []string
	for runes := []rune(text); len(runes) > 0; {
		n := len(runes)
		if size > 0 {
			n = min(size, n)
		}
		out = append(out, string(runes[:n]))
		runes = runes[n:]
	}
	return out
}
