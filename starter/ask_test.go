package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/inquest-dev/inquest/internal/record"
)

// In the line-by-line prompt, Enter alone decides nothing, a long call is shown page by page, y approves, and a reason denies.
func TestAskedLineByLine(t *testing.T) {
	t.Parallel()
	fake := newFakeTemporal(t)
	var out bytes.Buffer
	common := []string{"--address", fake.address, "--store", filepath.Join(t.TempDir(), "none")}
	var started console
	if code := started.run(t.Context(), append(common, "run", "--chain", "risky", "--data", "x", "--workflow-id", "lab",
		"--detach")...); code != 0 {
		t.Fatalf("exit code %d: %s", code, &started.err)
	}
	c := &cli{out: &out, err: &out, getenv: func(string) string { return "" }}
	c.address, c.store = fake.address, filepath.Join(t.TempDir(), "none")
	c.client = sync.OnceValue(c.connect)
	defer c.client().Close()
	waits := risky("lab:0123456789ab")
	for n := range waits {
		waits[n].Expires = waits[n].Expires.UTC()
	}
	var long []string
	for n := range 30 {
		long = append(long, fmt.Sprintf(`"line %d"`, n))
	}
	waits[1].Arguments = `[` + strings.Join(long, ",") + `]`
	typed := []string{"", "", "", "y", "not on a Friday"}
	a := &asker{ctx: t.Context(), c: c, id: "lab", lines: make(chan string), asked: map[string]bool{},
		size: func() (int, int) { return 80, 20 }}
	go func() {
		for _, line := range typed {
			a.lines <- line
		}
	}()
	a.ask(record.Waits{Approvals: waits})
	a.ask(record.Waits{Approvals: waits}) // asked before
	said := out.String()
	for _, part := range []string{
		"approve k8s.restart? [y/N/reason] not decided: the call waits\n", "\n  starter decide lab collect/LogAgent/c1_0",
		"-- Enter shows the other 18 lines -- ", "-- Enter shows the other 1 line -- ",
		`"line 29"` +
			"\n-- Enter shows the other 1 line -- ]\napprove k8s.delete? [y/N/reason] lab: collect/LogAgent/c1_1 of k8s.delete approved by ",
		"lab: collect/Other/c1_0 of k8s.scale denied by ", "not on a Friday",
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
	a.ask(record.Waits{Approvals: waits[:1]})
	if _, next, ok := strings.Cut(out.String(), "-- something else waits; Enter shows it -- "); !ok ||
		!strings.Contains(next, "not decided: the call waits") {
		t.Errorf("it says %q", &out)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	a.ctx, a.asked = ctx, map[string]bool{}
	a.ask(record.Waits{Approvals: waits}) // the call returns
}
