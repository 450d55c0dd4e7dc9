package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// pulse records when a session last received anything from its server, and which calls are in progress.
type pulse struct {
	mu       sync.Mutex
	lastSeen time.Time
	calls    []ongoing // oldest first
	check    *check    // the running check, or nil
}

// ongoing is a call in progress.
type ongoing struct {
	*receipt
	began time.Time
}

// check finds out whether a server still answers.
type check struct {
	since time.Time
	over  chan struct{} // closed when it has ended
	busy  chan struct{} // closed when a ping was not answered, possibly because of an earlier call
}

// touch records that the server has sent something.
func (p *pulse) touch() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastSeen = time.Now()
}

// idle returns the time since the server last sent something.
func (p *pulse) idle() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.lastSeen)
}

func (p *pulse) seenSince(t time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lastSeen.After(t)
}

func (p *pulse) begin(r *receipt) (began time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	began = time.Now()
	p.calls = append(p.calls, ongoing{r, began})
	return began
}

func (p *pulse) end(r *receipt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = slices.DeleteFunc(p.calls, func(c ongoing) bool { return c.receipt == r })
}

// older reports whether a call that began before t is in progress.
func (p *pulse) older(t time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.calls, func(c ongoing) bool { return c.began.Before(t) })
}

// checking returns the running check, or nil.
func (p *pulse) checking() *check {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.check
}

var (
	// errBusy means that the server answers no pings while it may still be working on an earlier call.
	errBusy = errors.New("it does not respond to pings while an earlier call is in progress")
	// errUnchecked means that the server did not confirm that it still knows the session.
	errUnchecked = errors.New("it did not respond to pings, and a call that must not be sent twice needs a confirmed session")
)

// suspect checks in the background whether the server still answers, after a call that began at that time got no answer
// in time. Later calls wait for the check.
func (s *session) suspect(ctx context.Context, began time.Time) {
	s.pulse.mu.Lock()
	defer s.pulse.mu.Unlock()
	if s.pulse.check != nil {
		return
	}
	c := &check{since: time.Now(), over: make(chan struct{}), busy: make(chan struct{})}
	s.pulse.check = c
	go func() {
		s.watch(context.WithoutCancel(ctx), c.since, began, sync.OnceFunc(func() { close(c.busy) }))
		s.pulse.mu.Lock()
		s.pulse.check = nil
		s.pulse.mu.Unlock()
		close(c.over)
	}()
}

// watch ends the session if the server answers no ping. A server that does one thing at a time cannot answer pings
// during a call, so calls older than the abandoned one are given their time first.
func (s *session) watch(ctx context.Context, since, began time.Time, busy func()) {
	for {
		round := time.Now()
		err := s.ping(ctx)
		switch {
		case s.pulse.seenSince(since), s.ended(), !errors.Is(err, context.DeadlineExceeded):
			return
		case !s.pulse.older(began):
			s.wire.fail(fmt.Errorf("%w within %s", errSilent, s.patience))
			return
		}
		busy()
		select {
		case <-time.After(s.patience - time.Since(round)):
		case <-s.wire.ended():
		case <-s.stopped:
		}
	}
}

// usable returns nil if a call may be sent. It waits for a running check. If the session has been idle for a while, and
// the call must not be sent twice, it first asks the server whether it still knows the session. Otherwise an error in
// the server's answer to the call would not show whether the call was made.
func (s *session) usable(ctx context.Context, once bool) error {
	if check := s.pulse.checking(); check != nil {
		select {
		case <-check.over:
		case <-check.busy:
			if !s.pulse.seenSince(check.since) {
				return errBusy
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		if s.ended() {
			return s.wire.why()
		}
	}
	if !once || !s.wire.remembered() || s.pulse.idle() < s.checkAfter {
		return nil
	}
	return s.checked(ctx)
}

// maxChecks is how often the session check is repeated if no call of the session explains the server's silence. Other
// clients may keep the server busy.
const maxChecks = 6

// checked returns nil if the server knows the session. A server that does one thing at a time answers only when it is
// free, so pings are repeated: until ctx ends if a call of the session is under way, else maxChecks times. Then the
// session ends, so that later calls do not wait as long. If ctx ends first, the check goes on in the background.
func (s *session) checked(ctx context.Context) error {
	began := time.Now()
	for n := 1; ; n++ {
		err := s.ping(ctx)
		switch {
		case !errors.Is(err, context.DeadlineExceeded):
			return err
		case ctx.Err() != nil:
			s.suspect(ctx, began)
			return err
		case n >= maxChecks && !s.pulse.older(time.Now()):
			err = fmt.Errorf("%w (waited %s)", errUnchecked, time.Since(began).Round(time.Second))
			s.wire.fail(fmt.Errorf("%w: %w", errSilent, err))
			return err
		}
	}
}

// ping returns nil if the server answers, whatever the answer, unless the answer says that the session, or the server
// behind a gateway, is gone.
func (s *session) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	ctx, receipt := withReceipt(ctx, s.wire.answers())
	defer receipt.giveUp(nil)
	defer receipt.forget()
	err := s.explain(ctx, s.client.Ping(ctx, nil))
	status, refused := errors.AsType[*statusError](err)
	_, answered := errors.AsType[*jsonrpc.Error](err)
	switch {
	case refused && !status.lost && !status.gateway(), !refused && answered:
		return nil
	}
	return err
}
