package devserver_test

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/devserver"
	"github.com/inquest-dev/inquest/internal/kit/processtest"
)

// dirVariable makes TestHelperServer run a server on that directory, in a separate process.
const dirVariable = "DEVSERVER_TEST_DIR"

func TestKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := spawn(t, dir)
	c := dial(t, first.address)
	stop := work(t, c)
	run(t, c, "closed", 1)
	hold(t, c, "open")
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.cmd.Wait()
	stop()
	c.Close()

	began := time.Now()
	second := spawn(t, dir)
	t.Logf("ready again after %v", time.Since(began))
	c = dial(t, second.address)
	defer work(t, c)()
	if got := result(t, c, "closed"); got != 1 {
		t.Errorf("workflow of the killed server: result %d, want 1", got)
	}
	release(t, c, "open")
	if got := result(t, c, "open"); got != 1 {
		t.Errorf("workflow over both servers: result %d, want 1", got)
	}
}

// TestHelperServer is not a test but the process that spawn runs.
func TestHelperServer(t *testing.T) {
	dir := os.Getenv(dirVariable)
	if dir == "" {
		t.Skip("helper of TestKilled")
	}
	s, err := devserver.Start(t.Context(), devserver.Options{Dir: dir, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stdout.WriteString("address " + s.Address() + "\n"); err != nil {
		t.Fatal(err)
	}
	select {} // until killed
}

type process struct {
	cmd     *exec.Cmd
	address string
}

// spawn starts a server in another process, which is killed when the test ends.
func spawn(t *testing.T, dir string) process {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperServer$", "-test.v")
	cmd.Env = append(os.Environ(), dirVariable+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	untie, err := processtest.Tie(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		untie()
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if address, ok := strings.CutPrefix(lines.Text(), "address "); ok {
			return process{cmd: cmd, address: address}
		}
	}
	t.Fatal("the other process ended before its server was ready")
	return process{}
}
