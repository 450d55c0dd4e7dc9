package decide

import (
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/face/clitest"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/workflows"
)

// The suggested command names the call that is shown, and hidden parts are mentioned first.
func TestWaitingLine(t *testing.T) {
	t.Parallel()
	a := workflows.Approval{CallID: "c1_0", Tool: "k8s.restart", Arguments: `{"token":"[MASKED_TOKEN]"}`, Hidden: 14, Execution: "dig/Alpha",
		Digest: strings.Repeat("0123456789abcdef", 4)}
	line := WaitingNotice("lab", a).Lines("", 0)
	if !strings.HasPrefix(line, "(14 bytes of the arguments are masked) dig/Alpha asks") ||
		!strings.Contains(line, "starter decide lab dig/Alpha/c1_0 --digest 0123456789ab --approve (") {
		t.Error(line)
	}
}

// Viewers see pending items and each attempt to reach a provider, except while one is running.
func TestNotices(t *testing.T) {
	t.Parallel()
	trouble := record.Outage{
		Execution: "collect/LogAgent", Provider: "gpt", Error: "rate limited", Next: time.Now().Add(time.Minute),
		Others: []string{"collect/Peer"},
	}
	asked := trouble
	asked.Next = time.Now()
	received := Notices("w:0123456789ab")(record.Waits{
		Approvals: clitest.Risky("w:0123456789ab")[:1], Questions: clitest.Asking()[:1], Outages: []record.Outage{trouble, asked},
	})
	for n, want := range []string{
		"starter decide w:0123456789ab collect/LogAgent/c1_0 --digest d10 --approve", "starter answer w:0123456789ab q1 --text",
		"collect/LogAgent is waiting for gpt: rate limited, since", "collect/Peer is waiting for gpt: rate limited, since",
	} {
		if len(received) != 4 || !strings.Contains(received[n].Text+received[n].Command, want) {
			t.Errorf("told %+v, want %q", received, want)
		}
	}
}
