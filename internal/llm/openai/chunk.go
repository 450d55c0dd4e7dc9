package openai

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// chunk is one event of a stream, or a whole answer in plain JSON. Only the model's text can make it unreadable:
// everything else is bookkeeping, which servers write in many ways.
type chunk struct {
	Object  llm.Word         `json:"object"`
	Model   llm.Word         `json:"model"`
	Choices choices          `json:"choices"`
	Usage   llm.Loose[usage] `json:"usage"`
	Groq    llm.Loose[struct {
		Usage llm.Loose[usage] `json:"usage"`
	}] `json:"x_groq"` // Groq's, in the last chunk of older versions
	Error   json.RawMessage  `json:"error"`
	Errors  json.RawMessage  `json:"errors"`
	Detail  json.RawMessage  `json:"detail"`
	Success llm.Loose[*bool] `json:"success"`
	Type    llm.Word         `json:"type"`
}

// failed reports whether a chunk is an error. An empty error object beside an answer is not an error.
func (c chunk) failed() bool {
	if len(c.Choices) > 0 {
		return !llm.EmptyJSON(c.Error) && llm.ErrorWords(slices.Concat([]byte(`{"error":`), c.Error, []byte(`}`))) != ""
	}
	refused := c.Success.V != nil && !*c.Success.V
	return !llm.EmptyJSON(c.Error) || !llm.EmptyJSON(c.Errors) || !llm.EmptyJSON(c.Detail) || refused ||
		c.Object == "error" || c.Type == "error"
}

type choice struct {
	Index   llm.Index        `json:"index"`
	Delta   llm.Loose[delta] `json:"delta"`
	Message llm.Loose[delta] `json:"message"` // in plain JSON, instead of a delta
	Text    content          `json:"text"`    // of servers with the older completions API
	Finish  llm.Word         `json:"finish_reason"`
	Usage   llm.Loose[usage] `json:"usage"` // Moonshot's, in the last chunk
}

// choices is the list of a chunk's choices. Some gateways send a single choice, or an object with the choices by number,
// which is empty in a chunk without any.
type choices []choice

// UnmarshalJSON fails for anything else.
func (c *choices) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil {
		return json.Unmarshal(data, (*[]choice)(c))
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		number, err := strconv.Atoi(name)
		if err != nil {
			*c = make(choices, 1)
			return json.Unmarshal(data, &(*c)[0])
		}
		next := choice{Index: llm.Index{N: number, Known: true}}
		if err := json.Unmarshal(fields[name], &next); err != nil {
			return err
		}
		*c = append(*c, next)
	}
	return nil
}

// said returns the text of a choice. whole means that it may be the reply so far, and not a piece of it.
func (c choice) said() (d delta, whole bool) {
	d = c.Delta.V
	if d.nothing() {
		d = c.Message.V
		whole = !d.nothing()
	}
	if d.nothing() {
		d.Content = c.Text
	}
	return d, whole
}

// minWhole is how much of a reply a message must repeat, in bytes, to count as the whole reply and not as a piece, if
// only messages have arrived.
const minWhole = 16

// unsaid returns what a message adds to the reply, which gateways repeat as a whole in the last chunk or in each.
func (r *reply) unsaid(d delta, last bool) delta {
	rest := func(before, now string) string {
		more, ok := strings.CutPrefix(now, before)
		switch {
		case ok && (r.pieces || last || len(before) >= minWhole):
			return more
		case r.pieces && before != "":
			return ""
		}
		return now
	}
	thinking := rest(r.thinking.String(), d.thinking())
	out := delta{Content: content{text: rest(r.content.String(), d.said())}, FunctionCall: d.FunctionCall}
	if thinking != "" && d.ReasoningContent.all() != "" {
		out.ReasoningContent.text = thinking
	} else {
		out.Reasoning.text = thinking
	}
	if thinking == d.thinking() {
		out.Details = d.Details
	}
	for _, part := range d.calls() {
		if !r.pieces || !r.calls.known(part) {
			out.ToolCalls = append(out.ToolCalls, part)
		}
	}
	if r.pieces && (len(r.calls.all) > 0 || len(r.old.all) > 0) {
		out.FunctionCall.V = nil
	}
	return out
}

