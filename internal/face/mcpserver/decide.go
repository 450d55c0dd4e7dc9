package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/route"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

// deciding adds the tools that answer questions and approvals. An agent may answer a clarification itself. Every other answer needs a
// person, and the configuration says how the server gets that person's answer.
func (m *server) deciding() {
	addTool(m, toolSpec{
		row: system.Answer.Operation, title: "Answer a question", destroys: m.decide != config.DecideNever, open: true,
		description: "Answer a question from an investigation. Answer only with what the person you work for told you or what " +
			"you know for certain. Confirmations and reviews are for the person alone.",
	}, m.answerTool)
	if m.decide == config.DecideNever {
		return
	}
	addTool(m, toolSpec{
		row: system.Decide.Operation, title: "Decide on a tool call", destroys: true, open: true,
		description: "Approve or deny a pending tool call in the inbox for the person you work for. Use it only after the " +
			"person has seen the whole call and told you their decision. If the editor can ask the person (elicitation), " +
			"it does so directly. The decision is recorded under the person's name, as made over MCP.",
	}, m.decideTool)
}

// askPerson makes the client ask its user. The answer arrives in a second call of the same tool.
type askPerson struct {
	key    string
	params *mcp.ElicitParams
}

func (*askPerson) Error() string { return "waiting for the person's answer" }

// said returns the person's answer as reported by the client. Nil without an error means that the client cannot ask anyone and that
// the agent's own word counts.
func (m *server) said(call *mcp.CallToolRequest, key, message string, choices ...string) (word *personSaid, err error) {
	if can := call.ClientCapabilities(); can == nil || can.Elicitation == nil {
		if m.decide == config.DecideTrust {
			return nil, nil
		}
		return nil, refusal("this editor cannot ask the person: use Inquest's web page, or run `starter inbox` and then `starter decide` or " +
			"`starter answer`")
	}
	answer, ok := call.Params.InputResponses[key].(*mcp.ElicitResult)
	if !ok {
		return nil, &askPerson{key, &mcp.ElicitParams{Message: message, RequestedSchema: map[string]any{
			"type": "object", "required": []string{"decision"},
			"properties": map[string]any{
				"decision": map[string]any{"type": "string", "enum": choices, "title": "Your decision"},
				"reason":   map[string]any{"type": "string", "title": "Reason, shown to the agent", "maxLength": workflows.MaxReason},
			},
		}}}
	}
	word = &personSaid{}
	word.decision, _ = answer.Content["decision"].(string)
	word.reason, _ = answer.Content["reason"].(string)
	if answer.Action != "accept" || !slices.Contains(choices, word.decision) {
		return nil, refusal("the person has not decided yet: the call or question is still pending")
	}
	return word, nil
}

type personSaid struct{ decision, reason string }

const (
	sayApprove = "approve"
	sayDeny    = "deny"
)

type decideArgs struct {
	ID       string `json:"id" minLength:"1" maxLength:"1000" doc:"ID of the investigation"`
	Call     string `json:"call" minLength:"1" maxLength:"1000" doc:"name of the call, as returned by list_inbox"`
	Digest   string `json:"digest" minLength:"12" maxLength:"200" doc:"digest of the call that the person saw; a changed call is refused"`
	Approved *bool  `json:"approved,omitempty" doc:"the person's decision; required if the editor cannot ask the person"`
	Reason   string `json:"reason,omitempty" maxLength:"1000" doc:"the person's reason"`
}

func (m *server) decideTool(ctx context.Context, call *mcp.CallToolRequest, in decideArgs) (out system.Decided, err error) {
	pending, err := m.pending(ctx, in.ID)
	if err != nil {
		return out, err
	}
	n := slices.IndexFunc(pending, func(t system.Thing) bool {
		return t.Approval != nil && t.Name == in.Call && strings.HasPrefix(t.Approval.Digest, in.Digest)
	})
	if n < 0 {
		return out, refusal("no pending call with this name and digest: call list_inbox again")
	}
	if err := m.opts.May(ctx, system.Decide.Role, pending[n].Project); err != nil { // before the person is asked
		return out, err
	}
	id, a := pending[n].Investigation, *pending[n].Approval
	if err := m.whole(ctx, &a); err != nil {
		return out, err
	}
	word, err := m.said(call, "decide "+a.Digest, callText(id, a), sayApprove, sayDeny)
	if err != nil {
		return out, err
	}
	if word != nil {
		in.Approved, in.Reason = new(word.decision == sayApprove), word.reason
	}
	if in.Approved == nil {
		return out, refusal("approved is missing: pass the person's decision")
	}
	return do(ctx, m, system.Decide, system.Steer[system.DecideBody]{ByID: system.ByID{ID: in.ID}, Body: system.DecideBody{
		CallID: in.Call, Digest: a.Digest, Approved: in.Approved, Reason: in.Reason,
	}})
}

