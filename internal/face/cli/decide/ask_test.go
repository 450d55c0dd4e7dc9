package decide

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/clitest"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

// decider is a system that takes every decision.
type decider struct{ base.Service }

func (decider) Decide(_ context.Context, id string, d workflows.Decide) (system.Decided, error) {
	decision := activities.Decision{Approved: *d.Approved, By: d.By, Reason: d.Reason}
	for _, call := range clitest.Risky("") {
		if call.Name() == d.CallID {
			return system.Decided{ID: id, Call: d.CallID, Tool: call.Tool, Decision: decision}, nil
		}
	}
	return system.Decided{}, system.ErrTooLate
}

func (decider) Text(context.Context, *string, string) error { return nil }

// In the line-by-line prompt, Enter alone decides nothing, a long call is shown page by page, y approves, and a reason denies.
func TestAskedLineByLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := &base.CLI{Out: &out, Err: &out, Getenv: func(string) string { return "" }, Client: func() base.Service { return decider{} }}
	waits := clitest.Risky("lab:0123456789ab")
	for n := range waits {
		waits[n].Expires = waits[n].Expires.UTC()
	}
	var long []string
	for n := range 30 {
		long = append(long, fmt.Sprintf(`"line %d"`, n))
	}
	waits[1].Arguments = `[` + strings.Join(long, ",") + `]`
	typed := []string{"", "", "", "y", "not on a Friday"}
	a := &Asker{ctx: t.Context(), c: c, id: "lab", lines: make(chan string), asked: map[string]bool{},
		size: func() (int, int) { return 80, 20 }}
	go func() {
		for _, line := range typed {
			a.lines <- line
		}
	}()
	a.Ask(record.Waits{Approvals: waits})
	a.Ask(record.Waits{Approvals: waits}) // asked before
	said := out.String()
	for _, part := range []string{
		"approve k8s.restart? [y/n/reason] not decided: the call is still pending\n", "\n  starter decide lab collect/LogAgent/c1_0",
		"-- press Enter for 18 more lines -- ", "-- press Enter for 1 more line -- ",
		`"line 29"` +
			"\n-- press Enter for 1 more line -- ]\napprove k8s.delete? [y/n/reason] lab: collect/LogAgent/c1_1 (k8s.delete) approved by ",
		"lab: collect/Other/c1_0 (k8s.scale) denied by ", "not on a Friday",
	} {
		if !strings.Contains(said, part) {
			t.Errorf("it does not say %q", part)
		}
	}
	if t.Failed() {
		t.Log(said)
	}

	// Input for a call that is no longer pending does not count for the next one.
	out.Reset()
	a.asked, a.stale = map[string]bool{}, true
	go func() {
		a.lines <- "yes, go on"
		a.lines <- ""
	}()
	a.Ask(record.Waits{Approvals: waits[:1]})
	if _, next, ok := strings.Cut(out.String(), "-- another item is pending; press Enter to see it -- "); !ok ||
		!strings.Contains(next, "not decided: the call is still pending") {
		t.Errorf("it says %q", &out)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	a.ctx, a.asked = ctx, map[string]bool{}
	a.Ask(record.Waits{Approvals: waits}) // the call returns
}
