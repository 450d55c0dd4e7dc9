package agent

import "encoding/json"

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

// Usage counts what model calls took. Tokens are the provider's own numbers
// where it reports them, otherwise our estimate.
type Usage struct {
	InputTokens  int `json:"input_tokens,omitempty"`
	OutputTokens int `json:"output_tokens,omitempty"`
	ModelCalls   int `json:"model_calls,omitempty"`
	ToolCalls    int `json:"tool_calls,omitempty"`
	// CostUSD is what providers ask for it whose prices are configured.
	CostUSD float64 `json:"cost_usd,omitempty"`
}

// Tokens are those of all model calls, in and out.
func (u Usage) Tokens() int { return u.InputTokens + u.OutputTokens }

// Sub returns what u has more than v.
func (u Usage) Sub(v Usage) Usage {
	return u.Add(Usage{
		InputTokens: -v.InputTokens, OutputTokens: -v.OutputTokens, ModelCalls: -v.ModelCalls, ToolCalls: -v.ToolCalls, CostUSD: -v.CostUSD,
	})
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		InputTokens:  u.InputTokens + v.InputTokens,
		OutputTokens: u.OutputTokens + v.OutputTokens,
		ModelCalls:   u.ModelCalls + v.ModelCalls,
		ToolCalls:    u.ToolCalls + v.ToolCalls,
		CostUSD:      u.CostUSD + v.CostUSD,
	}
}
