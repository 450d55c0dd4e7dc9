// Package lease lets one of several processes do a job.
package lease

import (
	"context"
	"crypto/rand"
	"log/slog"
	"time"
)

const (
	duration = 15 * time.Second
	safe     = 10 * time.Second // without a renewal, the job is stopped this long after the last one
	every    = 4 * time.Second  // between attempts to take or to renew
	release  = 10 * time.Second // limits the attempt to give the lease back
)

// Take makes owner the only holder of a lease for a time, unless another owner holds it, and reports whether owner has it. A duration
// of zero gives the lease back.
type Take func(ctx context.Context, name, owner string, d time.Duration) (held bool, err error)

// Run calls work whenever this process gets the lease, until ctx ends. If the lease cannot be renewed, the context of work ends before
// another process can get it.
func Run(ctx context.Context, name string, take Take, logger *slog.Logger, work func(context.Context)) {
	owner := rand.Text()
	for {
		held, err := take(ctx, name, owner, duration)
		switch {
		case err != nil && ctx.Err() == nil:
			logger.WarnContext(ctx, "cannot take the lease", "lease", name, "error", err)
		case held:
			hold(ctx, name, owner, take, work)
		}
		if !Sleep(ctx, every) {
			return
		}
	}
}

// hold works until the lease is lost, ctx ends, or work returns.
func hold(ctx context.Context, name, owner string, take Take, work func(context.Context)) {
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	fence := time.AfterFunc(safe, cancel)
	defer fence.Stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		work(working)
	}()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-done:
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), release)
			defer cancel()
			_, _ = take(ctx, name, owner, 0) // otherwise it runs out by itself
			return
		case <-tick.C:
			switch held, err := take(working, name, owner, duration); {
			case err == nil && held && working.Err() == nil:
				fence.Reset(safe)
			case err == nil:
				cancel()
			}
		}
	}
}

// Sleep waits, and returns false if ctx ends first.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
