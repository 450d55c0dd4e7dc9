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

// CanKeep: this system has what Keep needs.
const CanKeep = true

// failed is the exit code of Keep if the command could not be started.
const failed = 125

// stubborn is how long processes may take to die.
const stubborn = 10 * time.Second

// Keep runs a command line, ends every process that comes of it once it has ended,
// and returns its exit code. It is the body of a process of its own, whose standard
// input is a lifeline: when that is closed, by whoever started it or by its death,
// all ends at once. As orphans come to this process (it is their subreaper), none
// gets away by leaving its process group or its parents.
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
		_ = cmd.Process.Kill() // what it leaves behind ends below
	}()
	code, exited := ExitCode(cmd.Wait())
	if !exited || !endChildren() {
		return failed
	}
	return code
}

// endChildren kills and collects children until there is none left. Only children
// are killed, whose ids cannot be given to others before they are collected; theirs
// become ours with that.
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

// collectChildren collects those that are dead. It reports whether that were all.
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

// children are the processes whose parent is this one.
func children() (pids []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		stat, _ := os.ReadFile(path) // it may be gone
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
