package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

func command(line string) tool.Call {
	args, _ := json.Marshal(map[string]string{"command": line})
	return tool.Call{Name: agent.ToolShell, Arguments: args}
}

func withArguments(args string) tool.Call { return tool.Call{Arguments: json.RawMessage(args)} }

func TestShell(t *testing.T) {
	t.Parallel()
	limits := plan.Shell{Timeout: plan.Duration(20 * time.Second), MaxOutput: 10, Dir: t.TempDir()}
	missing := tool.Failure(tool.ErrorInvalidArguments, "Error: missing required parameter 'command'")
	for name, tc := range map[string]struct {
		call tool.Call
		want tool.Result
	}{
		"output":            {command("echo hi"), tool.Success("hi\n")},
		"no output":         {command("true"), tool.Success("Command executed successfully (no output)")},
		"failure":           {command("echo no; exit 3"), tool.Failure(tool.ErrorTool, "Command failed with exit code 3:\nno\n")},
		"silent failure":    {command("false"), tool.Failure(tool.ErrorTool, "Command failed with exit code 1:")},
		"both streams":      {command("echo a; echo b >&2"), tool.Success("a\nb\n")},
		"at the cap":        {command("printf 1234567890"), tool.Success("1234567890")},
		"past the cap":      {command("printf 12345678901"), tool.Success("1234567890...\n[truncated, 11 total bytes]")},
		"a cut character":   {command("printf '123456789é'"), tool.Success("123456789...\n[truncated, 11 total bytes]")},
		"invalid bytes":     {command(`printf 'a\377b'`), tool.Success("a\uFFFDb")},
		"empty input":       {command("cat"), tool.Success("Command executed successfully (no output)")},
		"ended by a signal": {command("kill -9 $$"), tool.Failure(tool.ErrorTool, "Command failed with exit code 137:")},
		"no command":        {withArguments(`{}`), missing},
		"no arguments":      {tool.Call{}, missing},
		"empty command":     {command(" "), missing},
		"NUL": {command("echo \x00"),
			tool.Failure(tool.ErrorInvalidArguments, "Error: a command must have at most 65536 bytes and no NUL character")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, Shell(limits).Run(t.Context(), tc.call)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestShellRefusesArgumentsThatAreNoCommand(t *testing.T) {
	t.Parallel()
	for _, args := range []string{`{"command":7}`, `[]`, `{`, `"x"`} {
		if got := Shell(plan.Shell{}).Run(t.Context(), withArguments(args)); got.ErrorType != tool.ErrorInvalidArguments {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

// TestShellSeesNoSecret checks the environment, because the worker's holds the keys of its models.
func TestShellSeesNoSecret(t *testing.T) {
	t.Setenv("INQUEST_TEST_KEY", "sesame")
	t.Setenv("PATH", "relative::.:"+os.Getenv("PATH"))
	t.Setenv("TZ", "UTC")
	dir := t.TempDir()
	got := Shell(plan.Shell{Dir: dir}).Run(t.Context(), command("env; pwd"))
	for line := range strings.Lines(got.Content) {
		name, _, _ := strings.Cut(line, "=")
		if !strings.Contains(" PATH HOME TMPDIR LANG TZ GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0 PWD OLDPWD SHLVL _ ",
			" "+name+" ") && line != dir+"\n" {
			t.Errorf("the command sees %q", line)
		}
	}
	for _, want := range []string{"HOME=" + dir + "\n", "TZ=UTC\n", "\n" + dir + "\n", "PATH=/"} {
		if !strings.Contains(got.Content, want) {
			t.Errorf("no %q in %s", want, got.Content)
		}
	}
}

// started waits for a command by reading the process ids that it wrote to a pipe.
func started(t *testing.T) (path string, pids func(n int) []int) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "pids")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pipe.Close() })
	return path, func(n int) []int {
		out := make([]int, n)
		for i := range out {
			if _, err := fmt.Fscanln(pipe, &out[i]); err != nil {
				t.Fatal(err)
			}
		}
		return out
	}
}

// alive reports whether a process is running. A zombie is not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

func waitDead(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); alive(pid); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("process %d lives on", pid)
		}
	}
}

const family = `sh -c 'echo $$ >"$0"; sleep 1000' %[1]s & sh -c '(echo $$ >"$0"; trap "" TERM; sleep 1000)' %[1]s; wait`

