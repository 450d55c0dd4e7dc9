package agent

import (
	"encoding/json"
	"strings"
)

// Role says who speaks in a conversation.
type Role string

// The roles of a conversation.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Message is one message of a conversation, as a model is shown it.
type Message struct {
	Role     Role   `json:"role"`
	Content  string `json:"content,omitempty"`
	Thinking string `json:"thinking,omitempty"`
	// ToolCalls are the calls that an assistant message asks for, in call order.
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	// ToolCallID says which call a tool message answers. It is unique within a
	// conversation because we make it (CallID), never the provider.
	ToolCallID string `json:"tool_call_id,omitempty"`
	// Ref names the transcript entry that holds the whole of a tool's result,
	// so that a shortened one can say where the rest is.
	Ref string `json:"ref,omitempty"`
	// Memory: it is an agent's core memory as it was then. Only the last of these counts.
	Memory bool `json:"memory,omitempty"`
	// Images are pictures that the result of a tool has, of a tool message alone. A driver
	// sends those that have Data; Content describes the others.
	Images []Image `json:"images,omitempty"`
	// ProviderState is opaque and goes back to the provider as it came.
	ProviderState json.RawMessage `json:"provider_state,omitempty"`
}

// ToolCall is a model's wish to have a tool called.
type ToolCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments is what the model wrote: usually, but not always, a JSON object.
	Arguments string `json:"arguments"`
}

// Usage counts what model calls took. Tokens are the provider's own numbers where it reports
// them, otherwise our estimate.
//
// Providers count differently; here, a number has one meaning. InputTokens are all that a model
// read and OutputTokens all that it wrote. The tokens of kinds are parts of these two, never
// beside them: Anthropic reports cached input beside its input, Gemini and xAI thoughts beside
// their output, and OpenAI both within. The drivers add up what is reported beside.
type Usage struct {
	InputTokens  int `json:"input_tokens,omitempty"`
	OutputTokens int `json:"output_tokens,omitempty"`
	ModelCalls   int `json:"model_calls,omitempty"`
	ToolCalls    int `json:"tool_calls,omitempty"`
	// CostUSD is what providers ask for it whose prices are known.
	CostUSD float64 `json:"cost_usd,omitempty"`
	// CacheReadTokens of the input came from the provider's cache, CacheWriteTokens of it
	// were written there, where the provider charges for that.
	CacheReadTokens  int `json:"cache_read_tokens,omitempty"`
	CacheWriteTokens int `json:"cache_write_tokens,omitempty"`
	// ReasoningTokens of the output are thoughts, ImageTokens of the input are images;
	// 0 also where the provider does not say.
	ReasoningTokens int `json:"reasoning_tokens,omitempty"`
	ImageTokens     int `json:"image_tokens,omitempty"`
}

// Tokens are those of all model calls, in and out.
func (u Usage) Tokens() int { return u.InputTokens + u.OutputTokens }

// Sub returns what u has more than v.
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

// ArgumentsObject returns the JSON object that arguments mean: the one that the model wrote, the one in a JSON text
// that it wrote, or an empty one for nothing and for null. ok is false for all else.
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

// maxEncoded is how many times arguments may be encoded, the object included.
const maxEncoded = 3
