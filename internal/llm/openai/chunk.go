package openai

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"strings"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/inquest-dev/inquest/internal/agent"
)

// chunk is one event of a stream, or the whole of an answer in plain JSON.
type chunk struct {
	Object  string   `json:"object"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage"`
	Error   *failure `json:"error"`
}

type choice struct {
	Delta   delta            `json:"delta"`
	Message *delta           `json:"message"` // in plain JSON, instead of a delta
	Finish  sdk.FinishReason `json:"finish_reason"`
	Usage   *usage           `json:"usage"` // Moonshot's, in the last chunk
}

type delta struct {
	Content          content    `json:"content"`
	Refusal          string     `json:"refusal"`           // OpenAI: a text in place of the content
	ReasoningContent string     `json:"reasoning_content"` // DeepSeek, vLLM, xAI
	Reasoning        string     `json:"reasoning"`         // OpenRouter, Ollama, Groq
	Details          details    `json:"reasoning_details"` // OpenRouter
	ToolCalls        []chatCall `json:"tool_calls"`
}

// usage is what a call took. The library's type lacks what servers other than OpenAI's report.
type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	CacheHit   int `json:"prompt_cache_hit_tokens"` // DeepSeek's cached_tokens
	Cached     int `json:"cached_tokens"`           // Moonshot's
	In         struct {
		Cached     int `json:"cached_tokens"`
		CacheWrite int `json:"cache_write_tokens"` // OpenRouter
		Image      int `json:"image_tokens"`       // xAI
	} `json:"prompt_tokens_details"`
	Out struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// usage is the call's in our meaning. xAI and Gemini count thoughts beside the completion, others
// within; the total tells, and of Gemini's nothing else does.
// https://docs.x.ai/docs/key-information/consumption-and-rate-limits (2026-11-22),
// https://discuss.ai.google.dev/t/question-with-usage-in-openai-compatibility/98760 (2026-11-23)
func (u usage) usage() agent.Usage {
	beside := u.Total - u.Prompt - u.Completion
	out := agent.Usage{
		InputTokens: u.Prompt, OutputTokens: u.Completion,
		CacheReadTokens: cmp.Or(u.In.Cached, u.CacheHit, u.Cached), CacheWriteTokens: u.In.CacheWrite,
		ReasoningTokens: u.Out.Reasoning, ImageTokens: u.In.Image,
	}
	if beside > 0 && (u.Out.Reasoning == 0 || u.Out.Reasoning == beside) {
		out.OutputTokens += beside
		out.ReasoningTokens = beside
	}
	return out
}

// content is a text. Mistral's reasoning models send a list of parts in its place,
// those of their thoughts included.
type content struct{ text, thinking string }

// UnmarshalJSON reads a text or a list.
func (c *content) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &c.text) == nil {
		return nil
	}
	var parts []struct {
		Text     string  `json:"text"`
		Thinking content `json:"thinking"`
	}
	err := json.Unmarshal(data, &parts)
	for _, p := range parts {
		c.text += p.Text
		c.thinking += p.Thinking.text
	}
	return err
}

// details are what OpenRouter says of thoughts; what is no list of objects is none.
type details []map[string]any

// UnmarshalJSON never fails.
func (d *details) UnmarshalJSON(data []byte) error {
	var all []map[string]any
	if json.Unmarshal(data, &all) == nil {
		*d = all
	}
	return nil
}

// joiner puts details together that come in pieces: a text goes on where it stopped, and its signature comes last.
type joiner struct {
	whole details
	texts map[string]*strings.Builder // of the last one, by their fields
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

// joined are the details as a whole.
func (j *joiner) joined() details {
	for field, text := range j.texts {
		j.whole[len(j.whole)-1][field] = text.String()
	}
	return j.whole
}

// continues reports whether a detail is the next piece of another one. What is encrypted comes whole.
func continues(last, next map[string]any) bool {
	kind, _ := next["type"].(string)
	pieces := kind == "reasoning.text" || kind == "reasoning.summary"
	return pieces && reflect.DeepEqual(last["type"], next["type"]) && reflect.DeepEqual(last["index"], next["index"])
}

// said is the text for people: the refusal stands in place of a content.
func (d delta) said() string { return d.Content.text + d.Refusal }

// thinking is in one of three places; servers that fill several mean the same.
func (d delta) thinking() string {
	return cmp.Or(d.ReasoningContent, d.Reasoning, d.Content.thinking)
}
