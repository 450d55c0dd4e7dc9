package devserver

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// LockedError means that another server runs on the data directory.
type LockedError struct {
	Dir string
	PID int // of the process that holds the lock; 0 if it has not been written yet
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("data directory %s is in use by another process", e.Dir)
	}
	return fmt.Sprintf("data directory %s is in use by process %d", e.Dir, e.PID)
}

// dirLock prevents a second server on a directory. Two servers on one file would both serve and corrupt each other's work, with
// only warnings.
type dirLock struct{ file *os.File }

// lockDir takes the lock with flock, which the kernel releases however the process ends.
func lockDir(dir string) (*dirLock, error) {
	f, err := os.OpenFile(filepath.Join(dir, "LOCK"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err == nil {
		return &dirLock{file: f}, nil
	}
	defer f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, &LockedError{Dir: dir, PID: readPID(f)}
	}
	return nil, fmt.Errorf("lock the data directory %s: %w", dir, err)
}

// release keeps the file: after a deletion, two later processes could lock two different files with the same name.
func (l *dirLock) release() {
	_ = l.file.Truncate(0)
	_ = l.file.Close()
}

func readPID(f *os.File) int {
	b := make([]byte, 32)
	n, _ := f.ReadAt(b, 0)
	pid, _ := strconv.Atoi(string(bytes.TrimSpace(b[:n])))
	return pid
}
