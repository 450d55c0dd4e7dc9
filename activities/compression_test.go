package activities_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/token"
	"github.com/inquest-dev/inquest/internal/tool"
)

// TestCompressionGoesInSteps: however a provider counts tokens, and however much that varies between calls, few requests
// of a long execution begin differently from the one before.
func TestCompressionGoesInSteps(t *testing.T) {
	t.Parallel()
	const calls = 60
	for name, ratio := range map[string]func(call int) float64{ // ratio of the provider's count to ours
		"as we count":              func(int) float64 { return 1 },
		"a little to and fro":      func(call int) float64 { return 1.12 + 0.01*float64(call%2) },
		"to and fro":               func(call int) float64 { return 1.075 + 0.1*float64(call%2) },
		"more and more":            func(call int) float64 { return 1 + 0.4*float64(call)/calls },
		"less and less":            func(call int) float64 { return 1.4 - 0.4*float64(call)/calls },
		"much for the first calls": func(call int) float64 { return 1 + 3/float64(call) },
		"less than we":             func(call int) float64 { return 0.8 + 0.1*float64(call%3) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.plan(func(a *plan.Agent) {
				a.MaxIterations, a.Compression.MaxContextTokens = calls+10, 30_000
				a.Providers = []plan.Provider{{Name: "p", Model: "claude-sonnet-4-6"}}
			})
			b.run = func(call tool.Call) (tool.Result, error) {
				return tool.Success(strings.Repeat("a line of a log about "+string(call.Arguments)+"\n", 60)), nil
			}
			b.reply = func(req llm.Request) (llm.Response, error) {
				input := float64(token.Messages("m", req.Messages)) * ratio(len(b.requests))
				return llm.Response{Finish: llm.FinishToolCalls, ToolCalls: []agent.ToolCall{{Name: "lab__read", Arguments: `{"n":1}`}},
					Usage: agent.Usage{InputTokens: int(input), OutputTokens: 10}}, nil
			}
			for i := range calls {
				if _, err := b.generate(activities.GenerateIn{Iteration: i + 1}); err != nil {
					t.Fatal(err)
				}
				if _, err := b.callTool(i+1, 0); err != nil {
					t.Fatal(err)
				}
			}
			var steps []int
			last := ""
			for i, req := range b.requests {
				var now strings.Builder
				if err := json.NewEncoder(&now).Encode(req.Messages); err != nil {
					t.Fatal(err)
				}
				if llmtest.Shared(last, now.String())*100 < len(last)*95 {
					steps = append(steps, i+1)
				}
				last = now.String()
			}
			if len(steps) == 0 || len(steps) > 8 {
				t.Errorf("requests %d begin otherwise: want some, and few", steps)
			}
		})
	}
}
