package configuration

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
)

// chainYAML returns a chain with one stage of that name.
func chainYAML(stage string) string {
	return "agent_chains:\n  c:\n    llm_provider: scripted\n    stages: [{name: " + stage + ", agents: [{name: GeneralWorker}]}]\n"
}

func TestLive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		write := func(name, text string) {
			t.Helper()
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("a.yaml", chainYAML("one"))
		var log bytes.Buffer
		hangups := make(chan os.Signal)
		live, err := NewLive(LiveOptions{
			Source: Source{Dir: dir, Env: lookupIn(baseEnv)}, Reload: hangups, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { live.Watch(ctx); close(done) }()
		awaitReload := func() { time.Sleep(3 * poll); synctest.Wait() } // the bubble's clock
		stage := func(want string) {
			t.Helper()
			p, err := live.Current().Plan(agent.Request{Chain: "c"})
			if err != nil || p.Stages[0].Name != want {
				t.Fatalf("plan %v, %v; want stage %s; log\n%s", p, err, want, &log)
			}
		}
		stage("one")

		write("a.yaml", chainYAML("another"))
		awaitReload()
		stage("another")

		write("a.yaml", chainYAML("bad")+"agents: {A: {type: x}, B: {type: y}}\n")
		awaitReload()
		stage("another")
		for _, want := range []string{"agents.A.type", "agents.B.type", "the previous one stays"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("%q is not in the log:\n%s", want, &log)
			}
		}

		write("a.yaml", chainYAML("signalled"))
		hangups <- syscall.SIGHUP
		synctest.Wait()
		stage("signalled")

		write(".env", "KEY=new\n")
		write("b.yaml", "queue: {worker_count: 3}\n")
		awaitReload()
		if key, _ := live.LookupEnv("KEY"); key != "new" || !strings.Contains(log.String(), "after a restart") {
			t.Errorf("key %q, log\n%s", key, &log)
		}
		if _, err := live.Transport("incident"); err != nil {
			t.Error(err)
		}
		stop()
		<-done
	})
}

// TestLiveRunbooks: a changed file that a runbook names is loaded, even if no other file changes. So are allowed domains.
func TestLiveRunbooks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		write := func(name, text string) {
			t.Helper()
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("a.yaml", chainYAML("one")+"defaults: {runbook: file:first.md}\n")
		write("first.md", "Look at the logs.")
		var log bytes.Buffer
		live, err := NewLive(LiveOptions{
			Source: Source{Dir: dir, Env: lookupIn(baseEnv)}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { live.Watch(ctx); close(done) }()
		runbook := func(want string, reloads int) {
			t.Helper()
			time.Sleep(6 * poll) // the bubble's clock
			synctest.Wait()
			p, err := live.Current().Plan(agent.Request{Chain: "c"})
			if got := strings.Count(log.String(), "was reloaded"); err != nil || p.Runbook != want || got != reloads {
				t.Fatalf("the runbook is %q after %d reloads, %v; want %q after %d; log\n%s", p.Runbook, got, err, want, reloads, &log)
			}
		}
		runbook("Look at the logs.", 0)
		write("first.md", "Look at the disk.")
		runbook("Look at the disk.", 1)
		write("first.md", "\x00")
		runbook("Look at the disk.", 1)
		write("second.md", "Ask the team.")
		write("a.yaml", chainYAML("one")+"defaults: {runbook: file:second.md}\nsystem: {runbooks: {allowed_domains: []}}\n")
		runbook("Ask the team.", 2)
		write("second.md", "Ask nobody.")
		runbook("Ask nobody.", 3)
		if domains := live.Current().Runbooks().Domains; len(domains) > 0 || strings.Contains(log.String(), "after a restart") {
			t.Errorf("allowed are %q; log\n%s", domains, &log)
		}
		stop()
		<-done
	})
}

func TestLiveRefusesToBegin(t *testing.T) {
	t.Parallel()
	live, err := NewLive(LiveOptions{Source: Source{Dir: filepath.Join(t.TempDir(), "nowhere")}})
	if live != nil || err == nil {
		t.Errorf("NewLive = %v, %v", live, err)
	}
}
