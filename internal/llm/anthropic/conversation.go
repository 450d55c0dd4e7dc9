package anthropic

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/outgoing"
)

// conversation converts messages to turns. Consecutive messages of one role form one turn.
type conversation struct {
	model string
	turns []sdk.MessageParam
	// ids maps our call ids to those sent to Anthropic.
	ids map[string]string
	// used holds Anthropic's own ids in use. If a server repeats an id, our id replaces it.
	used outgoing.IDs
	// continuesUnthought means that the model is in the middle of a turn of calls and results that does not begin with
	// thinking. A model with a budget then refuses to think.
	continuesUnthought bool
}

func newConversation(req llm.Request) *conversation {
	c := &conversation{model: req.Model, ids: map[string]string{}, used: outgoing.IDs{}}
	for _, m := range req.Messages {
		switch m.Role {
		case agent.User:
			c.user(m.Content)
		case agent.Assistant:
			c.replied(m)
		case agent.ToolRole:
			c.say(sdk.MessageParamRoleUser, c.result(m))
		}
	}
	return c
}

func (c *conversation) user(text string) {
	c.say(sdk.MessageParamRoleUser, sdk.NewTextBlock(text))
	c.continuesUnthought = false
}

func (c *conversation) say(role sdk.MessageParamRole, blocks ...sdk.ContentBlockParamUnion) {
	if len(blocks) == 0 {
		return
	}
	if n := len(c.turns); n == 0 || c.turns[n-1].Role != role {
		c.turns = append(c.turns, sdk.MessageParam{Role: role})
	}
	last := &c.turns[len(c.turns)-1]
	last.Content = append(last.Content, blocks...)
}

// replied adds a reply, with its original blocks or with blocks made from its message.
func (c *conversation) replied(m agent.Message) {
	blocks := recall(m, c.model)
	if blocks == nil {
		blocks = foreign(m)
	}
	begins := len(c.turns) == 0 || !answers(c.turns[len(c.turns)-1])
	var said []sdk.ContentBlockParamUnion
	calls := 0
	for _, b := range blocks {
		switch b.Type {
		case "thinking":
			said = append(said, sdk.NewThinkingBlock(b.Signature, b.Thinking))
		case "redacted_thinking":
			if b.Data != "" { // Anthropic refuses the block without it
				said = append(said, sdk.NewRedactedThinkingBlock(b.Data))
			}
		case "text":
			if strings.TrimSpace(b.Text) != "" {
				said = append(said, sdk.NewTextBlock(b.Text))
			}
		case "tool_use":
			call := m.ToolCalls[calls]
			theirs := b.ID
			if !wireID.MatchString(theirs) {
				theirs = ""
			}
			c.ids[call.ID] = c.used.Add(theirs, call.ID)
			said = append(said, sdk.NewToolUseBlock(c.ids[call.ID], input(call.Arguments), call.Name))
			calls++
		}
	}
	for len(said) > 0 && thought(said[len(said)-1]) {
		said = said[:len(said)-1] // from a reply that was cut; Anthropic refuses a turn that ends with thinking
	}
	if begins && len(said) > 0 {
		c.continuesUnthought = !thought(said[0])
	}
	c.say(sdk.MessageParamRoleAssistant, said...)
}

func thought(b sdk.ContentBlockParamUnion) bool {
	return b.OfThinking != nil || b.OfRedactedThinking != nil
}

// answers reports whether a user turn contains only tool results.
func answers(turn sdk.MessageParam) bool {
	for _, b := range turn.Content {
		if b.OfToolResult == nil {
			return false
		}
	}
	return turn.Role == sdk.MessageParamRoleUser
}

// wireID matches the call ids that Anthropic accepts, also through Bedrock.
var wireID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// foreign makes blocks from a reply without known blocks.
func foreign(m agent.Message) []*block {
	out := []*block{{Type: "text", Text: m.Content}}
	for _, call := range m.ToolCalls {
		out = append(out, &block{Type: "tool_use", ID: call.ID, Name: call.Name, Arguments: call.Arguments})
	}
	return out
}

// input returns the arguments of a call, an object, without white space.
func input(arguments string) json.RawMessage {
	var compact bytes.Buffer
	_ = json.Compact(&compact, []byte(arguments)) // cannot fail: it is JSON
	return compact.Bytes()
}

// result converts the result of a tool.
func (c *conversation) result(m agent.Message) sdk.ContentBlockParamUnion {
	result := &sdk.ToolResultBlockParam{ToolUseID: c.ids[m.ToolCallID]}
	result.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: m.Content}}}
	for _, image := range m.Images {
		if len(image.Data) == 0 {
			continue
		}
		result.Content = append(result.Content, sdk.ToolResultBlockParamContentUnion{OfImage: &sdk.ImageBlockParam{
			Source: sdk.ImageBlockParamSourceUnion{OfBase64: &sdk.Base64ImageSourceParam{
				Data: base64.StdEncoding.EncodeToString(image.Data), MediaType: sdk.Base64ImageSourceMediaType(image.Type),
			}},
		}})
	}
	return sdk.ContentBlockParamUnion{OfToolResult: result}
}
