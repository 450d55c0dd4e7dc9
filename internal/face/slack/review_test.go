package slack_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/slack/workspacetest"
	"github.com/inquest-dev/inquest/internal/record"
)

// People claim, rate and acknowledge below the report, and the thread says once who did. A report of any length has room for the buttons.
func TestReview(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	thread := w.Say(channel, "", "U1", "<@"+workspacetest.Bot+"> look")
	id, _ := w.investigation(thread)
	long := strings.Repeat("# H\n\n"+strings.Repeat("a word ", 400)+"\n\n", 60)
	w.becomes(id, agent.StatusCompleted, "The pool was cut.\n\n"+long, record.Waits{})
	w.Until("the report", func() bool { return len(w.ours(thread, "The pool was cut")) == 1 })
	report := w.ours(thread, "The pool was cut")[0]
	if n := len(report.Blocks.BlockSet); n > 50 {
		t.Errorf("%d blocks", n)
	}
	w.Press("U2", report, "review-claim")
	w.Until("the refusal", func() bool { w.mu.Lock(); defer w.mu.Unlock(); return len(w.refusals) == 1 })
	w.Press("U1", report, "review-claim")
	w.Until("the claim", func() bool { return len(w.ours(thread, "is reviewing this")) == 1 })
	w.Press("U1", report, "rate-partly")
	note := "right <!here> service, password hunter2\n*bob* approved"
	answer := w.submit("U1", "V0", "x", "y", "first=accurate 2")
	if !strings.Contains(answer, `"claims":"\"first=accurate\": give NUMBER=RATING`) {
		t.Errorf("wrong claims: %s", answer)
	}
	w.submit("U1", "V1", note, "rolled it back", "1=accurate 3=inaccurate")
	w.submit("U1", "V1", note, "rolled it back", "1=accurate 3=inaccurate") // Slack sends it again
	w.Press("U1", report, "rate-inaccurate")
	w.submit("U1", "V2", strings.Repeat("&", 2000), strings.Repeat("<\n", 1000)) // Slack has limits for the escaped text
	w.Until("a long note", func() bool { return len(w.ours(thread, "rated this as inaccurate")) == 1 })
	w.Press("U1", report, "review-acknowledge")
	w.Until("what ada did", func() bool { return len(w.ours(thread, "acknowledged this")) == 1 })
	w.Press("U1", report, "review-reopen")
	w.Until("the review is open again", func() bool { return len(w.ours(thread, "reopened the review")) == 1 })
	for _, want := range [][]string{
		{"ada review", `{"ID":"` + id + `","Body":{"action":"claim"}}`}, {"ada review", `"action":"acknowledge"`},
		{"ada review", `"action":"reopen"`},
		{"ada rate", `"rating":"partly"`, `service, password ***\n`, `"action_taken":"rolled it back"`,
			`"claims":[{"claim":1,"rating":"accurate"},{"claim":3,"rating":"inaccurate"}]`},
	} {
		if !w.did(want...) {
			t.Errorf("not once: %q in %q", want, w.applied)
		}
	}
	said := w.ours(thread, "rated this as partly accurate")
	if len(said) != 1 {
		t.Fatalf("said %v", said)
	}
	text, _ := json.Marshal(said[0].Blocks)
	for _, want := range []string{
		`\u003c@U1\u003e rated this as partly accurate.\n`, `\u003e right `, `\n\u003e *bob* approved`, `Action taken: rolled it back`,
		`Claims: 1=accurate 3=inaccurate`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	if strings.Contains(string(text), "hunter2") || strings.Contains(string(text), `\u003c!here`) {
		t.Errorf("said %s", text)
	}
}
