package activities_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
)

// inbox is a workflow's input, and a configuration with one chain.
type inbox string

func (i inbox) Inputs(context.Context, string, string) ([][]byte, string, error) {
	return [][]byte{[]byte(i)}, "somebody@a-host", nil
}

func (inbox) Message(context.Context, string, string, string) (string, error) {
	return "", errors.New("there are none")
}

func (inbox) Plan(_ context.Context, req agent.Request, _ string) (plan.Plan, error) {
	if req.Chain != "lab" {
		return plan.Plan{}, fmt.Errorf("unknown chain %q; available: lab", req.Chain)
	}
	return plan.Plan{Chain: "lab", AlertType: "incident"}, nil
}

func (inbox) Scoring(context.Context, agent.Request, string) (plan.Stage, error) {
	return judging(), nil
}

func (inbox) Conversation(context.Context, agent.ConversationRequest) (plan.Plan, error) {
	return plan.Plan{}, errors.New("there are none")
}

// The store has the outcome of every request, even a refused one.
func TestResolveLeavesARecord(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		input  string
		chain  string
		status agent.Status
		says   string
	}{
		"accepted":      {`{"chain":"lab","data":"x"}`, "lab", agent.StatusRunning, ""},
		"no request":    {`["lab"]`, "", agent.StatusRefused, "the input is not a request (its JSON type is array)"},
		"unknown chain": {`{"chain":"lob"}`, "lob", agent.StatusRefused, `unknown chain "lob"; available: lab`},
		"no data":       {`{"chain":"lab"}`, "lab", agent.StatusRefused, "nothing to investigate"},
		"unknown data":  {`{"chain":"lab","data_ref":"y"}`, "lab", agent.StatusRefused, `data_ref "y" is not in this worker's store`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.act.Requests, b.act.Planner, b.act.SearchAttributes = inbox(tt.input), inbox(""), true
			_, err := b.env.ExecuteActivity(b.act.Resolve, activities.ResolveIn{Investigation: "w:1", RunID: "run"})
			refused, ok := errors.AsType[*temporal.ApplicationError](err)
			if ok != (tt.status == agent.StatusRefused) || ok && refused.Type() != activities.ErrorInvalidRequest {
				t.Errorf("Resolve: %v", err)
			}
			var known activities.ResolveOut // the workflow uses it for its search attributes
			if ok && (refused.Details(&known) != nil || !known.SearchAttributes || known.Skeleton.Chain != tt.chain) {
				t.Errorf("the refusal says %+v", known)
			}
			r, err := b.store.Investigation(t.Context(), "w:1")
			if err != nil {
				t.Fatal(err)
			}
			got := record.Investigation{Chain: r.Chain, Status: r.Status, Error: r.Error[:min(len(tt.says), len(r.Error))]}
			if diff := cmp.Diff(record.Investigation{Chain: tt.chain, Status: tt.status, Error: tt.says}, got); diff != "" {
				t.Errorf("recorded (-want +got):\n%s", diff)
			}
			if tt.status == agent.StatusRunning {
				p, err := b.store.Blob(t.Context(), r.PlanHash)
				if err != nil || !strings.Contains(string(p), `"project":"default"`) {
					t.Errorf("the plan is %s, %v", p, err)
				}
			}
			if by := r.Envelope.By; tt.status == agent.StatusRunning && by != "somebody@a-host" {
				t.Errorf("it was asked for by %q", by)
			}
			if r.RunID != "run" || r.StartedAt.IsZero() || (r.EndedAt != nil) != r.Status.Closed() {
				t.Errorf("recorded %+v", r)
			}
		})
	}
}

// late is a configuration whose plans wait for functions of the program.
type late struct {
	inbox
	by *string // the person who asks
}

func (l late) Plan(_ context.Context, req agent.Request, _ string) (plan.Plan, error) {
	*l.by = req.By
	return plan.Plan{}, activities.ErrTakesLong
}

func (late) Conversation(context.Context, agent.ConversationRequest) (plan.Plan, error) {
	return plan.Plan{}, activities.ErrTakesLong
}

func (late) Scoring(context.Context, agent.Request, string) (plan.Stage, error) {
	return plan.Stage{}, activities.ErrTakesLong
}

// A plan that takes too long for a workflow task is not refused: a regular activity makes it.
func TestPlansThatTakeLong(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var by string
	b.finished()
	for _, tt := range []struct {
		input        string
		activity, in any
	}{
		{`{"chain":"lab","data":"x"}`, b.act.Resolve, activities.ResolveIn{Investigation: "inv-2", RunID: "run"}},
		{`{"agent":"Memo"}`, b.act.OpenConversation, activities.OpenConversationIn{Conversation: "inv-2", RunID: "run"}},
		{``, b.act.BeginScore, activities.BeginScoreIn{Investigation: "inv"}},
	} {
		b.act.Requests, b.act.Planner = inbox(tt.input), late{by: &by}
		_, err := b.env.ExecuteActivity(tt.activity, tt.in)
		failed, ok := errors.AsType[*temporal.ApplicationError](err)
		if !ok || failed.NonRetryable() || failed.Type() != activities.ErrorWorkerCannot {
			t.Errorf("%T: %v", tt.in, err)
		}
	}
	if by != "somebody@a-host" {
		t.Errorf("the plan is told that %q asks", by)
	}
	if _, err := b.store.Investigation(t.Context(), "inv-2"); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("there is a record: %v", err)
	}
}
