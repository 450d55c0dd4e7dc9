package llm_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

func TestParseClaude(t *testing.T) {
	t.Parallel()
	tests := map[string]llm.Claude{
		"claude-3-haiku-20240307":                     {Family: "haiku", Version: 300},
		"claude-3-7-sonnet-latest":                    {Family: "sonnet", Version: 307},
		"claude-sonnet-4-20250514":                    {Family: "sonnet", Version: 400},
		"claude-opus-4-1-20250805":                    {Family: "opus", Version: 401},
		"anthropic/claude-opus-4.6":                   {Family: "opus", Version: 406},
		"us.anthropic.claude-haiku-4-5-20251001-v1:0": {Family: "haiku", Version: 405},
		"claude-sonnet-5":                             {Family: "sonnet", Version: 500},
		"claude-opus-5-5":                             {Family: "opus", Version: 505},
		"claude-fable-5-1":                            {Family: "fable", Version: 501},
		"claude-mythos-preview":                       {Family: "mythos", Version: 407},
		"gpt-4o":                                      {},
		"claude":                                      {},
	}
	for model, want := range tests {
		if diff := cmp.Diff(want, llm.ParseClaude(model)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", model, diff)
		}
	}
}

func TestThinkingProblem(t *testing.T) {
	t.Parallel()
	off, on, adaptive := agent.Thinking{Mode: "off"}, agent.Thinking{Mode: "on"}, agent.Thinking{Mode: "adaptive"}
	budget := agent.Thinking{Mode: "on", Budget: 4000}
	effort := func(level string) agent.Thinking { return agent.Thinking{Effort: level} }
	tests := []struct {
		protocol, model string
		can, cannot     []agent.Thinking
	}{
		{"anthropic", "claude-3-5-sonnet-20241022", []agent.Thinking{off}, []agent.Thinking{on, adaptive, budget, effort("low")}},
		{"anthropic", "claude-sonnet-4-5", []agent.Thinking{off, on, budget},
			[]agent.Thinking{adaptive, effort("low"), {Mode: "on", Budget: 1000}}},
		{"anthropic", "claude-opus-4-5", []agent.Thinking{effort("high"), budget}, []agent.Thinking{effort("max")}},
		{"anthropic", "claude-opus-4-1", []agent.Thinking{{Mode: "on", Budget: 30_000}},
			[]agent.Thinking{{Mode: "on", Budget: 31_000}, effort("low")}},
		{"anthropic", "claude-haiku-4-5", []agent.Thinking{{Mode: "on", Budget: 62_976}}, []agent.Thinking{{Mode: "on", Budget: 62_977}}},
		{"anthropic", "claude-opus-4-6", []agent.Thinking{off, on, adaptive, budget, effort("max")}, []agent.Thinking{effort("xhigh")}},
		{"anthropic", "claude-opus-4-8", []agent.Thinking{off, adaptive, effort("xhigh")}, []agent.Thinking{budget, effort("minimal")}},
		{"anthropic", "claude-opus-5", []agent.Thinking{off, {Mode: "off", Effort: "high"}}, []agent.Thinking{{Mode: "off", Effort: "max"}}},
		{"anthropic", "claude-sonnet-5-5", []agent.Thinking{on, adaptive, effort("low")}, []agent.Thinking{off, budget}},
		{"anthropic", "claude-haiku-5-5", []agent.Thinking{off}, []agent.Thinking{budget}},
		{"anthropic", "somebody-elses", []agent.Thinking{off, budget, effort("high")}, nil},
		{"google", "gemini-2.0-flash", []agent.Thinking{off}, []agent.Thinking{on, effort("low")}},
		{"google", "gemini-2.5-flash", []agent.Thinking{off, on, adaptive, budget, effort("low")},
			[]agent.Thinking{{Mode: "on", Budget: 9, Effort: "low"}}},
		{"google", "gemini-2.5-flash-lite", []agent.Thinking{{Mode: "on", Budget: 512}},
			[]agent.Thinking{{Mode: "on", Budget: 511}, {Mode: "on", Budget: 24577}}},
		{"google", "gemini-2.5-pro", []agent.Thinking{budget, {Mode: "on", Budget: 32768}}, []agent.Thinking{off, {Mode: "on", Budget: 127}}},
		{"google", "gemini-3-pro-preview", []agent.Thinking{effort("low"), effort("high")},
			[]agent.Thinking{effort("medium"), effort("minimal")}},
		{"google", "gemini-3.1-pro-preview", []agent.Thinking{adaptive, effort("low")}, []agent.Thinking{off, budget, effort("minimal")}},
		{"google", "gemini-3.5-flash", []agent.Thinking{effort("minimal")}, []agent.Thinking{off, effort("xhigh")}},
		{"openai", "gpt-4o", []agent.Thinking{off}, []agent.Thinking{on, adaptive, effort("low")}},
		{"openai", "gpt-5-chat-latest", []agent.Thinking{off}, []agent.Thinking{on, effort("low")}},
		{"openai", "openai/gpt-5.2-chat-latest", []agent.Thinking{off}, []agent.Thinking{effort("xhigh")}},
		{"openai", "o3", []agent.Thinking{on, effort("low")}, []agent.Thinking{off, budget, effort("minimal")}},
		{"azure", "gpt-5", []agent.Thinking{effort("minimal")}, []agent.Thinking{off, effort("xhigh")}},
		{"openai", "gpt-5-pro", []agent.Thinking{effort("high")}, []agent.Thinking{off, effort("medium")}},
		{"openai", "gpt-5.5-pro", []agent.Thinking{effort("medium"), effort("xhigh")}, []agent.Thinking{off, effort("low")}},
		{"openai", "gpt-5-codex", []agent.Thinking{effort("low")}, []agent.Thinking{effort("minimal")}},
		{"openai", "gpt-5.3-codex", []agent.Thinking{off, effort("xhigh")}, []agent.Thinking{effort("minimal")}},
		{"openai", "gpt-5.1", []agent.Thinking{off, effort("none")}, []agent.Thinking{effort("minimal"), effort("xhigh")}},
		{"openai", "openai/gpt-5.2", []agent.Thinking{effort("xhigh")}, []agent.Thinking{effort("max")}},
		{"openai", "gpt-5.6-luna", []agent.Thinking{effort("max")}, []agent.Thinking{effort("minimal")}},
		{"openai", "gpt-6-sol", []agent.Thinking{off, effort("max")}, []agent.Thinking{budget}},
		{"openai", "claude-sonnet-4-5", nil, []agent.Thinking{off, on, budget, effort("low")}},
		{"openai", "gemini-2.5-pro", []agent.Thinking{effort("low")}, []agent.Thinking{budget, off}},
		{"openai", "llama3.1", []agent.Thinking{off, effort("low")}, []agent.Thinking{budget}},
		{"scripted", "sample", []agent.Thinking{budget}, nil},
	}
	for _, tt := range tests {
		for _, want := range tt.can {
			if problem := llm.ThinkingProblem(tt.protocol, tt.model, want, 0); problem != "" {
				t.Errorf("%s, %s, %+v: %s", tt.protocol, tt.model, want, problem)
			}
		}
		for _, want := range tt.cannot {
			if problem := llm.ThinkingProblem(tt.protocol, tt.model, want, 0); problem == "" {
				t.Errorf("%s, %s, %+v: no problem, want one", tt.protocol, tt.model, want)
			}
		}
	}
	if llm.ThinkingProblem("anthropic", "claude-sonnet-4-5", budget, 4000) == "" {
		t.Error("a budget of all of max_tokens: no problem, want one")
	}
}

