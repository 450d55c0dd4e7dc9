package anthropic

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/outgoing"
)

// block is a content block of a reply, of a type that is sent back to the model.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	Thinking  string          `json:"thinking,omitempty"`
	Signature string          `json:"signature,omitempty"`
	Data      string          `json:"data,omitempty"` // redacted_thinking
	ID        string          `json:"id,omitempty"`   // tool_use, as the two below
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"` // of a complete block
	// Arguments is the input as streamed, which is usually but not always JSON. The message keeps it, masked.
	Arguments string `json:"-"`
}

// wireBlock is a block as a server sends it.
type wireBlock struct {
	Type      llm.Word  `json:"type"`
	Text      llm.Word  `json:"text"`
	Thinking  llm.Word  `json:"thinking"`
	Signature llm.Word  `json:"signature"`
	Data      llm.Word  `json:"data"`
	ID        llm.Word  `json:"id"`
	Name      llm.Word  `json:"name"`
	Input     llm.Piece `json:"input"`
}

// wireBlocks is a list of blocks, or a plain text instead.
type wireBlocks []wireBlock

// UnmarshalJSON never fails.
func (w *wireBlocks) UnmarshalJSON(data []byte) error {
	var text string
	var all []llm.Loose[wireBlock]
	if json.Unmarshal(data, &text) == nil && text != "" {
		*w = wireBlocks{{Type: "text", Text: llm.Word(text)}}
		return nil
	}
	_ = json.Unmarshal(data, &all)
	for _, b := range all {
		*w = append(*w, b.V)
	}
	return nil
}

// building is a block that is still being streamed.
type building struct {
	block
	whole                     string // the input from the start event
	text, thinking, signature strings.Builder
	args                      llm.Arguments
}

// open returns the block that a server begins. A nil block gives an empty one.
func (w *wireBlock) open() *building {
	b := &building{}
	if w == nil {
		return b
	}
	b.Type, b.Data, b.ID, b.Name = string(w.Type), string(w.Data), string(w.ID), string(w.Name)
	b.text.WriteString(string(w.Text))
	b.thinking.WriteString(string(w.Thinking))
	b.signature.WriteString(string(w.Signature))
	if input := strings.TrimSpace(string(w.Input)); input != "{}" { // streams begin with an empty object
		b.whole = input
	}
	return b
}

// built returns the block so far. Streamed input replaces input from the start event: gateways that send both mean the
// same.
func (b *building) built() *block {
	out := b.block
	out.Text, out.Thinking, out.Signature = b.text.String(), b.thinking.String(), b.signature.String()
	out.Arguments = cmp.Or(b.args.String(), b.whole)
	return &out
}

func (b *block) thought() bool { return b.Type == "thinking" || b.Type == "redacted_thinking" }

func (b *block) arguments() string {
	if strings.TrimSpace(b.Arguments) == "" {
		return "{}"
	}
	return b.Arguments
}

// toolCalls returns the calls in the blocks.
func toolCalls(blocks []*block) []agent.ToolCall {
	var out []agent.ToolCall
	for _, b := range blocks {
		if b.Type == "tool_use" {
			out = append(out, agent.ToolCall{ID: b.ID, Name: b.Name, Arguments: b.arguments()})
		}
	}
	return out
}

// state is what a reply keeps for the requests that continue it: its blocks with signed thinking, and the model,
// because other models may not accept these.
type state struct {
	Anthropic struct {
		Model  string   `json:"model"`
		Blocks []*block `json:"blocks"`
	} `json:"anthropic"`
}

// remember returns the state of a reply, or nil if the message alone is sufficient.
func remember(model string, blocks []*block) json.RawMessage {
	var s state
	s.Anthropic.Model = model
	for _, b := range blocks {
		known := b.Type == "text" && b.Text != "" || b.Type == "tool_use" || b.Type == "redacted_thinking" && b.Data != "" ||
			b.Type == "thinking" && (b.Signature != "" || llm.ParseClaude(model) == llm.Claude{}) // unsigned: only shown
		if known {
			s.Anthropic.Blocks = append(s.Anthropic.Blocks, b)
		}
	}
	if !slices.ContainsFunc(s.Anthropic.Blocks, func(b *block) bool { return b.thought() || b.Type == "tool_use" }) {
		return nil
	}
	data, err := json.Marshal(s)
	if err != nil {
		return nil // cannot happen: only strings
	}
	return data
}

// recall returns the blocks of a message. It returns nil if they are another model's, or if the message makes other
// calls than they do. Text and arguments that have changed since (masked, shortened) replace those in the blocks;
// signed thinking stays unchanged.
func recall(m agent.Message, model string) []*block {
	var s state
	if json.Unmarshal(m.ProviderState, &s) != nil || s.Anthropic.Model != model {
		return nil
	}
	blocks := slices.DeleteFunc(s.Anthropic.Blocks, func(b *block) bool { return b == nil })
	same := slices.EqualFunc(toolCalls(blocks), m.ToolCalls, func(a, b agent.ToolCall) bool { return outgoing.SameTool(a.Name, b.Name) })
	if !same {
		return nil
	}
	var text string
	calls := 0
	for _, b := range blocks {
		text += b.Text
		if b.Type == "tool_use" {
			b.Arguments = m.ToolCalls[calls].Arguments
			calls++
		}
	}
	if text == m.Content {
		return blocks
	}
	blocks = slices.DeleteFunc(blocks, func(b *block) bool { return b.Type == "text" })
	at := slices.IndexFunc(blocks, func(b *block) bool { return b.Type == "tool_use" })
	if at < 0 {
		at = len(blocks)
	}
	return slices.Insert(blocks, at, &block{Type: "text", Text: m.Content})
}
