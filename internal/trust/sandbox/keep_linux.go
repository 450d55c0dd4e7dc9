package sandbox

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// CanKeep reports whether this system supports Keep.
const CanKeep = true

// failed is the exit code of Keep if the command could not be started.
const failed = 125

// stubborn is how long processes may take to die.
const stubborn = 10 * time.Second

// Keep runs a command line and returns its exit code. After the command has ended, it kills every remaining descendant. It must run
// in a separate process whose standard input is a lifeline: when the parent closes it or dies, everything ends at once. Orphans are
// reparented to this process (it is their subreaper), so none escapes by leaving its process group or its parents.
func Keep(line string, r Rules) int {
	ignored := make(chan os.Signal, 1) // "kill 0" is meant for the command
	signal.Notify(ignored, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	cmd := exec.Command("sh", "-c", line)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err == nil {
		err = Start(cmd, r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return failed
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = cmd.Process.Kill() // its remaining descendants end below
	}()
	code, exited := ExitCode(cmd.Wait())
	if !exited || !endChildren() {
		return failed
	}
	return code
}

// endChildren kills and reaps children until none is left. Only children are killed, because their IDs cannot be reused before they
// are reaped. Their own children then become ours.
func endChildren() bool {
	for deadline := time.Now().Add(stubborn); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if collectChildren() {
			return true
		}
		for _, pid := range children() {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	return false
}

// collectChildren reaps dead children. It reports whether no children are left.
func collectChildren() bool {
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		if err == unix.ECHILD {
			return true
		}
		if pid <= 0 && err != unix.EINTR {
			return false
		}
	}
}

// children returns the processes whose parent is this one.
func children() (pids []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		stat, _ := os.ReadFile(path) // the process may be gone
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
