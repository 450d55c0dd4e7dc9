package command

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// lockedBuffer is written by the logger's timers while a test reads it.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func testLogger(t *testing.T) (*slog.Logger, *lockedBuffer) {
	t.Helper()
	var out lockedBuffer
	log, err := Logger(&out, "info")
	if err != nil {
		t.Fatal(err)
	}
	return log, &out
}

// flushAll waits until all counts have been written.
func flushAll() {
	time.Sleep(3 * repeatsWithin)
	synctest.Wait()
}

// A database that is unavailable for ten minutes, with fifteen lines a second, fills only a few kilobytes.
func TestRepeatsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, out := testLogger(t)
		log = log.With("component", "history")
		const perSecond, seconds = 15, 600
		for n := range perSecond * seconds {
			log.Error("Persistent fetch operation Failure", "shard-id", n%4, "wf-id", fmt.Sprint("x-", n%50),
				"error", fmt.Errorf("dial tcp 127.0.0.1:%d: database or disk is full (13)", 40000+n))
			time.Sleep(time.Second / perSecond)
		}
		flushAll()
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		written, received := len(lines), 0
		for _, line := range lines {
			if _, rest, ok := strings.Cut(line, " repeated="); ok {
				n := 0
				fmt.Sscan(rest, &n)
				received += n
				if !strings.Contains(line, "within=1m0s") || !strings.Contains(line, "disk is full") || !strings.Contains(line, "component=history") {
					t.Errorf("a summary does not say what of: %s", line)
				}
			} else {
				received++
			}
		}
		if received != perSecond*seconds || written > repeatsShown+seconds/60+1 || len(out.String()) > 5000 {
			t.Errorf("%d lines and %d bytes tell of %d of %d", written, len(out.String()), received, perSecond*seconds)
		}
	})
}

// Everything that is not a repetition is written: other messages, errors, levels and investigations, lines below warnings, and the same
// line after a pause.
func TestNothingUniqueIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, out := testLogger(t)
		noise := func() {
			for range 100 {
				log.Warn("away", "error", errors.New("refused"), "investigation", "x-1")
			}
		}
		noise()
		unique := []func(){
			func() { log.Warn("gone", "error", errors.New("refused"), "investigation", "x-1") },
			func() { log.Warn("away", "error", errors.New("reset"), "investigation", "x-1") },
			func() { log.Error("away", "error", errors.New("refused"), "investigation", "x-1") },
			func() { log.Warn("away", "error", errors.New("refused"), "investigation", "x-2") },
			func() { log.With("investigation", "x-3").Warn("away", "error", errors.New("refused")) },
			func() { log.With("WorkflowID", "x-1:4d25cbde74d0/one/A").Warn("away", "error", errors.New("refused")) },
		}
		for _, say := range unique {
			before := strings.Count(out.String(), "\n")
			say()
			if strings.Count(out.String(), "\n") != before+1 {
				t.Errorf("dropped after\n%s", out)
			}
			noise()
		}
		before := strings.Count(out.String(), "\n")
		for range 50 {
			log.Info("an investigation has ended")
		}
		if got := strings.Count(out.String(), "\n") - before; got != 50 {
			t.Errorf("%d of 50 lines at level info were written", got)
		}
		flushAll()
		if n := strings.Count(out.String(), " repeated=697 "); n != 1 { // 7 times 100, of which 3 are written
			t.Errorf("%d summaries:\n%s", n, out)
		}
		before = strings.Count(out.String(), "\n")
		noise()
		if got := strings.Count(out.String(), "\n") - before; got != repeatsShown {
			t.Errorf("%d lines of what had not been said for a while", got)
		}
		flushAll()
	})
}

// When there are more kinds of lines than can be counted, the others are written.
func TestManyKindsOfLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, out := testLogger(t)
		for n := range 2 * maxRepeats {
			log.Warn("away", "investigation", fmt.Sprint("x-", n))
		}
		if got := strings.Count(out.String(), "\n"); got != 2*maxRepeats {
			t.Errorf("%d lines", got)
		}
		flushAll()
	})
}
