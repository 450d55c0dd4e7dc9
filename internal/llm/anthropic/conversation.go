package anthropic

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

const (
	// nothingCame answers a call whose result is gone: Anthropic refuses a call without an answer.
	nothingCame = "The result is not known."
	// goOn stands where Anthropic wants the user to speak: first and last. A reply that were last
	// would be continued by older models and refused by newer ones.
	goOn = "Go on."
)

// conversation spells messages as turns. All that one role says in a row is one.
type conversation struct {
	model string
	turns []sdk.MessageParam
	// results are the answers of calls that have none yet, by our id of the call. Each is in
	// the turn after its call from the beginning, whenever its message comes.
	results map[string]*sdk.ToolResultBlockParam
	// continuesUnthought: the model is in the midst of a turn, of calls and results, that does not
	// begin with a thought of its own. A model with a budget refuses to think then.
	continuesUnthought bool
}

func newConversation(req llm.Request) *conversation {
	c := &conversation{model: req.Model, results: map[string]*sdk.ToolResultBlockParam{}}
	for _, m := range req.Messages {
		switch m.Role {
		case agent.User:
			c.user(m.Content)
		case agent.Assistant:
			c.replied(m)
		case agent.ToolRole:
			c.result(m)
		}
	}
	if n := len(c.turns); n == 0 || c.turns[n-1].Role != sdk.MessageParamRoleUser {
		c.user(goOn)
	}
	return c
}

func (c *conversation) user(text string) {
	if strings.TrimSpace(text) == "" {
		return // Anthropic refuses texts without anything
	}
	c.say(sdk.MessageParamRoleUser, sdk.NewTextBlock(text))
	c.continuesUnthought = false
}

func (c *conversation) say(role sdk.MessageParamRole, blocks ...sdk.ContentBlockParamUnion) {
	if len(blocks) == 0 {
		return
	}
	if len(c.turns) == 0 && role == sdk.MessageParamRoleAssistant {
		c.user(goOn)
	}
	if n := len(c.turns); n == 0 || c.turns[n-1].Role != role {
		c.turns = append(c.turns, sdk.MessageParam{Role: role})
	}
	last := &c.turns[len(c.turns)-1]
	last.Content = append(last.Content, blocks...)
}

// replied adds a reply: its blocks as they came, or made of its message, and room for the results
// of all its calls.
func (c *conversation) replied(m agent.Message) {
	blocks := recall(m, c.model)
	if blocks == nil {
		blocks = foreign(m)
	}
	begins := len(c.turns) == 0 || !answers(c.turns[len(c.turns)-1])
	var said, answers []sdk.ContentBlockParamUnion
	calls := 0
	for _, b := range blocks {
		switch b.Type {
		case "thinking":
			said = append(said, sdk.NewThinkingBlock(b.Signature, b.Thinking))
		case "redacted_thinking":
			said = append(said, sdk.NewRedactedThinkingBlock(b.Data))
		case "text":
			if strings.TrimSpace(b.Text) != "" {
				said = append(said, sdk.NewTextBlock(b.Text))
			}
		case "tool_use":
			said = append(said, sdk.NewToolUseBlock(b.ID, input(b.arguments()), b.Name))
			result := &sdk.ToolResultBlockParam{ToolUseID: b.ID, IsError: param.NewOpt(true), Content: texts(nothingCame)}
			answers = append(answers, sdk.ContentBlockParamUnion{OfToolResult: result})
			c.results[m.ToolCalls[calls].ID] = result
			calls++
		}
	}
	for len(said) > 0 && thought(said[len(said)-1]) {
		said = said[:len(said)-1] // of a reply that was cut; Anthropic refuses a turn that ends so
	}
	if begins && len(said) > 0 {
		c.continuesUnthought = !thought(said[0])
	}
	c.say(sdk.MessageParamRoleAssistant, said...)
	c.say(sdk.MessageParamRoleUser, answers...)
}

func thought(b sdk.ContentBlockParamUnion) bool {
	return b.OfThinking != nil || b.OfRedactedThinking != nil
}

// answers reports whether a turn of the user has nothing but results of tools.
func answers(turn sdk.MessageParam) bool {
	for _, b := range turn.Content {
		if b.OfToolResult == nil {
			return false
		}
	}
	return turn.Role == sdk.MessageParamRoleUser
}

// wireID matches what ids must not have.
var wireID = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// foreign makes blocks of a reply whose own are not known.
func foreign(m agent.Message) []*block {
	out := []*block{{Type: "text", Text: m.Content}}
	for _, call := range m.ToolCalls {
		out = append(out, &block{Type: "tool_use", ID: wireID.ReplaceAllString(call.ID, "_"), Name: call.Name, Arguments: call.Arguments})
	}
	return out
}

// input is the arguments of a call as Anthropic wants them: an object. What is none is kept as a text.
func input(arguments string) any {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &object) == nil && object != nil {
		var compact bytes.Buffer
		_ = json.Compact(&compact, []byte(arguments)) // it is JSON
		return json.RawMessage(compact.Bytes())
	}
	return map[string]string{"arguments": strings.ToValidUTF8(arguments, "\uFFFD")}
}

// result puts a tool's result into its place. One whose call is gone is shown as a text.
func (c *conversation) result(m agent.Message) {
	result, ok := c.results[m.ToolCallID]
	if !ok {
		c.user(m.Content)
		return
	}
	delete(c.results, m.ToolCallID)
	result.IsError = param.Opt[bool]{}
	result.Content = texts(m.Content)
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
}

func texts(text string) []sdk.ToolResultBlockParamContentUnion {
	if strings.TrimSpace(text) == "" {
		return nil // a result may be empty, a text in it may not
	}
	return []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: text}}}
}
