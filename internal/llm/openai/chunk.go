package openai

import sdk "github.com/sashabaranov/go-openai"

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
	Content          string         `json:"content"`
	Refusal          string         `json:"refusal"`           // OpenAI: a text in place of the content
	ReasoningContent string         `json:"reasoning_content"` // DeepSeek, vLLM, xAI
	Reasoning        string         `json:"reasoning"`         // OpenRouter, Ollama, Groq
	ToolCalls        []sdk.ToolCall `json:"tool_calls"`
}

// thinking is in one of two fields; servers that fill both mean the same.
func (d delta) thinking() string {
	if d.ReasoningContent != "" {
		return d.ReasoningContent
	}
	return d.Reasoning
}
