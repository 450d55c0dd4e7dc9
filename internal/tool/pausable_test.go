package tool

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestPausable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, cancel := WithPausable(t.Context(), time.Minute)
		defer cancel()
		child, stop := context.WithCancel(ctx)
		defer stop()
		time.Sleep(20 * time.Second)
		first, second := ctx.Pause(), ctx.Pause()
		time.Sleep(time.Hour)
		first()
		first() // counts once
		time.Sleep(time.Hour)
		if ctx.Err() != nil {
			t.Fatal("it ended while its clock stood still")
		}
		second()
		<-child.Done()
		if took := time.Since(began); took != time.Minute+2*time.Hour || !errors.Is(ctx.Err(), context.DeadlineExceeded) ||
			!errors.Is(child.Err(), context.DeadlineExceeded) {
			t.Errorf("ended after %s: %v, %v", took, ctx.Err(), child.Err())
		}
		outer, end := WithPausable(t.Context(), time.Minute)
		defer end()
		inner, end := WithPausable(context.WithoutCancel(outer), time.Minute)
		defer end()
		resume := inner.Pause()
		time.Sleep(time.Hour)
		if outer.Err() != nil {
			t.Error("the outer clock did not stand still")
		}
		resume()
		<-outer.Done()
		<-inner.Done()
		parent, cut := context.WithCancel(t.Context())
		ctx, cancel = WithPausable(parent, 0)
		defer cancel()
		cut()
		if <-ctx.Done(); !errors.Is(ctx.Err(), context.Canceled) {
			t.Errorf("got %v", ctx.Err())
		}
	})
}