// maxShown is how many bytes of a call's arguments an editor shows to a person.
const maxShown = 16 << 10

// whole loads all arguments of a call. Arguments that are too long to show are an error, because they cannot be approved over MCP.
func (m *server) whole(ctx context.Context, a *record.Approval) error {
	if a.Bytes() <= maxShown && a.Bytes() > len(a.Arguments) {
		if err := m.opts.System.Text(ctx, &a.Arguments, a.ArgumentsRef); err != nil {
			return err
		}
	}
	if a.Bytes() > maxShown || a.Bytes() > len(a.Arguments) {
		return refusal(fmt.Sprintf(
			"the arguments are too large to show here (%d bytes): run `starter inbox` to see them, and `starter decide`", a.Bytes()))
	}
	return nil
}

// callText describes a call to the person deciding on it. It marks characters that could be deceptive.
func callText(id string, a record.Approval) string {
	lines := []string{
		fmt.Sprintf("Investigation %s: agent %s asks to call %s (risk %s): %s.", id, a.Execution, reveal.Name(a.Tool), a.Risk,
			reveal.Text(a.Deadline(a.LeftAt(time.Now().UTC())))),
	}
	for _, line := range a.Why() {
		lines = append(lines, reveal.Text(line))
	}
	lines = append(lines, a.HiddenNote()+reveal.Indented(a.Arguments, ""))
	for _, fact := range a.Facts() {
		lines = append(lines, reveal.Text(fact))
	}
	return strings.Join(append(lines, "Digest "+a.Digest[:min(system.ShortDigest, len(a.Digest))]), "\n")
}

type answerArgs struct {
	ID       string `json:"id" minLength:"1" maxLength:"1000" doc:"ID of the investigation"`
	Question string `json:"question" minLength:"1" maxLength:"1000" doc:"name of the question, as returned by list_inbox"`
	Text     string `json:"text,omitempty" maxLength:"8192" doc:"the answer, as plain text; at most 8192 bytes when encoded as JSON"`
	Approved *bool  `json:"approved,omitempty" doc:"the person's decision, for a confirmation or a review"`
}

func (m *server) answerTool(ctx context.Context, call *mcp.CallToolRequest, in answerArgs) (out record.Question, err error) {
	pending, err := m.pending(ctx, in.ID)
	if err != nil {
		return out, err
	}
	n := slices.IndexFunc(pending, func(t system.Thing) bool { return t.Question != nil && t.Name == in.Question })
	if n < 0 {
		return out, refusal("no pending question with this name: call list_inbox again")
	}
	if err := m.opts.May(ctx, system.Answer.Role, pending[n].Project); err != nil { // before the person is asked
		return out, err
	}
	body := system.AnswerBody{ID: in.Question, Text: in.Text, Approved: in.Approved}
	if q := pending[n].Question; q.Kind != string(route.Clarification) || q.Review {
		if m.decide == config.DecideNever {
			return out, refusal("only the person may answer this: use Inquest's web page or `starter answer`")
		}
		text := fmt.Sprintf("Investigation %s, stage %s (%s):\n%s\n%s",
			pending[n].Investigation, q.Stage, q.Kind, reveal.Text(q.Question), reveal.Indented(string(q.Data), ""))
		word, err := m.said(call, "answer "+q.ID, text, sayApprove, sayDeny)
		if err != nil {
			return out, err
		}
		if word != nil {
			body.Approved, body.Text = new(word.decision == sayApprove), word.reason
		}
	}
	return do(ctx, m, system.Answer, system.Steer[system.AnswerBody]{ByID: system.ByID{ID: in.ID}, Body: body})
}
