package api

import (
	"context"
	"sync"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/face/events"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// feeds follows the investigations that have viewers. Each is followed once, however many viewers it has.
type feeds struct {
	ctx    context.Context
	system *client.Client
	mu     *sync.Mutex
	of     map[string]*feed
}

type feed struct {
	viewers map[chan news]bool
	stop    context.CancelFunc
}

// news is either an update from the store or an event.
type news struct {
	update *record.Update
	event  events.Event
}

func newFeeds(ctx context.Context, system *client.Client) feeds {
	return feeds{ctx, system, &sync.Mutex{}, map[string]*feed{}}
}

// join returns the news after an entry. The channel is closed when its reader falls too far behind or when the news ends.
// If the feed existed already (joined), news starts at its current position. With a negative after, join only joins an existing feed.
func (f *feeds) join(id string, after int64) (events <-chan news, leave func(), joined bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one, joined := f.of[id]
	if !joined && after < 0 {
		return nil, nil, false
	}
	if !joined {
		ctx, stop := context.WithCancel(f.ctx)
		one = &feed{map[chan news]bool{}, stop}
		f.of[id] = one
		go f.follow(ctx, id, after, one)
	}
	ch := make(chan news, backlog)
	one.viewers[ch] = true
	return ch, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if delete(one.viewers, ch); len(one.viewers) == 0 {
			f.end(id, one)
		}
	}, joined
}

// end removes a feed and closes the channels of its remaining viewers.
func (f *feeds) end(id string, one *feed) {
	one.stop()
	for ch := range one.viewers {
		delete(one.viewers, ch)
		close(ch)
	}
	if f.of[id] == one {
		delete(f.of, id)
	}
}

// sendAll sends a value to all viewers. It closes the channels of those that are too far behind.
func sendAll[T any](viewers map[chan T]bool, what T) {
	for ch := range viewers {
		select {
		case ch <- what:
		default:
			delete(viewers, ch)
			close(ch)
		}
	}
}

func (f *feeds) follow(ctx context.Context, id string, after int64, one *feed) {
	send := func(n news) {
		f.mu.Lock()
		defer f.mu.Unlock()
		sendAll(one.viewers, n)
	}
	f.run(ctx, id, after, send)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end(id, one)
}

// run follows an investigation, as `starter watch` does, or a conversation, and passes on the news after an entry.
func (f *feeds) run(ctx context.Context, id string, after int64, send func(news)) {
	h, err := f.system.Find(ctx, id)
	if err != nil { // a conversation, or an investigation that ended long ago
		if st, err := f.system.Store(ctx); err == nil && st != nil {
			_ = st.Follow(ctx, id, after, func(u record.Update) error { send(news{update: &u}); return nil })
		}
		return
	}
	out, err := f.system.Follow(ctx, h, after, func(e system.Event) error {
		switch {
		case e.Update != nil:
			send(news{update: e.Update})
		case e.Connection != nil:
			event := events.Event{Type: events.Connection, To: e.Connection.To}
			if !e.Connection.Lost.IsZero() {
				event.Lost = &e.Connection.Lost
			}
			send(news{event: event})
		}
		return nil
	})
	if err == nil && f.system.Text(ctx, &out.Report, out.ReportRef) == nil {
		send(news{event: events.Event{Type: events.Ended, Result: out}})
	}
}
