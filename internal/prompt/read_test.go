package prompt

import "testing"

func TestAgentOf(t *testing.T) {
	t.Parallel()
	for system, want := range map[string]string{
		"You are Clerk, an agent":           "Clerk",
		"You are Büro 2.a, an agent":        "Büro 2.a",
		"You are an agent\nof two, or more": "",
		"I am Clerk, an agent":              "",
	} {
		if got := AgentOf(system); got != want {
			t.Errorf("AgentOf(%q) = %q, want %q", system, got, want)
		}
	}
}
