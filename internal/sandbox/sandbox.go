// Package sandbox starts commands that cannot get away, and keeps them from what
// they may not do. It needs no root. Most of it is to be had on Linux alone.
package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// Rules are what a command and all that it starts may not do.
type Rules struct {
	// Write is the only folder where they may write; "" = wherever the user may.
	// With it they cannot look into other processes of the user, nor, from Linux 6.12
	// on, send them signals. Permissions, owners and times of files are not covered.
	Write string
	// Offline: they cannot open any socket.
	Offline bool
}

// Check reports whether the rules can be kept on this host.
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

// Flags are the rules on the command line of a program that calls Keep.
func (r Rules) Flags() []string {
	return []string{"--write=" + r.Write, "--offline=" + strconv.FormatBool(r.Offline)}
}

// ExitCode tells a command's own end from a failure to run it. A command that was
// ended by a signal has the code that a shell gives it.
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

// CheckFolder reports whether a folder may be the home of commands: whoever else
// can write there can put files there that programs obey (.gitconfig, .curlrc).
func CheckFolder(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder", dir)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != 0 && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user (%d)", dir, stat.Uid)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("others may write in %s (chmod go-w)", dir)
	}
	return nil
}
