//go:build !linux

package sandbox

import (
	"errors"
	"os/exec"
)

// CanKeep reports whether this system supports Keep.
const CanKeep = false

var errLinux = errors.New("this is available only on Linux")

// Keep is not available on this system.
func Keep(string, Rules) int { panic(errLinux) }

// Start starts a command under rules. It fails if they cannot be enforced.
func Start(cmd *exec.Cmd, r Rules) error {
	if err := r.Check(); err != nil {
		return err
	}
	return cmd.Start()
}

// Confinement returns why commands cannot be confined to a folder here; nil means that they can.
func Confinement() error { return errLinux }

// Offline returns why commands cannot be cut off from the network here; nil means that they can.
func Offline() error { return errLinux }
