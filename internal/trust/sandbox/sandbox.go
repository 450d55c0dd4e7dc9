// Package sandbox starts commands under restrictions that they and their descendants cannot escape. It needs no root. Most of it is
// available only on Linux.
package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// Rules restrict a command and all its descendants.
type Rules struct {
	// Write is the only folder in which they may write; empty means wherever the user may. If it is set, they cannot inspect the
	// user's other processes or, from Linux 6.12 on, send them signals. Permissions, owners and times of files are not protected.
	Write string
	// Offline means that they cannot open any socket.
	Offline bool
}

// Check returns an error if the rules cannot be enforced on this host.
func (r Rules) Check() error {
	if r.Write != "" {
		if err := Confinement(); err != nil {
			return err
		}
	}
	if r.Offline {
		return Offline()
	}
	return nil
}

// Flags returns the rules as command-line flags for a program that calls Keep.
func (r Rules) Flags() []string {
	return []string{"--write=" + r.Write, "--offline=" + strconv.FormatBool(r.Offline)}
}

// ExitCode distinguishes a command's own exit from a failure to run it. A command killed by a signal has the code that a shell
// gives it.
func ExitCode(err error) (code int, exited bool) {
	if err == nil {
		return 0, true
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return 0, false
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), true
	}
	return exit.ExitCode(), true
}

// CheckFolder returns an error if a folder is not safe as the home of commands. Other users who can write there can add files that
// programs obey (.gitconfig, .curlrc).
func CheckFolder(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", dir)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != 0 && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user (%d)", dir, stat.Uid)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("other users can write to %s; run chmod go-w on it", dir)
	}
	return nil
}
