//go:build !linux

package sandbox

import (
	"errors"
	"os/exec"
)

// CanKeep: this system has what Keep needs.
const CanKeep = false

var errLinux = errors.New("this is to be had on Linux only")

// Keep cannot be had here.
func Keep(string, Rules) int { panic(errLinux) }

// Start starts a command under rules. It fails if they cannot be kept.
func Start(cmd *exec.Cmd, r Rules) error {
	if err := r.Check(); err != nil {
		return err
	}
	return cmd.Start()
}

// Confinement says why commands cannot be confined to a folder here; nil = they can.
func Confinement() error { return errLinux }

// Offline says why commands cannot be kept from the network here; nil = they can.
func Offline() error { return errLinux }
