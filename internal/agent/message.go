package agent

import (
	"encoding/json"
	"strings"
)

// Role is the role of a message in a conversation.
type Role string

// The roles in a conversation.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Message is one message of a conversation, as a model gets it.
type Message struct {
	Role     Role   `json:"role"`
	Content  string `json:"content,omitempty"`
	Thinking string `json:"thinking,omitempty"`
	// ToolCalls are the calls that an assistant message requests, in call order.
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	// ToolCallID is the call that a tool message answers. It is unique within a conversation because Inquest generates
	// it (CallID), never the provider.
	ToolCallID string `json:"tool_call_id,omitempty"`
	// Ref names the transcript entry with the full result of a tool, so that a shortened result can refer to the rest.
	Ref string `json:"ref,omitempty"`
	// Memory marks an agent's core memory at that time. Only the last such message is current.
	Memory bool `json:"memory,omitempty"`
	// Images are the images in a tool's result; only tool messages have them. A driver sends those with Data. Content
	// describes the others.
	Images []Image `json:"images,omitempty"`
	// ProviderState is opaque and returned to the provider unchanged.
	ProviderState json.RawMessage `json:"provider_state,omitempty"`
}

// ToolCall is a model's request to call a tool.
type ToolCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments is the model's text, which is usually, but not always, a JSON object.
	Arguments string `json:"arguments"`
}

// Usage counts what model calls used. Token counts are the provider's own if it reports them, and otherwise Inquest's
// estimate.
//
// Providers count differently; these fields have one meaning. InputTokens is all the input of a model, and OutputTokens
// all its output. The other token counts are parts of these two. Anthropic reports cached input separately from its
// input, Gemini and xAI report thinking separately from their output, and OpenAI includes both. The drivers add
// separately reported tokens to the totals.
type Usage struct {
	InputTokens  int `json:"input_tokens,omitempty"`
	OutputTokens int `json:"output_tokens,omitempty"`
	ModelCalls   int `json:"model_calls,omitempty"`
	ToolCalls    int `json:"tool_calls,omitempty"`
	// CostUSD is the cost of calls to providers with known prices.
	CostUSD float64 `json:"cost_usd,omitempty"`
	// CacheReadTokens is the input read from the provider's cache. CacheWriteTokens is the input written there, if the
	// provider charges for that.
	CacheReadTokens  int `json:"cache_read_tokens,omitempty"`
	CacheWriteTokens int `json:"cache_write_tokens,omitempty"`
	// ReasoningTokens is the thinking in the output, and ImageTokens the images in the input. Both are also zero if the
	// provider does not report them.
	ReasoningTokens int `json:"reasoning_tokens,omitempty"`
	ImageTokens     int `json:"image_tokens,omitempty"`
}

// Tokens returns the tokens of all model calls, input and output.
func (u Usage) Tokens() int { return u.InputTokens + u.OutputTokens }

// Sub returns the difference u - v.
func (u Usage) Sub(v Usage) Usage { return u.plus(v, -1) }

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage { return u.plus(v, 1) }

func (u Usage) plus(v Usage, sign int) Usage {
	return Usage{
		InputTokens:      u.InputTokens + sign*v.InputTokens,
		OutputTokens:     u.OutputTokens + sign*v.OutputTokens,
		ModelCalls:       u.ModelCalls + sign*v.ModelCalls,
		ToolCalls:        u.ToolCalls + sign*v.ToolCalls,
		CostUSD:          u.CostUSD + float64(sign)*v.CostUSD,
		CacheReadTokens:  u.CacheReadTokens + sign*v.CacheReadTokens,
		CacheWriteTokens: u.CacheWriteTokens + sign*v.CacheWriteTokens,
		ReasoningTokens:  u.ReasoningTokens + sign*v.ReasoningTokens,
		ImageTokens:      u.ImageTokens + sign*v.ImageTokens,
	}
}

// ArgumentsObject returns arguments as a JSON object: the object that the model wrote, the object in a JSON string that
// it wrote, or an empty object for empty text and null. ok is false for anything else.
func ArgumentsObject(written string) (object string, ok bool) {
	written = strings.TrimSpace(strings.ToValidUTF8(written, "\uFFFD"))
	for range maxEncoded {
		var value any
		switch {
		case written == "" || written == "null":
			return "{}", true
		case json.Unmarshal([]byte(written), &value) != nil:
			return "", false
		}
		switch value := value.(type) {
		case map[string]any:
			return written, true
		case string:
			written = strings.TrimSpace(value)
		default:
			return "", false
		}
	}
	return "", false
}

// maxEncoded is how many times arguments may be JSON-encoded, including the object itself.
const maxEncoded = 3
