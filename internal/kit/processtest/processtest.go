//go:build unix

package processtest

import (
	"os/exec"
	"strconv"
	"sync"
	"syscall"
)

// watch waits for the end of its input, which comes when the process at the other end is gone for any reason. It then kills the process
// group.
const watch = `read -r _; kill -9 "-$0"`

// Tie kills the process group of a running process, which must lead its group, when this process dies. Call cut when the process has
// ended, because its ID may be reused then.
func Tie(cmd *exec.Cmd) (cut func(), err error) {
	watcher := exec.Command("sh", "-c", watch, strconv.Itoa(cmd.Process.Pid))
	watcher.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // survives Ctrl-C on the terminal
	line, err := watcher.StdinPipe()
	if err == nil {
		err = watcher.Start()
	}
	if err != nil {
		return func() {}, err
	}
	return sync.OnceFunc(func() {
		_ = watcher.Process.Kill() // before its input ends
		_ = watcher.Wait()
		_ = line.Close()
	}), nil
}
