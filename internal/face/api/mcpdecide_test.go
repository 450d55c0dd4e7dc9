package api

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/workflows"
)

// encoded is an answer from a workflow.
type encoded struct{ v any }

func (e encoded) HasValue() bool { return true }
func (e encoded) Get(to any) error {
	payload, err := converter.GetDefaultDataConverter().ToPayload(e.v)
	if err != nil {
		return err
	}
	return converter.GetDefaultDataConverter().FromPayload(payload, to)
}

func waitingStatus(id string, waits record.Waits) encoded {
	return encoded{workflows.Status{
		ID: id, Chain: "shop", Status: agent.StatusWaitingApproval, Waiting: waits.Approvals, Questions: waits.Questions,
	}}
}

// taken is an update that a workflow has accepted.
type taken struct{ sdk.WorkflowUpdateHandle }

func (taken) Get(context.Context, any) error { return nil }

// waiting is a world in which a call, a clarification and a confirmation need a person.
func waiting(t *testing.T, decide string) (w *world, id string) {
	w = deciding(t, decide)
	id = w.running("ours", "payments")
	waits := record.Waits{
		Approvals: []record.Approval{{
			CallID: "1", Tool: "kube.delеte", Risk: agent.RiskDestructive, Arguments: `{"pod":"web"}`, Digest: strings.Repeat("d", 64),
			Execution: "dig/Memo", WorkflowID: "ours", Expires: time.Now().Add(time.Hour),
			Reason: "The pоd hangs.", Description: "Deletes a pod.",
		}},
		Questions: []record.Question{
			{ID: "q1", Kind: "clarification", Stage: "dig", Question: "which?"}, {ID: "q2", Kind: "confirmation", Stage: "dig", Question: "go on?"},
		},
	}
	w.temporal.waits = &waits
	err := w.store.SetWaiting(t.Context(), record.Waiting{Investigation: id, WorkflowID: "ours", RunID: "r", Seq: 1,
		Status: agent.StatusWaitingApproval, Waits: waits})
	if err != nil {
		t.Fatal(err)
	}
	return w, id
}

// Hidden arguments cannot be approved over MCP: the arguments are shown completely, or the approval is refused.
func TestMCPShowsAll(t *testing.T) {
	t.Parallel()
	approve := &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "approve"}}
	for size, want := range map[int]string{10_000: "", 20_000: "too large to show"} {
		w, id := waiting(t, "ask")
		all := `{"pod":"` + strings.Repeat("x", size) + `","force":true}`
		waits := *w.temporal.waits
		a := &waits.Approvals[0]
		a.Arguments, a.Size, a.ArgumentsRef = all[:4096], len(all), w.blob([]byte(all))
		err := w.store.SetWaiting(t.Context(), record.Waiting{
			Investigation: id, WorkflowID: "ours", RunID: "r", Seq: 2, Status: agent.StatusWaitingApproval, Waits: waits,
		})
		if err != nil {
			t.Fatal(err)
		}
		shown := ""
		opts := &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			shown = r.Params.Message
			return approve, nil
		}}
		_, err = use[map[string]any](t, w.mcp("approver", opts), "decide_call", map[string]any{
			"id": "ours", "call": "dig/Memo/1", "digest": strings.Repeat("d", 12),
		})
		whole := err == nil && strings.Contains(shown, `"force": true`)
		refused := shown == "" && strings.Contains(fmt.Sprint(err), want)
		if want == "" && !whole || want != "" && !refused {
			t.Errorf("%d bytes: %v; the person is shown %d bytes", size, err, len(shown))
		}
	}
}

// An agent decides nothing by itself. By default the tool is not offered. Otherwise the editor shows the call to its user, who answers,
// unless the agent is trusted.
func TestMCPDecides(t *testing.T) {
	t.Parallel()
	digest := strings.Repeat("d", 12)
	yes := map[string]any{"id": "ours", "call": "dig/Memo/1", "digest": digest, "approved": true}
	confirm := map[string]any{"id": "ours", "question": "q2", "approved": true}
	for _, c := range []struct {
		decide, tool string
		in           map[string]any
		person       *mcp.ElicitResult // the user's answer; nil means that the editor cannot ask
		want         string            // the error, or the decision that is sent
	}{
		{"never", "decide_call", yes, nil, "unknown tool"},
		{"never", "answer_question", confirm, nil, "only the person may answer"},
		{"never", "answer_question", map[string]any{"id": "ours", "question": "q1", "text": "the shop"}, nil, "sent the shop"},
		{"ask", "decide_call", yes, nil, "cannot ask the person"},
		{"ask", "decide_call", yes, &mcp.ElicitResult{Action: "decline"}, "has not decided"},
		{"ask", "decide_call", yes, &mcp.ElicitResult{Action: "cancel"}, "has not decided"},
		{"ask", "decide_call", yes, &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "deny", "reason": "not now"}},
			"sent false not now approver mcp"},
		{"ask", "decide_call", yes, &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "approve"}},
			"sent true  approver mcp"},
		{"ask", "decide_call", map[string]any{"id": "ours", "call": "dig/Memo/1", "digest": "another digest"},
			&mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "approve"}}, "no pending call"},
		{"ask", "answer_question", confirm, &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "deny"}}, "sent false"},
		{"trust", "decide_call", yes, nil, "sent true  approver mcp"},
		{"trust", "decide_call", map[string]any{"id": "ours", "call": "dig/Memo/1", "digest": digest}, nil, "approved is missing"},
		{"trust", "decide_call", yes, &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "deny"}},
			"sent false  approver mcp"},
	} {
		t.Run(fmt.Sprint(c.decide, " ", c.tool, " ", c.person), func(t *testing.T) {
			t.Parallel()
			w, _ := waiting(t, c.decide)
			opts, shown := &mcp.ClientOptions{}, ""
			if c.person != nil {
				opts.ElicitationHandler = func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					shown = r.Params.Message
					return c.person, nil
				}
			}
			_, err := use[map[string]any](t, w.mcp("approver", opts), c.tool, c.in)
			got := fmt.Sprint(err)
			for _, in := range w.temporal.inputs {
				switch in := in.(type) {
				case workflows.Decide:
					got = fmt.Sprint("sent ", *in.Approved, " ", in.Reason, " ", in.Identity.Name, " ", in.Identity.Channel)
				case workflows.Answer:
					got = "sent " + in.Text
					if in.Approved != nil {
						got = fmt.Sprint("sent ", *in.Approved)
					}
				}
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("it says %s, want %s", got, c.want)
			}
			if c.tool == "decide_call" && shown != "" && (!strings.Contains(shown, `"pod": "web"`) || !strings.Contains(shown, `kube.del`) ||
				strings.Contains(shown, "delеte") || !strings.Contains(shown, "\nthe agent says: The p\\u043ed hangs.\n") ||
				!strings.Contains(shown, "\ntool description: Deletes a pod.\n") || !strings.Contains(shown, "auto-denied in ")) {
				t.Errorf("the person is shown %s", shown)
			}
		})
	}
}
