package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Start starts a command under rules. It fails if they cannot be enforced.
//
// Rules apply to a thread and are inherited. So a separate thread gets them, starts the command and ends, and this process stays
// unrestricted. (Go creates no new threads from locked ones.) A Landlock library would restrict the whole process.
func Start(cmd *exec.Cmd, r Rules) error {
	if r == (Rules{}) {
		return cmd.Start()
	}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // permanently: the thread ends with the goroutine
		if unix.Gettid() == os.Getpid() {
			started <- Start(cmd, r) // on another thread, because the main one does not end
			runtime.UnlockOSThread()
			return
		}
		err := r.apply()
		if err == nil {
			err = cmd.Start()
		}
		started <- err
	}()
	return <-started
}

// apply applies the rules to this thread.
func (r Rules) apply() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up privileges: %w", err)
	}
	if r.Write != "" {
		if err := confine(r.Write); err != nil {
			return fmt.Errorf("confine to %s: %w", r.Write, err)
		}
	}
	if r.Offline {
		if err := disconnect(); err != nil {
			return fmt.Errorf("remove network access: %w", err)
		}
	}
	return nil
}

// The accesses that Landlock refuses, and the ABI versions that support them.
const (
	writeFile = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	writeAll  = writeFile | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER

	versionTruncate = 3 // Linux 6.2: without it, any file could be truncated
	versionScope    = 6 // Linux 6.12
)

// Confinement returns why commands cannot be confined to a folder here; nil means that they can.
func Confinement() error {
	version, err := landlockVersion()
	if err != nil {
		return fmt.Errorf("Landlock is not available (it needs Linux 6.2 or later, and must not be disabled): %w", err)
	}
	if version < versionTruncate {
		return fmt.Errorf("the kernel's Landlock is too old (version %d; Linux 6.2 has version %d)", version, versionTruncate)
	}
	return nil
}

func landlockVersion() (int, error) {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, errno
	}
	return int(version), nil
}

// confine allows this thread to write only in one folder and to /dev/null.
func confine(folder string) error {
	if err := Confinement(); err != nil {
		return err
	}
	attr := unix.LandlockRulesetAttr{Access_fs: writeAll}
	if version, err := landlockVersion(); err == nil && version >= versionScope {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	rules, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(rules))
	dropCapabilities()
	for path, access := range map[string]uint64{folder: writeAll, os.DevNull: writeFile} {
		if err := allow(rules, path, access); err != nil {
			return err
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, rules, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// dropCapabilities keeps only the capabilities that root needs for files. With others (CAP_PERFMON, CAP_CHOWN), it could read the
// memory of other processes and change what Landlock does not cover. Other users have no capabilities to lose, and a process
// without any cannot drop them.
func dropCapabilities() {
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if c != unix.CAP_DAC_OVERRIDE && c != unix.CAP_DAC_READ_SEARCH {
			_ = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		}
	}
}

func allow(rules uintptr, path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	attr := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, rules, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// architectures maps Go's names to those of a system call filter.
var architectures = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// Offline returns why commands cannot be cut off from the network here; nil means that they can.
func Offline() error {
	if architectures[runtime.GOARCH] == 0 {
		return fmt.Errorf("no system call filter for %s", runtime.GOARCH)
	}
	if _, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("the kernel cannot filter system calls: %w", err)
	}
	return nil
}

// disconnect blocks the system call that opens sockets, of all families, because a local socket may lead to a daemon with network
// access. It also blocks io_uring and the system calls of other architectures (on amd64, the 32-bit ones).
func disconnect() error {
	if err := Offline(); err != nil {
		return err
	}
	const number, architecture = 0, 4 // offsets in struct seccomp_data
	const x32 = 0x40000000
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	jump := func(op uint16, value uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | op | unix.BPF_K, K: value, Jt: yes, Jf: no}
	}
	answer := func(value uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value} }
	filter := []unix.SockFilter{
		load(architecture),
		jump(unix.BPF_JEQ, architectures[runtime.GOARCH], 0, 5),
		load(number),
		jump(unix.BPF_JGE, x32, 3, 0),
		jump(unix.BPF_JEQ, unix.SYS_SOCKET, 2, 0),
		jump(unix.BPF_JEQ, unix.SYS_IO_URING_SETUP, 1, 0),
		answer(unix.SECCOMP_RET_ALLOW),
		answer(unix.SECCOMP_RET_ERRNO | uint32(syscall.EACCES)),
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
	runtime.KeepAlive(filter)
	return err
}