func TestOpenAIReasons(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]bool{
		"gpt-35-turbo": false, "gpt-12": true,
		"gpt-5": true, "openai/gpt-5.2": true, "o3": true, "gpt-5-codex": true, "gpt-4o": false, "gpt-5-chat-latest": false,
		"openai/gpt-5.1-chat": false,
	} {
		if got := llm.OpenAIReasons(model); got != want {
			t.Errorf("%s: %v", model, got)
		}
	}
}

// TestThinkingTable checks the table in docs/reference/models.md, level by level and at the limits of each budget.
func TestThinkingTable(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../docs/reference/models.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| (anthropic|google|openai) \| (\S+) \| (\S+) \| (\S+) \| (\S+) \| (.+) \|$`)
	rows := row.FindAllStringSubmatch(string(guide), -1)
	if len(rows) < 15 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		takes := func(want agent.Thinking) bool { return llm.ThinkingProblem(row[1], row[2], want, 0) == "" }
		said := map[string]bool{"yes": true, "–": false}
		if off := takes(agent.Thinking{Mode: agent.ThinkingOff}); off != said[row[3]] {
			t.Errorf("%s: off: %v", row[2], off)
		}
		if adaptive := takes(agent.Thinking{Mode: agent.ThinkingAdaptive}); adaptive != said[row[4]] {
			t.Errorf("%s: adaptive: %v", row[2], adaptive)
		}
		least, most := 1, 0
		if row[5] != "–" {
			_, _ = fmt.Sscanf(strings.Replace(row[5], "–", " ", 1), "%d %d", &least, &most)
		}
		for _, budget := range []int{least - 1, least, most, most + 1, 5000} {
			if budget > 0 && takes(agent.Thinking{Mode: agent.ThinkingOn, Budget: budget}) != (least <= budget && budget <= most) {
				t.Errorf("%s: a budget of %d tokens: %v", row[2], budget, !(least <= budget && budget <= most))
			}
		}
		for _, level := range []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"} {
			if want := slices.Contains(strings.Split(row[6], ", "), level); takes(agent.Thinking{Effort: level}) != want {
				t.Errorf("%s: %s: %v", row[2], level, !want)
			}
		}
	}
}
