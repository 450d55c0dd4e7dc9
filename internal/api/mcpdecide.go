package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/reveal"
	"github.com/inquest-dev/inquest/internal/route"
)

// deciding adds the tools that answer questions and approvals. An agent may answer a clarification itself. Every other answer needs a
// person, and the configuration says how the server gets that person's answer.
func (m *mcpServer) deciding() {
	addTool(m, mcpTool{
		name: "answer_question", title: "Answer a question", role: config.RoleApprover, destroys: m.decide != config.DecideNever, open: true,
		description: "Answer a question that an investigation has put to people. Answer only what the person you work for has said, or what " +
			"you know for certain. Confirmations and reviews are the person's alone.",
	}, m.answerTool)
	if m.decide == config.DecideNever {
		return
	}
	addTool(m, mcpTool{
		name: "decide_call", title: "Decide on a tool call", role: config.RoleApprover, destroys: true, open: true,
		description: "Have the person decide on a tool call that waits in the inbox. Only if he has seen the call in full and asked you to. " +
			"He is asked himself where the editor can ask him. The decision is kept with his name and that it came by MCP.",
	}, m.decideTool)
}

// askPerson makes the client ask its user. The answer arrives in a second call of the same tool.
type askPerson struct {
	key    string
	params *mcp.ElicitParams
}

func (*askPerson) Error() string { return "the person is asked" }

// said returns the person's answer as reported by the client. Nil without an error means that the client cannot ask anyone and that
// the agent's own word counts.
func (m *mcpServer) said(call *mcp.CallToolRequest, key, message string, choices ...string) (word *personSaid, err error) {
	if can := call.ClientCapabilities(); can == nil || can.Elicitation == nil {
		if m.decide == config.DecideTrust {
			return nil, nil
		}
		return nil, huma.Error403Forbidden("this editor cannot ask the person: he decides with `starter inbox`, or on Inquest's page")
	}
	answer, ok := call.Params.InputResponses[key].(*mcp.ElicitResult)
	if !ok {
		return nil, &askPerson{key, &mcp.ElicitParams{Message: message, RequestedSchema: map[string]any{
			"type": "object", "required": []string{"decision"},
			"properties": map[string]any{
				"decision": map[string]any{"type": "string", "enum": choices, "title": "Your decision"},
				"reason":   map[string]any{"type": "string", "title": "Why; the agent is told"},
			},
		}}}
	}
	word = &personSaid{}
	word.decision, _ = answer.Content["decision"].(string)
	word.reason, _ = answer.Content["reason"].(string)
	if answer.Action != "accept" || !slices.Contains(choices, word.decision) {
		return nil, huma.Error409Conflict("the person has not decided; it still waits")
	}
	return word, nil
}

type personSaid struct{ decision, reason string }

const (
	sayApprove = "approve"
	sayDeny    = "deny"
)

type decideArgs struct {
	ID       string `json:"id" minLength:"1" maxLength:"1000" doc:"of the investigation"`
	Call     string `json:"call" minLength:"1" maxLength:"1000" doc:"name of the call in the inbox"`
	Digest   string `json:"digest" minLength:"12" maxLength:"200" doc:"of the call that the person has seen: no other call is decided"`
	Approved *bool  `json:"approved,omitempty" doc:"what the person has said; needed where the editor cannot ask him"`
	Reason   string `json:"reason,omitempty" maxLength:"4000" doc:"what he has said about it"`
}

func (m *mcpServer) decideTool(ctx context.Context, call *mcp.CallToolRequest, in decideArgs) (out client.Decided, err error) {
	o, err := m.waits(ctx, in.ID)
	if err != nil {
		return out, err
	}
	waits, err := m.waitsOf(ctx, o.ID)
	if err != nil {
		return out, err
	}
	n := slices.IndexFunc(waits.Approvals, func(a record.Approval) bool {
		return a.Name() == in.Call && strings.HasPrefix(a.Digest, in.Digest)
	})
	if n < 0 {
		return out, huma.Error409Conflict("no such call with this digest waits: look at list_inbox again")
	}
	a := waits.Approvals[n]
	if err := m.whole(ctx, &a); err != nil {
		return out, err
	}
	word, err := m.said(call, "decide "+a.Digest, callText(o.ID, a), sayApprove, sayDeny)
	if err != nil {
		return out, err
	}
	if word != nil {
		in.Approved, in.Reason = new(word.decision == sayApprove), word.reason
	}
	if in.Approved == nil {
		return out, huma.Error422UnprocessableEntity("approved is missing: what has the person said?")
	}
	d := steerIn[decideBody]{ByID: ByID{in.ID}}
	d.Body = decideBody{CallID: in.Call, Digest: a.Digest, Approved: in.Approved, Reason: in.Reason}
	decided, err := m.Server.decide(ctx, &d)
	return unwrap(decided), err
}

