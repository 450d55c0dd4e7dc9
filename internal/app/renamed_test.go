package app

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/outgoing"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// clientOf returns the client of a provider whose server is the test's.
func clientOf(t *testing.T, provider plan.Provider, srv *llmtest.Server) llm.Client {
	t.Helper()
	m := &Models{logger: slog.New(slog.DiscardHandler), clients: map[clientKey]llm.Client{},
		env: func(string) (string, bool) { return "key", true }}
	provider.Name, provider.APIKeyEnv, provider.BaseURL = "p", "KEY", srv.URL
	if provider.Type != config.ProviderOpenAI {
		provider.BaseURL = srv.GeminiURL
	}
	client, err := m.Client(provider, plan.Timeouts{})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestRepeatedIDsAndOddNames: a model may give all its calls the same ID, and call tools whose names must be rewritten. It still
// gets a result for each call, and its thoughts beside each of them.
func TestRepeatedIDsAndOddNames(t *testing.T) {
	t.Parallel()
	called := []string{"loki.query", "1password__get", "größe", strings.Repeat("long.", 20)}
	for name, provider := range map[string]plan.Provider{
		"Anthropic": {Type: config.ProviderAnthropic, Model: "claude-sonnet-4-5"},
		"Gemini":    {Type: config.ProviderGoogle, Model: "gemini-3-pro"},
		"Responses": {Type: config.ProviderOpenAI, Model: "gpt-5.6", Responses: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			signer := llmtest.NewSigner()
			turn := 0
			srv := llmtest.Start(t, signer.Script(func(llmtest.Request) llmtest.Reply {
				turn++
				if turn > len(called) {
					return llmtest.Text("Done.")
				}
				return llmtest.Calls(llmtest.Call{ID: "same", Name: called[turn-1], Args: "{}"})
			}))
			client := clientOf(t, provider, srv)
			req := llm.Request{Model: provider.Model, Messages: []agent.Message{{Role: agent.User, Content: "Go."}},
				Thinking: agent.Thinking{Mode: agent.ThinkingOn}}
			for n := range len(called) + 1 {
				reply, err := client.Generate(t.Context(), req, nil)
				if err != nil {
					t.Fatalf("turn %d: %v", n, err)
				}
				said := agent.Message{Role: agent.Assistant, Content: reply.Content, ProviderState: reply.ProviderState}
				for _, call := range reply.ToolCalls { // in the form that activities store
					call.ID, call.Name = fmt.Sprintf("c%d_0", n+1), tool.WireName(call.Name)
					said.ToolCalls = append(said.ToolCalls, call)
				}
				req.Messages = append(req.Messages, said)
				for _, call := range said.ToolCalls {
					req.Messages = append(req.Messages, agent.Message{Role: agent.ToolRole, ToolCallID: call.ID, Content: call.ID})
				}
			}
			for _, m := range srv.Requests()[len(called)].Messages {
				if m.Role == "tool" && !strings.HasPrefix(m.Text(), "c") {
					t.Errorf("result %+v", m)
				}
			}
			if want := len(called) * (len(called) + 1) / 2; signer.Returned() != want {
				t.Errorf("%d thoughts came back, want %d", signer.Returned(), want)
			}
		})
	}
}

// TestOfferedNames: a tool is found by the name that the request declares when the model calls it.
func TestOfferedNames(t *testing.T) {
	t.Parallel()
	for _, name := range append([]string{"1password.get", "-x.y", strings.Repeat("9", 64) + ".y"}, toolNames[1:]...) {
		if wire := tool.WireName(name); outgoing.Name(wire) != wire {
			t.Errorf("%s is offered as %s, and found as %s", name, outgoing.Name(wire), wire)
		}
	}
}
