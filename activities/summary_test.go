package activities_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/worker"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/token"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// summariser is a model that is asked for summaries by several goroutines at once.
type summariser struct {
	answer func(llm.Request) (llm.Response, error)

	mu       sync.Mutex
	requests []llm.Request
}

func (s *summariser) Generate(_ context.Context, req llm.Request, _ func(llm.Delta)) (llm.Response, error) {
	s.mu.Lock()
	s.requests = append(s.requests, req)
	s.mu.Unlock()
	return s.answer(req)
}

// desk is a bench with a summariser beside the agent's own model.
type desk struct {
	*bench
	summariser *summariser
}

func (d desk) Client(p plan.Provider, _ plan.Timeouts) (llm.Client, error) {
	if p.Name == "small" {
		return d.summariser, nil
	}
	return d.bench, nil
}

// newDesk returns a desk whose agent has requested results of these sizes, in bytes.
func newDesk(t *testing.T, sizes ...int) desk {
	t.Helper()
	d := desk{newBench(t), &summariser{answer: func(req llm.Request) (llm.Response, error) {
		return llm.Response{Content: "it is brief", Model: "small-2", Finish: llm.FinishStop,
			Usage: agent.Usage{InputTokens: 700, OutputTokens: 30}}, nil
	}}}
	d.act.Models = d
	d.plan(func(a *plan.Agent) {
		a.Servers[0].Summarization = &plan.Summarization{
			Threshold: 500, MaxTokens: 100, Provider: &plan.Provider{Name: "small", Model: "small-1"},
		}
	})
	var calls []agent.ToolCall
	for n := range sizes {
		calls = append(calls, agent.ToolCall{Name: "lab__read", Arguments: fmt.Sprintf(`{"n":%d}`, n)})
	}
	d.asks(calls...)
	for n, size := range sizes {
		d.run = func(tool.Call) (tool.Result, error) { return tool.Success(numbered(size)), nil }
		if _, err := d.callTool(1, n); err != nil {
			t.Fatal(err)
		}
	}
	d.reply = func(llm.Request) (llm.Response, error) {
		return llm.Response{Content: "done", Finish: llm.FinishStop, Usage: agent.Usage{InputTokens: 50, OutputTokens: 5}}, nil
	}
	return d
}

// numbered returns a text of a given size in which each line states its position.
func numbered(size int) string {
	var b strings.Builder
	for b.Len() < size {
		fmt.Fprintf(&b, "at byte %d all is well\n", b.Len())
	}
	return b.String()[:size]
}

// shown returns the results in the last request to the agent's model.
func (d desk) shown() (texts []string) {
	for _, m := range d.requests[len(d.requests)-1].Messages {
		if m.Role == agent.ToolRole {
			texts = append(texts, m.Content)
		}
	}
	return texts
}

func TestLargeResultsAreSummarisedOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 20_000, 100, 600_000)
	first, err := d.generate(activities.GenerateIn{Iteration: 2})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"it is brief\n[Summary of a result of 20000 bytes; complete result: read_result {\"ref\": \"1/0\"}]",
		numbered(100),
		"it is brief\n[Summary of a result of 600000 bytes; complete result: read_result {\"ref\": \"1/2\"}]",
	}
	if diff := cmp.Diff(want, d.shown()); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	first.Kept = true // as the second one returns it

	for _, iteration := range []int{2, 3} { // again, and in the next iteration
		second, err := d.generate(activities.GenerateIn{Iteration: iteration})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, second); iteration == 2 && diff != "" {
			t.Errorf("second time (-first +second):\n%s", diff)
		}
		if iteration == 3 && second.Usage.ModelCalls != 1 {
			t.Errorf("summaries were counted again: %+v", second.Usage)
		}
	}
	if n := len(d.summariser.requests); n != 2 {
		t.Errorf("%d summaries were asked for, want 2", n)
	}
	if want := (agent.Usage{InputTokens: 2*700 + 50, OutputTokens: 2*30 + 5, ModelCalls: 3}); first.Usage != want {
		t.Errorf("usage %+v, want %+v", first.Usage, want)
	}
	ledger, err := d.store.Usage(t.Context(), "inv")
	if err != nil || ledger.ModelCalls != 5 || ledger.InputTokens < 2*700+2*50 || ledger.InputTokens > 2*700+3*50+600 {
		t.Errorf("ledger %+v, %v", ledger, err)
	}
}

// After a crash following a summary, or a model failure following it, the next attempt and the next provider find the
// summary that was paid for.
func TestSummaryOutlivesTheReply(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 20_000)
	working := d.reply
	d.reply = func(llm.Request) (llm.Response, error) { return llm.Response{}, &llm.Error{Kind: llm.ErrUnavailable} }
	if _, err := d.generate(activities.GenerateIn{Iteration: 2}); err == nil {
		t.Fatal("the reply did not fail")
	}
	d.reply = working
	out, err := d.generate(activities.GenerateIn{Iteration: 2, Provider: 1})
	if err != nil || out.Usage.ModelCalls != 2 || len(d.summariser.requests) != 1 {
		t.Errorf("%+v, %v after %d summaries", out, err, len(d.summariser.requests))
	}
}

