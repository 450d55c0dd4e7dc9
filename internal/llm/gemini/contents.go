package gemini

import (
	"fmt"

	"google.golang.org/genai"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/outgoing"
)

// conversation converts messages to contents.
type conversation struct {
	model  string
	digits llm.Digits
	out    []*genai.Content
	calls  map[string]*genai.FunctionCall // by our id
	ids    outgoing.IDs                   // Gemini's ids
	// images are the images of a turn's results. They follow all results, because Gemini counts the leading answers.
	images []*genai.Part
}

// contents converts the messages of a request.
func contents(req llm.Request, digits llm.Digits) []*genai.Content {
	c := conversation{model: req.Model, digits: digits, calls: map[string]*genai.FunctionCall{}, ids: outgoing.IDs{}}
	for i, m := range req.Messages {
		switch m.Role {
		case agent.User:
			c.say(genai.RoleUser, &genai.Part{Text: m.Content})
		case agent.Assistant:
			c.say(genai.RoleModel, c.replied(m)...)
		case agent.ToolRole:
			c.say(genai.RoleUser, c.result(m))
			if i+1 == len(req.Messages) || req.Messages[i+1].Role != agent.ToolRole {
				c.say(genai.RoleUser, c.images...)
				c.images = nil
			}
		}
	}
	return c.out
}

// say adds parts. Turns must alternate, so consecutive messages of one role form one turn.
func (c *conversation) say(role string, parts ...*genai.Part) {
	for _, p := range parts {
		if plainText(p) && p.Text == "" {
			continue // Gemini refuses empty parts
		}
		if n := len(c.out); n == 0 || c.out[n-1].Role != role {
			c.out = append(c.out, &genai.Content{Role: role})
		}
		last := c.out[len(c.out)-1]
		last.Parts = append(last.Parts, p)
	}
}

// replied returns the parts of a reply: the original ones, or parts made from its message.
func (c *conversation) replied(m agent.Message) []*genai.Part {
	parts := recall(m, c.model)
	if parts == nil {
		parts = c.foreign(m)
	}
	n := 0
	for _, p := range parts {
		if p.FunctionCall == nil {
			if kind(p) == textPart && p.Text == "" && len(p.ThoughtSignature) > 0 {
				p.Text = c.digits.EmptyText() // Gemini refuses a part without data
			}
			continue
		}
		ours := m.ToolCalls[n]
		p.FunctionCall.ID = c.ids.Add(p.FunctionCall.ID, ours.ID)
		p.FunctionCall.Name = ours.Name
		p.FunctionCall.Args = c.digits.Arguments(ours.Arguments) // the original may be rounded, or masked and shortened since
		c.calls[ours.ID] = p.FunctionCall
		n++
	}
	return parts
}

// foreign makes parts from a reply without known parts.
func (c *conversation) foreign(m agent.Message) []*genai.Part {
	parts := []*genai.Part{{Text: m.Content}}
	for i, call := range m.ToolCalls {
		p := &genai.Part{FunctionCall: &genai.FunctionCall{Name: call.Name, Args: c.digits.Arguments(call.Arguments)}}
		if i == 0 && llm.GoogleSigns(c.model) {
			p.ThoughtSignature = []byte(unsigned)
		}
		parts = append(parts, p)
	}
	return parts
}

// result answers a call by the id that Gemini knows.
func (c *conversation) result(m agent.Message) *genai.Part {
	call := c.calls[m.ToolCallID]
	var own []*genai.FunctionResponsePart
	for n, image := range m.Images {
		switch {
		case image.Data == nil:
		case llm.GoogleSigns(c.model): // from version 3 on, an answer can contain images
			own = append(own, genai.NewFunctionResponsePartFromBytes(image.Data, image.Type))
		default:
			c.images = append(c.images, &genai.Part{Text: fmt.Sprintf("Image %d of the result of call %s:", n+1, m.ToolCallID)},
				genai.NewPartFromBytes(image.Data, image.Type))
		}
	}
	return &genai.Part{FunctionResponse: &genai.FunctionResponse{
		ID: call.ID, Name: call.Name, Response: map[string]any{"output": m.Content}, Parts: own,
	}}
}
