package tool

import (
	"context"
	"sync"
	"time"
)

// Pausable is a context with a timeout that can be paused, for example while a person is asked. Its methods are safe
// for concurrent use.
type Pausable struct {
	context.Context
	done chan struct{}

	mu     sync.Mutex
	err    error
	timer  *time.Timer
	until  time.Time
	left   time.Duration // while paused
	pauses int           // active pauses
}

// WithPausable returns a context that ends with ctx or after limit, not counting pauses. A limit of zero means no
// limit. Call cancel when the work is done.
func WithPausable(ctx context.Context, limit time.Duration) (p *Pausable, cancel func()) {
	p = &Pausable{Context: ctx, done: make(chan struct{}), until: time.Now().Add(limit)}
	stop := context.AfterFunc(ctx, func() { p.end(ctx.Err()) })
	if limit > 0 {
		p.mu.Lock()
		p.timer = time.AfterFunc(limit, p.expire)
		p.mu.Unlock()
	}
	return p, func() {
		stop()
		p.end(context.Canceled)
	}
}

// Deadline returns the parent's deadline, because its own may move.
func (p *Pausable) Deadline() (time.Time, bool) { return p.Context.Deadline() }

// Done is closed when the context ends.
func (p *Pausable) Done() <-chan struct{} { return p.done }

// Err says why the context has ended.
func (p *Pausable) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

type pausableKey struct{}

// Value finds the Pausable itself, so that contexts which derive from it can pause it.
func (p *Pausable) Value(key any) any {
	if key == (pausableKey{}) {
		return p
	}
	return p.Context.Value(key)
}

// Pause stops the clock, and the clocks of the Pausables that the context derives from, until resume is called. If
// several pauses overlap, the clock continues after the last one.
func (p *Pausable) Pause() (resume func()) {
	resumeParent := func() {}
	if parent, ok := p.Context.Value(pausableKey{}).(*Pausable); ok {
		resumeParent = parent.Pause()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pauses++; p.pauses == 1 && p.timer != nil {
		p.timer.Stop()
		p.left = time.Until(p.until)
	}
	return sync.OnceFunc(func() {
		defer resumeParent()
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.pauses--; p.pauses == 0 && p.timer != nil && p.err == nil {
			p.until = time.Now().Add(p.left)
			p.timer.Reset(p.left)
		}
	})
}

// expire ends the context unless a pause has just begun.
func (p *Pausable) expire() {
	p.mu.Lock()
	paused := p.pauses > 0
	p.mu.Unlock()
	if !paused {
		p.end(context.DeadlineExceeded)
	}
}

func (p *Pausable) end(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return
	}
	p.err = err
	if p.timer != nil {
		p.timer.Stop()
	}
	close(p.done)
}
