package inquesttest_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest"
	"github.com/inquest-dev/inquest/inquesttest"
)

func office() inquesttest.World {
	return inquesttest.World{
		Options: inquest.Options{
			Tools:  []inquest.Tool{inquest.NewTool("search_orders", "Finds orders", search)},
			Agents: map[string]*inquest.Agent{"Clerk": {ToolIDs: []string{"search_orders"}, DefaultModel: "openai:gpt-4o"}},
			Chains: map[string]*inquest.Chain{"orders": {Stages: []*inquest.Stage{{Name: "look", Agents: []*inquest.StageAgent{{Name: "Clerk"}}}}}},
		},
		Script: []inquesttest.Rule{
			{Calls: []inquesttest.Call{{Tool: "search_orders", Arguments: query{Customer: "ada"}}}},
			{Seen: "ada-1001", Say: "Order 1001 is late."},
		},
	}
}

// TestListener checks that a listener receives committed events in each agent's order, and that a panic in the
// listener, or no listener, changes nothing.
func TestListener(t *testing.T) {
	t.Parallel()
	w := office()
	var received []string
	w.Options.Listener = func(e inquest.WorkerEvent) {
		received = append(received, strings.Join(strings.Fields(e.Kind+" "+e.Stage+" "+e.Agent+" "+e.Tool+" "+e.Status), " "))
		panic("never mind")
	}
	result, err := w.Run(t.Context(), inquest.Request{Chain: "orders", Data: "Where is my order?"})
	if err != nil || result.Status != "completed" {
		t.Fatalf("%+v, %v", result, err)
	}
	want := []string{
		"investigation_started running", "agent_started look Clerk running", "model_call look Clerk tool_calls",
		"tool_call look Clerk search_orders success", "model_call look Clerk stop", "stage_ended look completed", "investigation_ended completed",
	}
	if diff := cmp.Diff(want, received); diff != "" {
		t.Error(diff)
	}
}

// TestNoRule checks that a call without a matching rule ends the investigation with an explanation, and that Run
// returns an error for a refused request.
func TestNoRule(t *testing.T) {
	t.Parallel()
	w := office()
	w.Script = w.Script[:1]
	result, err := w.Run(t.Context(), inquest.Request{Chain: "orders", Data: "Where is my order?"})
	if err != nil || result.Status != "failed" || !strings.Contains(result.Error, "no rule of the script answers agent") {
		t.Errorf("%+v, %v", result, err)
	}
	if _, err := w.Run(t.Context(), inquest.Request{Chain: "ordrs", Data: "x"}); err == nil || !strings.Contains(err.Error(), `"ordrs"`) {
		t.Errorf("got %v", err)
	}
}

// TestPromptFunc checks that a prompt function runs once and gets the agent's input.
func TestPromptFunc(t *testing.T) {
	t.Parallel()
	w := office()
	w.Options.Chains["orders"].Stages[0].PromptKey = "brief"
	w.Options.PromptFuncs = map[string]inquest.Prompt{"brief": func(_ context.Context, in inquest.PromptInput) (string, error) {
		return in.Agent + " {{.looks}} at: " + in.Request, nil
	}}
	result, err := w.Run(t.Context(), inquest.Request{Chain: "orders", Data: "Where is my order?"})
	if err != nil || result.Status != "completed" || len(result.Asked) != 2 {
		t.Fatalf("%+v, %v", result, err)
	}
	for _, req := range result.Asked {
		if !strings.HasPrefix(req.Messages[0].Content, "Clerk {{.looks}} at: Where is my order?\n") {
			t.Errorf("the prompt begins with %.80q", req.Messages[0].Content)
		}
	}
	w.Options.PromptFuncs["brief"] = func(context.Context, inquest.PromptInput) (string, error) { return "", nil }
	result, err = w.Run(t.Context(), inquest.Request{Chain: "orders", Data: "x"})
	if err != nil || !strings.Contains(result.Error, "a prompt must not be empty") {
		t.Errorf("%+v, %v", result, err)
	}
}

// TestOwnModel checks that a provider's model client is used, and that its errors keep their kinds.
func TestOwnModel(t *testing.T) {
	t.Parallel()
	w := office()
	w.Options.Providers = map[string]*inquest.Provider{"bedrock": {Type: "program", Model: "claude"}}
	w.Options.Agents["Clerk"].DefaultModel = "bedrock:opus"
	bedrock := func(_ context.Context, req inquest.ModelRequest, _ func(inquest.ModelDelta)) (inquest.ModelReply, error) {
		if req.Model != "opus" || len(req.Tools) == 0 {
			return inquest.ModelReply{}, errors.Join(inquest.ErrInvalidRequest, errors.New(req.Model))
		}
		return inquest.ModelReply{Content: "As " + req.Model}, nil
	}
	w.Options.Models = map[string]inquest.Model{"bedrock": bedrock}
	result, err := w.Run(t.Context(), inquest.Request{Chain: "orders", Data: "Where is my order?"})
	if err != nil || result.Report != "As opus" || len(result.Asked) > 0 {
		t.Errorf("%+v, %v", result, err)
	}
}

// TestGuide checks that guidance is shown to the agent before its next model call.
func TestGuide(t *testing.T) {
	t.Parallel()
	w := office()
	w.Options.Agents = map[string]*inquest.Agent{"Büro 2": w.Options.Agents["Clerk"]}
	w.Options.Chains["orders"].Stages[0].Agents[0].Name = "Büro 2"
	w.Script = []inquesttest.Rule{{Agent: "Büro 2", Seen: "Ask about Ada", Say: "I have asked."}}
	w.Signals = []inquesttest.Signal{{Name: "guide", Input: map[string]string{"text": "Ask about Ada"}}}
	result, err := w.Run(t.Context(), inquest.Request{Chain: "orders", Data: "Where is my order?"})
	if err != nil || result.Report != "I have asked." {
		t.Errorf("%+v, %v", result, err)
	}
}