// delta is loose: its fields decode every JSON value.
type delta struct {
	Content          content              `json:"content"`
	Refusal          content              `json:"refusal"`           // OpenAI: text instead of the content
	ReasoningContent content              `json:"reasoning_content"` // DeepSeek, vLLM, xAI
	Reasoning        content              `json:"reasoning"`         // OpenRouter, Ollama, Groq
	Details          details              `json:"reasoning_details"` // OpenRouter
	ToolCalls        callParts            `json:"tool_calls"`
	FunctionCall     llm.Loose[*function] `json:"function_call"` // the form before tool_calls
}

// nothing reports whether a delta has no field with a value.
func (d delta) nothing() bool {
	return d.said() == "" && d.thinking() == "" && len(d.Details) == 0 && len(d.calls()) == 0 &&
		d.FunctionCall.V == nil
}

// calls returns the calls, or their pieces, from all fields.
func (d delta) calls() []callPart { return append(d.ToolCalls, d.Content.calls...) }

// usage is the usage of a call. The library's type lacks fields that servers other than OpenAI's report.
type usage struct {
	Prompt     llm.Count `json:"prompt_tokens"`
	Completion llm.Count `json:"completion_tokens"`
	Input      llm.Count `json:"input_tokens"`  // from gateways that translate other wire formats
	Output     llm.Count `json:"output_tokens"` // the same
	Total      llm.Count `json:"total_tokens"`
	CacheHit   llm.Count `json:"prompt_cache_hit_tokens"` // DeepSeek's cached_tokens
	Cached     llm.Count `json:"cached_tokens"`           // Moonshot's
	In         llm.Loose[struct {
		Cached     llm.Count `json:"cached_tokens"`
		CacheWrite llm.Count `json:"cache_write_tokens"` // OpenRouter
		Image      llm.Count `json:"image_tokens"`       // xAI
	}] `json:"prompt_tokens_details"`
	Out llm.Loose[struct {
		Reasoning llm.Count `json:"reasoning_tokens"`
	}] `json:"completion_tokens_details"`
}

// usage converts the call's usage. xAI and Gemini count thinking separately from the completion, and other servers
// include it. Only the total shows which, and for Gemini also the amount.
// https://docs.x.ai/docs/key-information/consumption-and-rate-limits (2026-11-22),
// https://discuss.ai.google.dev/t/question-with-usage-in-openai-compatibility/98760 (2026-11-23)
func (u usage) usage() agent.Usage {
	prompt, completion := cmp.Or(u.Prompt, u.Input), cmp.Or(u.Completion, u.Output)
	beside := u.Total - prompt - completion
	reasoning := u.Out.V.Reasoning
	if beside > 0 && (reasoning == 0 || reasoning == beside) {
		completion += beside
		reasoning = beside
	}
	return agent.Usage{
		InputTokens: int(prompt), OutputTokens: int(completion),
		CacheReadTokens: int(cmp.Or(u.In.V.Cached, u.CacheHit, u.Cached)), CacheWriteTokens: int(u.In.V.CacheWrite),
		ReasoningTokens: int(reasoning), ImageTokens: int(u.In.V.Image),
	}
}

// content is text. Mistral's reasoning models send a list of parts instead, including thinking; some gateways send a
// single part, or Claude's calls among the parts.
type content struct {
	text, thinking string
	calls          []callPart
	given          bool // the field is there and not null
}

// UnmarshalJSON decodes a text, a part or a list of parts. It never fails.
func (c *content) UnmarshalJSON(data []byte) error {
	c.given = string(data) != "null"
	if json.Unmarshal(data, &c.text) == nil {
		return nil
	}
	c.text = ""
	c.take(data, false, 0)
	return nil
}

// maxContentDepth limits the nesting of parts.
const maxContentDepth = 8

