package activities_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/token"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// longLog returns the log that the tool of the case returns.
func longLog(t *testing.T) string {
	t.Helper()
	var script struct {
		Results struct {
			Plain struct{ Content []struct{ Text string } }
		}
	}
	body, err := os.ReadFile("../test/e2e/testdata/outside/38-smaller-window-than-thought/tools.json")
	if err == nil {
		err = json.Unmarshal(body, &script)
	}
	if err != nil {
		t.Fatal(err)
	}
	return script.Results.Plain.Content[0].Text
}

// TestSmallerWindow has a server whose window is smaller than the plan knows. Its refusal shortens the conversation, in this call and
// in later ones, and a notice says so once. The agent goes on.
func TestSmallerWindow(t *testing.T) {
	t.Parallel()
	const window, calls = 8192, 6
	text := longLog(t)
	for name, tt := range map[string]struct {
		ratio   float64 // of the server's count to ours
		names   bool    // the refusal has the window and the size of the prompt
		short   bool    // the refusal has only the window
		reports bool    // replies have the usage
		reply   int     // max_tokens
		planned int     // the window in the plan
		refused int     // maximum number of refusals
		notice  string
	}{
		"named":                          {ratio: 1, names: true, reports: true, refused: 1, notice: "the server accepts only 8192 tokens"},
		"it counts more":                 {ratio: 1.4, names: true, reports: true, refused: 1, notice: "the server accepts only 8192 tokens"},
		"it counts more and never says":  {ratio: 1.4, names: true, refused: 1, notice: "the server accepts only 8192 tokens"},
		"not named":                      {ratio: 1, reports: true, refused: 2, notice: "without naming its limit"},
		"not named, and it counts more":  {ratio: 1.4, refused: 2, notice: "without naming its limit"},
		"the reply takes its part of it": {ratio: 1, names: true, reply: 8000, refused: 1, notice: "the server accepts only 8192 tokens"},
		"the plan knows the window": {ratio: 1, names: true, reply: 4000, planned: window, refused: 1,
			notice: "the server accepts only 8192 tokens"},
		"only the window is named": {ratio: 1, short: true, reply: 4000, refused: 1, notice: "the server accepts only 8192 tokens"},
		"only the window is named, and it counts more": {ratio: 2, short: true, reply: 4000, refused: 3,
			notice: "the server accepts only 8192 tokens"},
		"only the window is named, and the prompt seems to fit": {ratio: 3, short: true, refused: 4,
			notice: "the server accepts only 8192 tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.plan(func(a *plan.Agent) {
				a.MaxIterations, a.MaxTokens, a.Compression.MaxContextTokens = calls+1, tt.reply, tt.planned
			})
			b.run = func(tool.Call) (tool.Result, error) { return tool.Success(text), nil }
			refused := 0
			b.reply = func(req llm.Request) (llm.Response, error) {
				prompt := int(float64(token.Messages("gpt-4o", req.Messages)) * tt.ratio)
				if prompt+req.MaxTokens > window {
					refused++
					failed := &llm.Error{Kind: llm.ErrContextTooLong, Provider: "p", Status: 400, Message: "too long"}
					if tt.names || tt.short {
						failed.Window = window
					}
					if tt.names {
						failed.Prompt = prompt
					}
					return llm.Response{}, failed
				}
				out := llm.Response{Finish: llm.FinishToolCalls, ToolCalls: []agent.ToolCall{{Name: "lab__read", Arguments: `{"n":1}`}}}
				if tt.reports {
					out.Usage = agent.Usage{InputTokens: prompt, OutputTokens: 10}
				}
				return out, nil
			}
			for i := range calls {
				if _, err := b.generate(activities.GenerateIn{Iteration: i + 1}); err != nil {
					t.Fatalf("iteration %d: %v", i+1, err)
				}
				if _, err := b.callTool(i+1, 0); err != nil {
					t.Fatal(err)
				}
			}
			if refused == 0 || refused > tt.refused {
				t.Errorf("%d refusals, want at most %d", refused, tt.refused)
			}
			entries, err := b.store.Entries(t.Context(), b.scope())
			if err != nil {
				t.Fatal(err)
			}
			told := slices.DeleteFunc(entries, func(e transcript.Entry) bool {
				return e.Kind != transcript.KindNotice || !strings.Contains(e.Text, tt.notice)
			})
			if len(told) != 1 {
				t.Errorf("%d notices contain %q", len(told), tt.notice)
			}
			last := b.requests[len(b.requests)-1]
			if shown := token.Messages("gpt-4o", last.Messages); shown < window/6 || last.MaxTokens < min(tt.reply, window/4) {
				t.Errorf("the last request has only %d tokens, and asks for at most %d", shown, last.MaxTokens)
			}
		})
	}
}

// TestWindowThatNothingFits checks that a server that refuses every request ends the call soon, with its own words.
func TestWindowThatNothingFits(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]llm.Error{
		"not named":       {},
		"tiny":            {Window: 20, Prompt: 300},
		"ever a bit less": {Window: 100_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.reply = func(llm.Request) (llm.Response, error) {
				failed := refusal
				failed.Kind, failed.Status, failed.Message = llm.ErrContextTooLong, 400, "much too long"
				if refusal.Window > 1000 {
					failed.Window -= len(b.requests)
				}
				return llm.Response{}, &failed
			}
			_, err := b.generate(activities.GenerateIn{Iteration: 1})
			if err == nil || !strings.Contains(err.Error(), "much too long") {
				t.Errorf("error %v", err)
			}
			if len(b.requests) > 10 {
				t.Errorf("%d requests", len(b.requests))
			}
			b.reply = func(req llm.Request) (llm.Response, error) {
				if token.Messages("gpt-4o", req.Messages) < 10 {
					return llm.Response{}, errors.New("shortened")
				}
				return llm.Response{Content: "done", Finish: llm.FinishStop}, nil
			}
			if _, err := b.generate(activities.GenerateIn{Iteration: 1, Try: 1}); err != nil {
				t.Errorf("a window that no request fitted was learned: %v", err)
			}
		})
	}
}
