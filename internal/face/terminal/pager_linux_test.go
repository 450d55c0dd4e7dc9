package terminal_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/inquest-dev/inquest/internal/face/terminal"
)

// The whole text goes through the pager and never gets lost. Ctrl-C belongs to the pager.
func TestPage(t *testing.T) {
	t.Parallel()
	barred := filepath.Join(t.TempDir(), "barred")
	if err := os.WriteFile(barred, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const text = "one\ntwo\n"
	for _, tt := range []struct {
		name string
		env  map[string]string
		want string
	}{
		{"a pager", map[string]string{"PAGER": "sed s/^/-/"}, "-one\n-two\n"},
		{"none", map[string]string{"PAGER": ""}, text},
		{"one that is not there", map[string]string{"PAGER": "no-such-pager 2>&-"}, text},
		{"one that may not run", map[string]string{"PAGER": barred + " 2>&-"}, text},
		{"Ctrl-C", map[string]string{"PAGER": "kill -INT $PPID; sleep 0.2; kill -INT $PPID; sleep 0.2; cat -"}, text},
		{"less without options", map[string]string{"PAGER": "echo $LESS"}, "FRX\n"},
		{"less with options", map[string]string{"PAGER": "echo $LESS", "LESS": "-i"}, "-R -i\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			screen, tty := openTerminal(t)
			lookup := func(name string) (value string, set bool) { value, set = tt.env[name]; return value, set }
			if err := terminal.Page(text, terminal.Options{Out: tty, Width: 80, Color: true}, lookup); err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(tty, "END")
			var said strings.Builder
			for buf := make([]byte, 100); !strings.HasSuffix(said.String(), "END"); {
				n, err := screen.Read(buf)
				if err != nil && err != io.EOF {
					t.Fatal(err)
				}
				said.Write(buf[:n])
			}
			if got := strings.TrimSuffix(strings.ReplaceAll(said.String(), "\r\n", "\n"), "END"); got != tt.want {
				t.Errorf("the terminal shows %q, want %q", got, tt.want)
			}
		})
	}
}

// openTerminal opens both sides of a terminal that is too small for any text.
func openTerminal(t *testing.T) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	return screen, tty
}