// take adds a part. thought means that it belongs to thinking.
func (c *content) take(data json.RawMessage, thought bool, depth int) {
	var text string
	var list []json.RawMessage
	var part struct {
		Type     llm.Word        `json:"type"`
		Text     json.RawMessage `json:"text"`
		Content  json.RawMessage `json:"content"`
		Value    json.RawMessage `json:"value"`
		Summary  json.RawMessage `json:"summary"`
		Thinking json.RawMessage `json:"thinking"`
		Refusal  json.RawMessage `json:"refusal"`
		ID       llm.Word        `json:"id"`
		Name     llm.Word        `json:"name"`
		Input    llm.Piece       `json:"input"`
	}
	switch {
	case depth > maxContentDepth || len(data) == 0:
	case json.Unmarshal(data, &text) == nil && thought:
		c.thinking += text
	case json.Unmarshal(data, &text) == nil:
		c.text += text
	case json.Unmarshal(data, &list) == nil:
		for _, element := range list {
			c.take(element, thought, depth+1)
		}
	case json.Unmarshal(data, &part) == nil && part.Type == "tool_use" && part.Name != "":
		c.calls = append(c.calls, callPart{ID: part.ID, function: function{Name: part.Name, Input: part.Input}})
	case json.Unmarshal(data, &part) == nil:
		thought = thought || part.Type == "thinking" || part.Type == "reasoning"
		for _, inner := range []json.RawMessage{part.Text, part.Content, part.Value, part.Summary, part.Refusal} {
			c.take(inner, thought, depth+1)
		}
		c.take(part.Thinking, true, depth+1)
	}
}

// details are OpenRouter's details about thinking. Anything but a list of objects is ignored.
type details []map[string]any

// UnmarshalJSON never fails.
func (d *details) UnmarshalJSON(data []byte) error {
	var all []map[string]any
	if json.Unmarshal(data, &all) == nil {
		*d = all
	}
	return nil
}

// joiner assembles details from pieces: text continues where it stopped, and its signature comes last.
type joiner struct {
	whole details
	texts map[string]*strings.Builder // of the last one, by field
}

func (j *joiner) add(more details) {
	for _, next := range more {
		if next == nil {
			continue
		}
		if n := len(j.whole) - 1; n < 0 || !continues(j.whole[n], next) {
			j.joined()
			j.whole, j.texts = append(j.whole, maps.Clone(next)), map[string]*strings.Builder{}
		}
		for field, value := range next {
			text, ok := value.(string)
			if ok && (field == "text" || field == "summary") {
				if j.texts[field] == nil {
					j.texts[field] = new(strings.Builder)
				}
				j.texts[field].WriteString(text)
			} else if value != nil {
				j.whole[len(j.whole)-1][field] = value
			}
		}
	}
}

// joined returns the assembled details.
func (j *joiner) joined() details {
	for field, text := range j.texts {
		j.whole[len(j.whole)-1][field] = text.String()
	}
	return j.whole
}

// signed reports whether a detail is encrypted or has a signature.
func (j *joiner) signed() bool {
	return slices.ContainsFunc(j.whole, func(detail map[string]any) bool {
		signature, _ := detail["signature"].(string)
		data, _ := detail["data"].(string)
		return signature != "" || data != ""
	})
}

// continues reports whether a detail is the next piece of another one. Encrypted details are always complete.
func continues(last, next map[string]any) bool {
	kind, _ := next["type"].(string)
	pieces := kind == "reasoning.text" || kind == "reasoning.summary"
	return pieces && reflect.DeepEqual(last["type"], next["type"]) && reflect.DeepEqual(last["index"], next["index"])
}

// said returns the visible text. A refusal replaces the content.
func (d delta) said() string { return d.Content.text + d.Refusal.text }

// thinking returns the thinking from one of three fields. Servers that fill several repeat the same text.
func (d delta) thinking() string {
	return cmp.Or(d.ReasoningContent.all(), d.Reasoning.all(), d.Content.thinking)
}

// all returns a text that consists only of thinking.
func (c content) all() string { return c.thinking + c.text }
