package terminal

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Source is where Watch learns what happens; a store is one.
type Source interface {
	Follow(ctx context.Context, investigation string, after int64, fn func(store.Update) error) error
	After(ctx context.Context, investigation string, seq int64, limit int) ([]transcript.Entry, error)
}

// errEnded stops following: there is nothing to come.
var errEnded = errors.New("the investigation has ended")

// Watch prints an investigation from its beginning, what is there at once and
// the rest as it happens, until it has ended, and returns its final record. If
// ctx ends first, the error is ctx.Err() and the record as it is known.
func Watch(ctx context.Context, src Source, investigation string, opts Options) (record.Investigation, error) {
	v := newView(opts)
	stop := v.countDown()
	err := src.Follow(ctx, investigation, 0, func(u store.Update) error {
		v.mu.Lock()
		defer v.mu.Unlock()
		defer v.p.restore()
		return v.update(ctx, src, investigation, u)
	})
	stop()
	v.p.closeLine()
	if errors.Is(err, errEnded) {
		v.end()
		err = v.p.err
	}
	return v.record, err
}

// update prints what is new; errEnded if that is the last of it.
func (v *view) update(ctx context.Context, src Source, investigation string, u store.Update) error {
	v.take(u)
	if !v.unsettled() {
		return v.p.err
	}
	// What has ended is told after all that led to it; an update may not hold all entries.
	more, err := src.After(ctx, investigation, v.last, 1)
	if err != nil || len(more) > 0 {
		return err
	}
	v.settle()
	if v.record.Status.Closed() {
		return errEnded
	}
	return v.p.err
}

// countDown writes the line anew each second that says when a provider is asked again,
// until stop is called.
func (v *view) countDown() (stop func()) {
	over := make(chan struct{})
	var counting sync.WaitGroup
	counting.Go(func() {
		second := time.NewTicker(time.Second)
		defer second.Stop()
		for {
			select {
			case <-second.C:
				v.mu.Lock()
				if len(v.trouble) > 0 {
					v.p.restore()
				}
				v.mu.Unlock()
			case <-over:
				return
			}
		}
	})
	return func() {
		close(over)
		counting.Wait()
		v.p.last = nil
		v.p.clear()
	}
}
