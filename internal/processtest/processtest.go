//go:build unix

package processtest

import (
	"os/exec"
	"strconv"
	"sync"
	"syscall"
)

// watch waits until its input ends, which happens when the process that holds the
// other end is gone, however it went. Then it kills the process group.
const watch = `read -r _; kill -9 "-$0"`

// Tie kills the process group of a process that runs, and leads its group, when
// this process dies. Cut the line when the process has ended: from then on its number
// may be another's.
func Tie(cmd *exec.Cmd) (cut func(), err error) {
	watcher := exec.Command("sh", "-c", watch, strconv.Itoa(cmd.Process.Pid))
	watcher.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // outlives a Ctrl-C at the terminal
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
