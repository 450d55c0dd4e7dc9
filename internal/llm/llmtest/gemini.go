package llmtest

import (
	"encoding/json"
	"slices"
	"strings"
)

// geminiFormat is the format of generateContent: a stream of events or, as an array, the same objects in one JSON text.
type geminiFormat struct{ array bool }

// geminiReply is a chunk of a stream, or a complete reply.
type geminiReply struct {
	Candidates []geminiCandidate `json:"candidates,omitempty"`
	Usage      *geminiUsage      `json:"usageMetadata,omitempty"`
	Model      string            `json:"modelVersion"`
}

type geminiCandidate struct {
	Content geminiContent `json:"content"`
	Finish  string        `json:"finishReason,omitempty"`
	Index   int           `json:"index"`
}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

type geminiPart struct {
	Text      *string         `json:"text,omitempty"`
	Thought   bool            `json:"thought,omitempty"`
	Call      *geminiCall     `json:"functionCall,omitempty"`
	Response  *geminiResponse `json:"functionResponse,omitempty"`
	Signature string          `json:"thoughtSignature,omitempty"`
}

type geminiCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type geminiResponse struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Response json.RawMessage `json:"response"`
}

type geminiUsage struct {
	Prompt     int `json:"promptTokenCount"`
	Candidates int `json:"candidatesTokenCount"`
	Total      int `json:"totalTokenCount"`
}

// chunks sends one part at a time. Like Gemini, it sends a call in one piece, and the last chunk has the finish reason,
// the usage, and a part without content.
func (f geminiFormat) chunks(r Reply, req Request) []string {
	var out []string
	send := func(p geminiPart) { out = append(out, f.render(r, req, []geminiPart{p}, false)) }
	for _, text := range split(r.thinking, r.size) {
		send(geminiPart{Text: &text, Thought: true})
	}
	for _, text := range split(r.text, r.size) {
		send(geminiPart{Text: &text})
	}
	for _, part := range r.geminiCalls() {
		send(part)
	}
	if r.fault.noFinish {
		return out
	}
	return append(out, f.render(r, req, []geminiPart{r.lastPart()}, true))
}

func (f geminiFormat) whole(r Reply, req Request) string {
	var parts []geminiPart
	if r.thinking != "" {
		parts = append(parts, geminiPart{Text: &r.thinking, Thought: true})
	}
	if r.text != "" {
		parts = append(parts, geminiPart{Text: &r.text})
	}
	return f.render(r, req, slices.Concat(parts, r.geminiCalls(), []geminiPart{r.lastPart()}), true)
}

func (f geminiFormat) say(r Reply, req Request, text string) string {
	return f.render(r, req, []geminiPart{{Text: &text}}, false)
}

func (geminiFormat) render(r Reply, req Request, parts []geminiPart, last bool) string {
	out := geminiReply{Model: r.model}
	if out.Model == "" {
		out.Model = req.Model
	}
	candidate := geminiCandidate{Content: geminiContent{Role: "model", Parts: parts}}
	if last {
		candidate.Finish = r.geminiFinish()
		if use := r.tokens(req); use != nil {
			out.Usage = &geminiUsage{Prompt: use.Prompt, Candidates: use.Completion, Total: use.Total}
		}
	}
	out.Candidates = []geminiCandidate{candidate}
	data, err := json.Marshal(out)
	if err != nil { // a mistake in the script: a call's arguments are not JSON
		return `{"error":{"code":500,"status":"INTERNAL","message":"llmtest: the arguments of a call are not JSON"}}`
	}
	return string(data)
}

func (r Reply) geminiCalls() []geminiPart {
	var out []geminiPart
	for i, c := range r.calls {
		part := geminiPart{Call: &geminiCall{ID: c.ID, Name: c.Name, Args: json.RawMessage(c.Args)}}
		if i == 0 {
			part.Signature = r.signature
		}
		out = append(out, part)
	}
	return out
}

func (r Reply) lastPart() geminiPart {
	empty := geminiPart{Text: new(string)}
	if len(r.calls) == 0 {
		empty.Signature = r.signature
	}
	return empty
}

// geminiFinish returns the finish reason in Gemini's words. A custom reason of the script is returned unchanged.
func (r Reply) geminiFinish() string {
	switch r.finish {
	case "", "stop", "tool_calls":
		return "STOP"
	case "length":
		return "MAX_TOKENS"
	case "content_filter":
		return "SAFETY"
	}
	return r.finish
}

// frame ends lines like Google: each event is one line.
func (f geminiFormat) frame(n int, data string) string {
	switch {
	case !f.array:
		return "data: " + strings.ReplaceAll(data, "\n", " ") + "\r\n\r\n"
	case n == 0:
		return "[" + data
	}
	return ",\r\n" + data
}

func (f geminiFormat) end(n int, _ bool) string {
	if !f.array {
		return ""
	}
	return strings.Repeat("[", max(1-n, 0)) + "]"
}
