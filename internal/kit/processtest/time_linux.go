package processtest

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// ThreadTime returns the processor time that this thread has used, on which other programs have no influence. The caller must have
// locked its goroutine to the thread.
func ThreadTime(t testing.TB) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}
