//go:build unix

package postgrestest

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// unprivileged lists the users that run the server for tests that run as root. The first existing one is used.
var unprivileged = [...]string{"postgres", "nobody"}

// ordinaryUser makes the server run as the user of the tests, but never as root, and lead its own process group.
func ordinaryUser() *syscall.SysProcAttr {
	uid, gid, other := substitute()
	attr := &syscall.SysProcAttr{Setpgid: true}
	if other {
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return attr
}

// giveAway makes the server's user the owner of files that the test created.
func giveAway(paths ...string) error {
	uid, gid, other := substitute()
	for _, path := range paths {
		if !other {
			break
		}
		if err := os.Chown(path, uid, gid); err != nil {
			return err
		}
	}
	return nil
}

// killTree kills a server and the processes of its connections, which would otherwise finish their work. It stops the server first,
// so that it starts no more of them.
func killTree(server *os.Process) error {
	if err := server.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	signalChildren(server, syscall.SIGKILL)
	return server.Kill()
}

// signalTree stops or continues a server and the processes of its connections.
func signalTree(server *os.Process, stop bool) error {
	sig := syscall.SIGCONT
	if stop {
		sig = syscall.SIGSTOP
	}
	if err := server.Signal(sig); err != nil {
		return err
	}
	signalChildren(server, sig)
	return nil
}

func signalChildren(server *os.Process, sig syscall.Signal) {
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", server.Pid)) // Linux only
	for field := range strings.FieldsSeq(string(children)) {
		if pid, err := strconv.Atoi(field); err == nil {
			_ = syscall.Kill(pid, sig) // it may have ended already
		}
	}
}

func substitute() (uid, gid int, other bool) {
	if os.Geteuid() != 0 {
		return 0, 0, false
	}
	for _, name := range unprivileged {
		if u, err := user.Lookup(name); err == nil {
			uid, _ = strconv.Atoi(u.Uid) // they are numbers on Unix
			gid, _ = strconv.Atoi(u.Gid)
			return uid, gid, true
		}
	}
	return 0, 0, false
}