func TestShellTimeoutKillsGrandchildren(t *testing.T) {
	t.Parallel()
	path, pids := started(t)
	limits := plan.Shell{Timeout: plan.Duration(5 * time.Second), Dir: t.TempDir()}
	got := Shell(limits).Run(t.Context(), command("echo so far; "+fmt.Sprintf(family, path)))
	if diff := cmp.Diff(tool.Failure(tool.ErrorTimeout, "Command timed out after 5s:\nso far\n"), got); diff != "" {
		t.Error(diff)
	}
	for _, pid := range pids(2) {
		waitDead(t, pid)
	}
}

func TestShellCancelKillsGrandchildren(t *testing.T) {
	t.Parallel()
	path, pids := started(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan tool.Result)
	go func() {
		done <- Shell(plan.Shell{Dir: t.TempDir()}).Run(ctx, command(fmt.Sprintf(family, path)))
	}()
	family := pids(2)
	cancel()
	if got := <-done; got.ErrorType != tool.ErrorOutcomeUnknown {
		t.Errorf("got %+v", got)
	}
	for _, pid := range family {
		waitDead(t, pid)
	}
}

func TestShellEndsWhatRunsInTheBackground(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"job":         "sleep 1000 & echo $!",
		"own session": "setsid sleep 1000 & echo $!", // leaves the group: it survives, but does not delay the result
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			got := Shell(plan.Shell{Dir: t.TempDir()}).Run(t.Context(), command(line))
			var pid int
			if _, err := fmt.Sscanln(got.Content, &pid); err != nil || time.Since(begin) > 2*time.Minute {
				t.Fatalf("%v after %v: %+v", err, time.Since(begin), got)
			}
			t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
			if name == "job" {
				waitDead(t, pid)
			}
		})
	}
}

func TestShellKeepsNoEndlessOutput(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	limits := plan.Shell{Timeout: plan.Duration(5 * time.Second), MaxOutput: 1000, Dir: t.TempDir()}
	got := Shell(limits).Run(t.Context(), command("yes"))
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
		t.Errorf("allocated %d bytes", used)
	}
	if got.ErrorType != tool.ErrorTimeout || len(got.Content) > 1100 || !strings.Contains(got.Content, "y\n...\n[truncated, ") {
		t.Errorf("got %.60q… of %d bytes", got.Content, len(got.Content))
	}
}

// TestShellKeepsLargeOutput checks that large output is kept in order, exactly up to the limit.
func TestShellKeepsLargeOutput(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	for n := range 20_000 {
		fmt.Fprintln(&lines, n)
	}
	for size, tail := range map[int]string{lines.Len(): "", lines.Len() - 1: fmt.Sprintf("...\n[truncated, %d total bytes]", lines.Len())} {
		got := Shell(plan.Shell{MaxOutput: size, Dir: t.TempDir()}).Run(t.Context(), command("seq 0 19999"))
		if want := lines.String()[:size] + tail; got.Status != tool.StatusSuccess || got.Content != want {
			t.Errorf("kept at most %d: %s, %d bytes, want %d", size, got.Status, len(got.Content), len(want))
		}
	}
}

func TestShellWithoutItsDirectory(t *testing.T) {
	t.Parallel()
	got := Shell(plan.Shell{Dir: filepath.Join(t.TempDir(), "gone")}).Run(t.Context(), command("true"))
	if got.ErrorType != tool.ErrorUnavailable {
		t.Errorf("got %+v", got)
	}
}

func TestShellSpec(t *testing.T) {
	t.Parallel()
	spec := Shell(plan.Shell{Allow: []string{"ls", "cat", "ls"}}).Spec
	if spec.Name != "shell" || spec.Risk != agent.RiskWrite ||
		!strings.Contains(spec.Description, "Only these commands are allowed: cat, ls.") {
		t.Errorf("got %+v", spec)
	}
	if got := Shell(plan.Shell{Risk: agent.RiskReadOnly}).Spec.Class(); got != tool.Safe {
		t.Errorf("class %s", got)
	}
	if err := tool.NewValidator().Violations(spec.Schema, map[string]any{"command": json.Number("7")}); err == nil {
		t.Error("the schema accepts a number for a command")
	}
}
