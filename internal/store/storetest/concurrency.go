package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/transcript"
)

const goroutines = 16

// together runs fn in many goroutines that start at the same time.
func together(fn func(n int)) {
	var all sync.WaitGroup
	start := make(chan struct{})
	for n := range goroutines {
		all.Go(func() {
			<-start
			fn(n)
		})
	}
	close(start)
	all.Wait()
}

func testSameStepByMany(t *testing.T, open opener) {
	handles := []Store{open(), open()}
	results := make([][]transcript.Entry, goroutines)
	together(func(n int) {
		mine := step("r1", row("r1", key(1, 0)), row("r1", key(1, 1)))
		mine.Rows[0].Text = fmt.Sprintf("by goroutine %d", n)
		entries, err := handles[n%2].Append(t.Context(), mine)
		if err != nil {
			t.Errorf("goroutine %d: %v", n, err)
		}
		results[n] = entries
	})
	log := gapless(t, handles[0], scope.Investigation)
	if len(log) != 2 {
		t.Fatalf("log has %d rows", len(log))
	}
	for n, got := range results {
		same(t, fmt.Sprintf("result of goroutine %d", n), got, log)
	}
}

func testParallelSequence(t *testing.T, open opener) {
	const each = 20
	handles := []Store{open(), open()}
	together(func(n int) {
		for i := range each {
			mine := step("r1", row("r1", key(i, 0)), row("r1", key(i, 1)))
			mine.Execution = fmt.Sprintf("stage/agent-%d", n)
			if _, err := handles[n%2].Append(t.Context(), mine); err != nil {
				t.Errorf("goroutine %d: %v", n, err)
			}
		}
	})
	log := gapless(t, handles[0], scope.Investigation)
	if len(log) != goroutines*each*2 {
		t.Fatalf("log has %d rows", len(log))
	}
	for i := 0; i < len(log); i += 2 { // the rows of a step are together
		if a, b := log[i], log[i+1]; a.Execution != b.Execution || a.Iteration != b.Iteration {
			t.Fatalf("step is torn: %v %v", a, b)
		}
	}
}

// Writers cancelled at any moment leave complete steps and a working store.
func testCancelledWriters(t *testing.T, open opener) {
	s := open()
	together(func(n int) {
		for i := range 20 {
			deadline := time.Now().Add(time.Duration(n*i) * 10 * time.Microsecond)
			ctx, cancel := context.WithDeadline(t.Context(), deadline)
			mine := step("r1", row("r1", key(i, 0)), row("r1", key(i, 1)))
			mine.Execution = fmt.Sprintf("stage/agent-%d", n)
			_, err := s.Append(ctx, mine)
			if err != nil && time.Now().Before(deadline) {
				t.Errorf("goroutine %d: %v", n, err)
			}
			cancel()
		}
	})
	if log := gapless(t, s, scope.Investigation); len(log)%2 != 0 {
		t.Errorf("log has %d rows: a step is torn", len(log))
	}
	steps(t, s, "r1", key(1, 0))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Append(ctx, step("r1", row("r1", key(2, 0)))); !errors.Is(err, context.Canceled) {
		t.Errorf("append with a canceled context: %v", err)
	}
}