// maxShown is how many bytes of a call's arguments an editor shows to a person.
const maxShown = 16 << 10

// whole loads all arguments of a call. Arguments that are too long to show are an error, because they cannot be approved over MCP.
func (m *mcpServer) whole(ctx context.Context, a *record.Approval) error {
	if a.Bytes() <= maxShown && a.Bytes() > len(a.Arguments) {
		if err := m.opts.System.Text(ctx, &a.Arguments, a.ArgumentsRef); err != nil {
			return err
		}
	}
	if a.Bytes() > maxShown || a.Bytes() > len(a.Arguments) {
		return huma.Error409Conflict(fmt.Sprintf(
			"%d bytes of arguments are too many to show here: the person decides with `starter inbox`, or on Inquest's page", a.Bytes()))
	}
	return nil
}

// callText describes a call to the person deciding on it. It marks characters that could be deceptive.
func callText(id string, a record.Approval) string {
	lines := []string{
		fmt.Sprintf("Investigation %s: the agent %s asks to call %s (risk %s): %s.", id, a.Execution, reveal.Name(a.Tool), a.Risk,
			reveal.Text(a.Deadline(a.LeftAt(time.Now().UTC())))),
	}
	for _, line := range a.Why() {
		lines = append(lines, reveal.Text(line))
	}
	lines = append(lines, a.HiddenNote()+reveal.Indented(a.Arguments, ""))
	for _, fact := range a.Facts() {
		lines = append(lines, reveal.Text(fact))
	}
	return strings.Join(append(lines, "Digest "+a.Digest[:min(client.ShortDigest, len(a.Digest))]), "\n")
}

type answerArgs struct {
	ID       string `json:"id" minLength:"1" maxLength:"1000" doc:"of the investigation"`
	Question string `json:"question" minLength:"1" maxLength:"1000" doc:"name of the question in the inbox"`
	Text     string `json:"text,omitempty" maxLength:"100000" doc:"the answer"`
	Approved *bool  `json:"approved,omitempty" doc:"of a confirmation or a review: what the person has said"`
}

func (m *mcpServer) answerTool(ctx context.Context, call *mcp.CallToolRequest, in answerArgs) (out record.Question, err error) {
	o, err := m.owned(ctx, in.ID)
	if err != nil {
		return out, err
	}
	waits, err := m.waitsOf(ctx, o.ID)
	if err != nil {
		return out, err
	}
	n := slices.IndexFunc(waits.Questions, func(q record.Question) bool { return q.ID == in.Question })
	if n < 0 {
		return out, huma.Error409Conflict("no such question waits: look at list_inbox again")
	}
	body := answerBody{ID: in.Question, Text: in.Text, Approved: in.Approved}
	if q := waits.Questions[n]; q.Kind != string(route.Clarification) || q.Review {
		if m.decide == config.DecideNever {
			return out, huma.Error403Forbidden("this is for the person: he answers with `starter inbox`, or on Inquest's page")
		}
		text := fmt.Sprintf("Investigation %s, stage %s (%s):\n%s\n%s",
			o.ID, q.Stage, q.Kind, reveal.Text(q.Question), reveal.Indented(string(q.Data), ""))
		word, err := m.said(call, "answer "+q.ID, text, sayApprove, sayDeny)
		if err != nil {
			return out, err
		}
		if word != nil {
			body.Approved, body.Text = new(word.decision == sayApprove), word.reason
		}
	}
	answered, err := m.Server.answer(ctx, &steerIn[answerBody]{ByID: ByID{in.ID}, Body: body})
	return unwrap(answered), err
}
