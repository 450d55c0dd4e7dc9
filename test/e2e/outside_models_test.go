package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// modelCases are streams and refusals of models' servers whose report contains done.
func modelCases(done string) []*outsideCase {
	return []*outsideCase{
		{name: "30-keepalive-as-data", report: done, requests: 2, check: calls(`{"q":"x"}`)},
		{name: "31-thinking-that-was-empty", report: done, requests: 3, check: calls(`{"q":"x"}`, `{"q":"y"}`)},
		{name: "32-halves-of-a-character", report: "Done: db-1 is on fire 🔥.", check: calls(`{"q":"fire 🔥 now"}`)},
		// Four calls, the conclusion, and one refusal.
		{name: "38-smaller-window-than-thought", report: done, requests: 6, check: notices("the server accepts only 8192 tokens")},
	}
}

// calls expects that the tool got these arguments, in order.
func calls(arguments ...string) func(*testing.T, *outsideCase, record.Investigation) {
	return func(t *testing.T, c *outsideCase, _ record.Investigation) {
		t.Helper()
		if got := c.called(); !slices.Equal(got, arguments) {
			t.Errorf("the tool got %q, want %q", got, arguments)
		}
	}
}

// notices expects one notice with a text.
func notices(text string) func(*testing.T, *outsideCase, record.Investigation) {
	return func(t *testing.T, c *outsideCase, _ record.Investigation) {
		t.Helper()
		var told []string
		for _, e := range c.entries {
			if e.Kind == transcript.KindNotice && strings.Contains(e.Text, text) {
				told = append(told, e.Text)
			}
		}
		if len(told) != 1 {
			t.Errorf("%d notices contain %q: %+v", len(told), text, c.entries)
		}
	}
}

// called returns the arguments of the calls that the MCP server received.
func (c *outsideCase) called() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.arguments)
}

func (c *outsideCase) gets(arguments string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.arguments = append(c.arguments, arguments)
}

// refusedMessages returns a strict server's response to a conversation: DeepSeek wants thoughts back, and llama.cpp has a context
// window. An empty string means accepted.
func (s outsideScript) refusedMessages(request chatRequest) (int, string) {
	on := func(rule string) bool { return slices.Contains(s.Rules, rule) }
	for _, m := range request.Messages {
		if on("reasoning-content") && m.Role == "assistant" && len(m.ToolCalls) > 0 && m.Reasoning == nil {
			return 400, "Missing `reasoning_content` field in an assistant message: in the thinking mode it must be passed back to the API."
		}
	}
	if text, _ := json.Marshal(request.Messages); on("window") && len(text) > 24_000 {
		return 400, "request (9127 tokens) exceeds the available context size (8192 tokens), try increasing it"
	}
	return 0, ""
}
