package builtin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// TestShellHasAFolderOfItsOwn checks that the directory is not the common one for temporary files, and that nothing is
// left in it.
func TestShellHasAFolderOfItsOwn(t *testing.T) {
	temporary := t.TempDir()
	if err := os.Chmod(temporary, os.ModeSticky|0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(temporary, ".gitconfig"), []byte("[user]\n\tname = mallory\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temporary)
	got := Shell(plan.Shell{}).Run(t.Context(), command(
		`pwd; echo $HOME; echo $TMPDIR; stat -c %a .; git config user.name; mkdir -p a/b; touch a/b/c; chmod 500 a/b; chmod 0 a`))
	lines := strings.Split(got.Content, "\n")
	if len(lines) != 5 || lines[0] != lines[1] || lines[1] != lines[2] || filepath.Dir(lines[0]) != temporary || lines[3] != "700" {
		t.Fatalf("got %+v", got)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) != 1 {
		t.Errorf("it left %v (%v)", left, err)
	}
}

func TestShellRefusesAHomeOfOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, os.ModeSticky|0o777); err != nil {
		t.Fatal(err)
	}
	got := Shell(plan.Shell{Dir: dir}).Run(t.Context(), command("true"))
	if got.ErrorType != tool.ErrorUnavailable || !strings.Contains(got.Content, "other users can write to "+dir) {
		t.Errorf("got %+v", got)
	}
}

// TestShellInARelativeFolder checks a directory relative to the worker's.
func TestShellInARelativeFolder(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(filepath.Dir(dir))
	limits := plan.Shell{Dir: filepath.Base(dir), Confine: plan.ConfineIfPossible}
	for _, keeper := range [][]string{nil, keeper} {
		got := Shell(limits, keeper...).Run(t.Context(), command("echo x >f && pwd && echo $HOME"))
		if got.Content != dir+"\n"+dir+"\n" {
			t.Errorf("keeper %v: got %+v", keeper, got)
		}
	}
}
