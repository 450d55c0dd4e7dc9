package builtin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/trust/sandbox"
)

// TestMain also runs this program as a keeper.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "keep" {
		os.Exit(sandbox.Keep(os.Args[5], sandbox.Rules{Write: strings.TrimPrefix(os.Args[2], "--write="),
			Offline: os.Args[3] == "--offline=true"}))
	}
	os.Exit(m.Run())
}

var keeper = []string{"/proc/self/exe", "keep"}

// TestKeptShell checks that the shell reports all ends in the same way with a keeper.
func TestKeptShell(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]tool.Result{
		"echo hi":               tool.Success("hi\n"),
		"echo no; exit 3":       tool.Failure(tool.ErrorTool, "Command failed with exit code 3:\nno\n"),
		"kill -9 $$":            tool.Failure(tool.ErrorTool, "Command failed with exit code 137:"),
		"kill 0; sleep 1000":    tool.Failure(tool.ErrorTool, "Command failed with exit code 143:"),
		"cat":                   tool.Success("Command executed successfully (no output)"),
		"echo -n --; echo '$x'": tool.Success("--$x\n"),
		"echo a; sleep 1000":    tool.Failure(tool.ErrorTimeout, "Command timed out after 10s:\na\n"),
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			limits := plan.Shell{Timeout: plan.Duration(20 * time.Second)}
			if want.ErrorType == tool.ErrorTimeout {
				limits.Timeout = plan.Duration(10 * time.Second)
			}
			if diff := cmp.Diff(want, Shell(limits, keeper...).Run(t.Context(), command(line))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestShellKillsWhatLeftItsGroup checks the end of a command, its timeout, and its cancellation.
func TestShellKillsWhatLeftItsGroup(t *testing.T) {
	t.Parallel()
	const fugitive = `setsid sh -c 'trap "" TERM; (trap "" TERM HUP; echo $$ >"$0"; exec sleep 1000) & wait' %s & `
	for name, tc := range map[string]struct {
		rest string
		want string
	}{
		"end":     {"cat %s.go", ""},
		"timeout": {"sleep 1000", tool.ErrorTimeout},
		"cancel":  {"sleep 1000", tool.ErrorOutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, pids := started(t)
			if err := syscall.Mkfifo(path+".go", 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			line := fmt.Sprintf(fugitive, path) + strings.ReplaceAll(tc.rest, "%s", path)
			limits := plan.Shell{Timeout: plan.Duration(20 * time.Second)}
			if tc.want == tool.ErrorTimeout {
				limits.Timeout = plan.Duration(10 * time.Second)
			}
			done := make(chan tool.Result, 1)
			go func() { done <- Shell(limits, keeper...).Run(ctx, command(line)) }()
			pid := pids(1)[0]
			switch name {
			case "end":
				if err := os.WriteFile(path+".go", nil, 0); err != nil {
					t.Fatal(err)
				}
			case "cancel":
				cancel()
			}
			if got := <-done; got.ErrorType != tc.want {
				t.Errorf("got %+v", got)
			}
			if alive(pid) {
				t.Errorf("process %d lives on", pid)
			}
		})
	}
}

func TestConfinedShell(t *testing.T) {
	t.Parallel()
	if err := sandbox.Confinement(); err != nil {
		t.Skip(err)
	}
	outside := filepath.Join(t.TempDir(), "written")
	for _, keeper := range [][]string{nil, keeper} {
		limits := plan.Shell{Confine: plan.ConfineRequired, Offline: true}
		got := Shell(limits, keeper...).Run(t.Context(),
			command("echo x >"+outside+"; echo y >inside; cat inside; exec 3<>/dev/null; mktemp >/dev/null && echo z"))
		if _, err := os.Stat(outside); err == nil || !strings.HasSuffix(got.Content, "y\nz\n") || got.Status != tool.StatusSuccess {
			t.Errorf("keeper %v: %v, %+v", keeper, err, got)
		}
		text := Shell(limits).Spec.Description
		if !strings.Contains(text, "can write only to its directory") || !strings.Contains(text, "no network access") {
			t.Errorf("described as %s", text)
		}
	}
}
