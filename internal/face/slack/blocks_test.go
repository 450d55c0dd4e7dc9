package slack

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/face/report"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
)

// TestReportContent checks that a message and its notification say what was not checked before the cause.
func TestReportContent(t *testing.T) {
	t.Parallel()
	missing := []record.NotChecked{{Server: "k8s", Agents: []string{"A"}, Why: "it cannot be started", Detail: "<!channel>"}}
	r := record.Investigation{Report: "## Cause\nThe pool.", Envelope: record.Envelope{NotChecked: missing}}
	r.Envelope.Summary = "All in all."
	c, whole := reportContent(report.Of(r, nil, "i · completed · partial", nil), "")
	blocks, err := json.Marshal(c.blocks)
	if err != nil || !whole {
		t.Fatal(whole, err)
	}
	text := string(blocks)
	if at := strings.Index(text, "*Not checked:* k8s (it cannot be started: `"); at < 0 || at > strings.Index(text, "The pool") ||
		strings.Contains(text, `\u003c!channel`) {
		t.Errorf("blocks: %s", text)
	}
	if cause, summary := strings.Index(text, "The pool"), strings.Index(text, "All in all"); cause < 0 || summary < cause {
		t.Errorf("the summary is not behind the cause: %s", text)
	}
	if c.text != "Not checked: k8s. Cause: The pool." {
		t.Errorf("notification: %s", c.text)
	}
}

// TestReportContentOnce checks that a message says once that code could not verify a report.
func TestReportContentOnce(t *testing.T) {
	t.Parallel()
	proof := evidence.Evidence{Claims: []evidence.Claim{{Text: "The pool was cut.", Verdict: evidence.Unverified}}}
	r := record.Investigation{Report: "**Checked by code: " + proof.Failed() + ".**\n\n## Cause\nThe pool was cut."}
	c, _ := reportContent(report.Of(r, nil, "i · completed", &proof), "")
	text, err := json.Marshal(c.blocks)
	if err != nil || strings.Count(string(text), proof.Failed()) != 1 {
		t.Errorf("blocks: %s, %v", text, err)
	}
}
