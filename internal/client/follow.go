package client

import (
	"context"
	"errors"
	"sync"
	"time"

	sdk "go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

const (
	lookEvery = 250 * time.Millisecond // for a record that does not exist yet
	askEvery  = time.Second            // query for the status, without a store
	endTries  = 5                      // attempts to read the final record
	tailPage  = 500                    // entries in one of the last updates
	pingEvery = 2 * time.Second        // health check of Temporal, to report an outage to viewers
	pingTime  = 3 * time.Second        // timeout of a health check
)

// Follow calls fn with the entries of an investigation after the given sequence number, then with whatever happens, until the
// investigation has ended. Temporal reports the end and the result. The news until then comes from the store or, without one, from
// the workflow itself. An error from fn ends Follow, which returns it unchanged.
func (c *reader) Follow(ctx context.Context, found system.Handle, after int64, fn func(system.Event) error) (out system.Result, err error) {
	h, err := c.handle(ctx, found)
	if err != nil {
		return out, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	over, end := context.WithCancel(ctx) // the investigation has ended
	defer end()
	var sending sync.Mutex
	send := func(e system.Event) error {
		sending.Lock()
		defer sending.Unlock()
		return fn(e)
	}
	var group sync.WaitGroup
	group.Go(func() {
		if err := ping(over, h, send); err != nil {
			stop(err)
		}
	})
	group.Go(func() {
		var err error
		if out, err = c.Await(ctx, found); err != nil {
			stop(err)
		}
		end()
	})
	if err = c.deliver(ctx, h, after, over, send); err != nil && ctx.Err() == nil {
		stop(err)
	}
	group.Wait()
	return out, context.Cause(ctx)
}

// ping reports when Temporal stops answering and when it answers again. The call that waits for the end cannot report it, because the
// SDK retries silently.
func ping(ctx context.Context, h handle, fn func(system.Event) error) error {
	lost := time.Time{}
	for wait(ctx, pingEvery) {
		asked := time.Now()
		asking, cancel := context.WithTimeout(ctx, pingTime)
		_, err := h.conn.CheckHealth(asking, &sdk.CheckHealthRequest{})
		cancel()
		away := unavailable(err) || errors.Is(err, context.DeadlineExceeded)
		if ctx.Err() != nil || away != lost.IsZero() {
			continue
		}
		lost = time.Time{}
		if away {
			lost = asked
		}
		if err := fn(system.Event{Connection: &system.Connection{To: "Temporal", Lost: lost}}); err != nil {
			return err
		}
	}
	return nil
}

// deliver calls fn until the investigation has ended.
func (c *reader) deliver(ctx context.Context, h handle, after int64, over context.Context, fn func(system.Event) error) error {
	st, err := c.locate(ctx, h, over)
	if st != nil {
		f := following{store: st, id: h.ID(), last: after, fn: fn}
		if err = f.follow(ctx, over); err == nil || ctx.Err() != nil || f.refused != nil {
			return err
		}
	}
	if err != nil && ctx.Err() == nil {
		err = fn(system.Event{Blind: err})
	}
	for err == nil && over.Err() == nil {
		var s system.Status
		if h.ask(ctx, queryTimeout, &s.Status) == nil {
			s.Agents = h.agents(ctx, s.Status)
			err = fn(system.Event{Status: &s})
		}
		if err == nil {
			wait(over, askEvery)
		}
	}
	return err
}

// locate returns the store once it knows the investigation. It returns nil when the store clearly never will: the investigation has
// a plan or has ended, and the store has no record of it. The error says why, except for an investigation that has ended anyway.
func (c *reader) locate(ctx context.Context, h handle, over context.Context) (*store.Store, error) {
	for {
		ended := over.Err() != nil
		var status workflows.Status
		resolved := ended || h.ask(ctx, queryTimeout, &status) == nil && status.Chain != "" // the record is written before the plan
		st, err := c.Store(ctx)
		if err != nil || ctx.Err() != nil {
			return nil, err
		}
		if st != nil {
			if _, err := st.Investigation(ctx, h.ID()); err == nil {
				return st, nil
			}
		}
		switch {
		case resolved && st == nil:
			return nil, system.ErrNoStore
		case ended:
			return nil, nil
		case resolved:
			return nil, system.ErrOtherStore
		}
		wait(over, lookEvery)
	}
}

// following is the part of Follow that reads from the store.
type following struct {
	store   *store.Store
	id      string
	last    int64     // highest sequence number
	closed  bool      // the record says that the investigation has ended
	away    time.Time // since when the store has not answered
	about   string    // one-line description; empty means not known yet
	fn      func(system.Event) error
	refused error // error from fn
}

// errAllSent ends following because nothing more will come.
var errAllSent = errors.New("all events were sent")

// follow reports the news from the store until the end. The store knows of the end when Temporal does, except shortly after a
// termination.
func (f *following) follow(ctx, over context.Context) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(over, func() {
		if !f.willEnd(watching) {
			stop()
		}
	})()
	err := f.store.Follow(watching, f.id, f.last, func(u record.Update) error { return f.take(watching, u) })
	switch {
	case f.refused != nil:
		return f.refused
	case errors.Is(err, errAllSent):
		return nil
	case ctx.Err() == nil && watching.Err() != nil:
		return f.tail(ctx)
	}
	return err
}

// willEnd reports whether the record says that the investigation has ended, so that its update ends following.
func (f *following) willEnd(ctx context.Context) bool {
	for range endTries {
		r, err := f.store.Investigation(ctx, f.id)
		if err == nil {
			return r.Status.Closed()
		}
		if !wait(ctx, lookEvery) {
			break
		}
	}
	return false
}

// tail reports the entries that were written before following stopped.
func (f *following) tail(ctx context.Context) error {
	for {
		entries, err := f.store.After(ctx, f.id, f.last, tailPage)
		if err != nil || len(entries) == 0 {
			return err
		}
		if f.refused = f.fn(system.Event{Update: &record.Update{Entries: entries}}); f.refused != nil {
			return f.refused
		}
		f.last = entries[len(entries)-1].Seq
	}
}

func (f *following) take(ctx context.Context, u record.Update) error {
	if !u.Away.Equal(f.away) {
		f.away = u.Away
		if f.refused = f.fn(system.Event{Connection: &system.Connection{To: "the store", Lost: u.Away}}); f.refused != nil {
			return f.refused
		}
	}
	if u.Record != nil {
		if f.about == "" {
			f.about = About(ctx, f.store, *u.Record)
		}
		u.About = f.about
	}
	if f.refused = f.fn(system.Event{Update: &u}); f.refused != nil {
		return f.refused
	}
	for _, e := range u.Entries {
		f.last = max(f.last, e.Seq)
	}
	if u.Record != nil {
		f.closed = u.Record.Status.Closed()
	}
	if f.closed && !u.More {
		return errAllSent
	}
	return nil
}
