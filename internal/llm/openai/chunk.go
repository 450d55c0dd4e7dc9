package openai

import (
	"cmp"
	"encoding/json"

	sdk "github.com/sashabaranov/go-openai"
)

// chunk is one event of a stream, or the whole of an answer in plain JSON.
type chunk struct {
	Object  string     `json:"object"`
	Model   string     `json:"model"`
	Choices []choice   `json:"choices"`
	Usage   *sdk.Usage `json:"usage"`
	Error   *failure   `json:"error"`
}

type choice struct {
	Delta   delta            `json:"delta"`
	Message *delta           `json:"message"` // in plain JSON, instead of a delta
	Finish  sdk.FinishReason `json:"finish_reason"`
}

type delta struct {
	Content          content        `json:"content"`
	Refusal          string         `json:"refusal"`           // OpenAI: a text in place of the content
	ReasoningContent string         `json:"reasoning_content"` // DeepSeek, vLLM, xAI
	Reasoning        string         `json:"reasoning"`         // OpenRouter, Ollama, Groq
	ToolCalls        []sdk.ToolCall `json:"tool_calls"`
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

// said is the text for people: the refusal stands in place of a content.
func (d delta) said() string { return d.Content.text + d.Refusal }

// thinking is in one of three places; servers that fill several mean the same.
func (d delta) thinking() string {
	return cmp.Or(d.ReasoningContent, d.Reasoning, d.Content.thinking)
}