func TestWhatASummaryIsAskedWith(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 2_000_000)
	if _, err := d.generate(activities.GenerateIn{Iteration: 2}); err != nil {
		t.Fatal(err)
	}
	req := d.summariser.requests[0]
	task := req.Messages[1].Content
	whole := numbered(2_000_000)
	for _, part := range []string{"lab.read", `{"n":0}`, "2000000 bytes", "bytes left out", whole[:1000],
		strings.TrimSpace(whole[len(whole)-1000:])} {
		if !strings.Contains(task, part) {
			t.Errorf("the task lacks %.60q", part)
		}
	}
	if req.Model != "small-1" || req.MaxTokens < 100 || len(req.Tools) != 0 || len(task) < 200_000 || len(task) > 1_000_000 {
		t.Errorf("model %s, at most %d tokens, %d tools, %d bytes", req.Model, req.MaxTokens, len(req.Tools), len(task))
	}
}

// A model with a smaller window than assumed gets less of a result, and the summary is made.
func TestSummaryInASmallerWindow(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 200_000)
	brief := d.summariser.answer
	d.summariser.answer = func(req llm.Request) (llm.Response, error) {
		if prompt := token.Messages("small-1", req.Messages); prompt > 8192 {
			return llm.Response{}, &llm.Error{Kind: llm.ErrContextTooLong, Status: 400, Window: 8192, Prompt: prompt}
		}
		return brief(req)
	}
	if _, err := d.generate(activities.GenerateIn{Iteration: 2}); err != nil {
		t.Fatal(err)
	}
	if shown := d.shown(); len(d.summariser.requests) != 2 || !strings.HasPrefix(shown[0], "it is brief") {
		t.Errorf("%d requests, %.100q", len(d.summariser.requests), shown)
	}
}

func TestSummaryThatFails(t *testing.T) {
	t.Parallel()
	refused := &llm.Error{Kind: llm.ErrAuth, Provider: "small"}
	tests := []struct {
		name      string
		answer    llm.Response
		err       error
		errorType string
		shown     string
	}{
		{"refused", llm.Response{}, refused, "CredentialsRefused", numbered(400) + "\n[truncated: the first 400 of 20000 bytes]\n" +
			`[Not summarised (CredentialsRefused): the beginning of a result of 20000 bytes; complete result: read_result {"ref": "1/0"}]`},
		{"empty", llm.Response{Content: " \n"}, nil, "EmptyReply", numbered(400) + "\n[truncated: the first 400 of 20000 bytes]\n" +
			`[Not summarised (EmptyReply): the beginning of a result of 20000 bytes; complete result: read_result {"ref": "1/0"}]`},
		{"longer than it may be", llm.Response{Content: strings.Repeat("word ", 1000)}, nil, "", strings.TrimSpace(strings.Repeat("word ", 100)) +
			"\n" + `[Summary of a result of 20000 bytes; complete result: read_result {"ref": "1/0"}]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, 20_000)
			d.summariser.answer = func(llm.Request) (llm.Response, error) { return tt.answer, tt.err }
			if _, err := d.generate(activities.GenerateIn{Iteration: 2}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tt.shown}, d.shown()); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			entries, err := d.store.Entries(t.Context(), d.scope())
			made, ok := transcript.Summaries(entries)[transcript.ResultKey(1, 0)]
			if err != nil || !ok || made.ErrorType != tt.errorType || made.Provider != "small" {
				t.Errorf("summary %+v, %v", made.Body, err)
			}
		})
	}
}

// If a model's failure is temporary, Temporal retries, and nothing is written.
func TestSummaryThatMayComeLater(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 20_000)
	d.summariser.answer = func(llm.Request) (llm.Response, error) { return llm.Response{}, &llm.Error{Kind: llm.ErrRateLimited} }
	if _, err := d.generate(activities.GenerateIn{Iteration: 2}); err == nil || !strings.Contains(err.Error(), "RateLimited") {
		t.Errorf("got %v", err)
	}
	if last := d.last(); last.Kind != transcript.KindResult {
		t.Errorf("last entry: %s", last.Kind)
	}
}

// A cancelled activity must not leave a cut result in place of a summary.
func TestCancelledSummaryLeavesNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 20_000)
	ctx, cancel := context.WithCancel(context.Background())
	d.env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
	d.summariser.answer = func(llm.Request) (llm.Response, error) {
		cancel()
		return llm.Response{}, ctx.Err()
	}
	if _, err := d.generate(activities.GenerateIn{Iteration: 2}); err == nil {
		t.Error("the activity did not fail")
	}
	if last := d.last(); last.Kind != transcript.KindResult {
		t.Errorf("last entry: %s", last.Kind)
	}
}
