package client

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Requests during a call share the next call, which begins after they came.
func TestSharedCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s sharedCall
		var group sync.WaitGroup
		var calls, came atomic.Int32
		call := func(context.Context) error {
			before := came.Load()
			time.Sleep(time.Second)
			if calls.Add(1); before == 0 {
				t.Error("it was called for nobody")
			}
			return errors.New("away")
		}
		for n := range 10 {
			group.Go(func() {
				time.Sleep(time.Duration(n) * 100 * time.Millisecond)
				came.Add(1)
				if err := s.do(t.Context(), call); err == nil {
					t.Error("nobody told the error")
				}
			})
		}
		group.Wait()
		if n := calls.Load(); n != 2 {
			t.Errorf("%d calls", n)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.do(ctx, call); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		synctest.Wait()
		time.Sleep(5 * time.Second)
	})
}
