package activities_test

import (
	"errors"
	"strings"
	"testing"

	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/token"
	"github.com/inquest-dev/inquest/internal/tool"
)

// A call that a provider had begun to answer counts with its reservation, and its next try needs its own room. A
// call that a provider refused costs nothing.
func TestFailedCallsAreCharged(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		kind  error
		spent bool
	}{
		"stalled":      {llm.ErrStalled, true},
		"truncated":    {llm.ErrTruncated, true},
		"malformed":    {llm.ErrMalformed, true},
		"rate limited": {llm.ErrRateLimited, false},
		"away":         {llm.ErrUnavailable, false},
		"refused":      {llm.ErrInvalidRequest, false},
		"no account":   {llm.ErrQuotaExhausted, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			try := func(bound int) (b *bench, said activities.Trouble) {
				b = shop(t, 0, func(p *plan.Plan) {
					p.Bounds = plan.Bounds{MaxTokens: bound, MaxLLMCalls: 1}
					p.Stages[0].Agents[0].Providers = []plan.Provider{{Name: "p", Model: "gpt-4o", Prices: plan.Prices{Input: 1}}}
				})
				b.act.Ledger = b.store
				b.reply = func(llm.Request) (llm.Response, error) {
					return llm.Response{}, &llm.Error{Kind: tt.kind, Provider: "p"}
				}
				_, err := b.generate(activities.GenerateIn{Iteration: 1, Try: 1})
				if failed, ok := errors.AsType[*temporal.ApplicationError](err); !ok || failed.Details(&said) != nil {
					t.Fatalf("got %v", err)
				}
				return b, said
			}
			b, said := try(1_000_000)
			ledger, err := b.store.Usage(t.Context(), "shop")
			charged := ledger.CostUSD > 0 && ledger.InputTokens > 0
			if err != nil || ledger != said.Usage || ledger.ModelCalls != 0 || charged != tt.spent {
				t.Errorf("the ledger has %+v, the workflow is told %+v, %v", ledger, said.Usage, err)
			}
			entries, err := b.store.Entries(t.Context(), b.here())
			if err != nil || len(entries) != 1 || strings.Contains(entries[0].Text, "tokens: the provider may charge for it") != tt.spent {
				t.Errorf("the transcript says %+v, %v", entries, err)
			}
			b.reply = func(llm.Request) (llm.Response, error) {
				return llm.Response{Content: "done", Finish: llm.FinishStop}, nil
			}
			if out, err := b.generate(activities.GenerateIn{Iteration: 1, Try: 2}); err != nil || out.Exceeded != "" || out.Preview != "done" {
				t.Errorf("with room for another try: %+v, %v", out, err)
			}
			if !tt.spent {
				return
			}
			b, _ = try(said.Usage.InputTokens * 3 / 2)
			out, err := b.generate(activities.GenerateIn{Iteration: 1, Try: 2})
			if err != nil || out.Exceeded != agent.EndBudget || len(b.requests) != 1 {
				t.Errorf("without: %+v, %v; the model was asked %d times", out, err, len(b.requests))
			}
		})
	}
}

// Unreported usage is estimated: the input with the tools, which make up most of some requests, and the output.
func TestUnreportedUsage(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ reported, want agent.Usage }{
		"nothing": {agent.Usage{}, agent.Usage{InputTokens: -1, OutputTokens: 1, ModelCalls: 1}},
		"input only": {agent.Usage{InputTokens: 700, CacheReadTokens: 600},
			agent.Usage{InputTokens: 700, CacheReadTokens: 600, OutputTokens: 1, ModelCalls: 1}},
		"both": {agent.Usage{InputTokens: 700, OutputTokens: 9}, agent.Usage{InputTokens: 700, OutputTokens: 9, ModelCalls: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			long := strings.Repeat("what it does ", 1000)
			b.offers = func() ([]tool.Spec, error) { return []tool.Spec{{Name: "lab.read", Description: long}}, nil }
			b.reply = func(llm.Request) (llm.Response, error) {
				return llm.Response{Content: "done", Finish: llm.FinishStop, Usage: tt.reported}, nil
			}
			out, err := b.generate(activities.GenerateIn{Iteration: 1})
			if err != nil {
				t.Fatal(err)
			}
			if tt.want.InputTokens < 0 {
				tt.want.InputTokens = token.Messages("m", b.requests[0].Messages)
				for _, offered := range b.requests[0].Tools {
					for _, text := range []string{offered.Name, offered.Description, string(offered.Schema)} {
						tt.want.InputTokens += token.Count("m", text)
					}
				}
			}
			if out.Usage != tt.want {
				t.Errorf("usage %+v, want %+v", out.Usage, tt.want)
			}
		})
	}
}

// A failed call counts with the reported usage and the output received. The rest is an estimate.
func TestFailedCallsCountWhatIsKnown(t *testing.T) {
	t.Parallel()
	counted := agent.Usage{InputTokens: 2110, OutputTokens: 1, CacheReadTokens: 2000}
	const said = "It is the disk, I think."
	for name, tt := range map[string]struct {
		failed llm.Error
		said   string
		want   agent.Usage // without the cost
	}{
		"told": {llm.Error{Kind: llm.ErrTruncated, Usage: counted}, "", counted},
		"and heard": {llm.Error{Kind: llm.ErrTruncated, Usage: counted}, said,
			agent.Usage{InputTokens: 2110, OutputTokens: token.Count("m", said), CacheReadTokens: 2000}},
		"heard alone":       {llm.Error{Kind: llm.ErrStalled}, said, agent.Usage{InputTokens: -1, OutputTokens: token.Count("m", said)}},
		"withheld, counted": {llm.Error{Kind: llm.ErrContentFiltered, Usage: counted}, "", counted},
		"refused":           {llm.Error{Kind: llm.ErrRateLimited}, "", agent.Usage{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			prices := plan.Prices{Input: 3, Output: 15, CacheRead: 0.3}
			b.plan(func(a *plan.Agent) { a.Providers = []plan.Provider{{Name: "p", Model: "m", Prices: prices}} })
			b.reply = func(llm.Request) (llm.Response, error) { return llm.Response{Content: tt.said}, &tt.failed }
			_, err := b.generate(activities.GenerateIn{Iteration: 1, Try: 1})
			var got activities.Trouble
			if failed, ok := errors.AsType[*temporal.ApplicationError](err); !ok || failed.Details(&got) != nil {
				t.Fatal(err)
			}
			if tt.want.InputTokens < 0 && got.Usage.InputTokens > 0 {
				tt.want.InputTokens = got.Usage.InputTokens
			}
			tt.want.CostUSD = prices.Cost(tt.want)
			if got.Usage != tt.want {
				t.Errorf("%+v, want %+v", got.Usage, tt.want)
			}
		})
	}
}
