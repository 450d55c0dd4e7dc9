package api

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

const (
	lookEvery  = time.Second
	listLength = 100 // newest investigations, in addition to the running ones
	listBehind = 16  // updates that a viewer may lag behind
)

// listFeed polls the list while anyone watches it: once for all viewers.
type listFeed struct {
	ctx     context.Context
	system  *client.Client
	mu      *sync.Mutex
	viewers map[chan []record.Investigation]bool
	last    map[string]record.Investigation
	stop    context.CancelFunc
}

func newListFeed(ctx context.Context, system *client.Client) listFeed {
	return listFeed{ctx: ctx, system: system, mu: &sync.Mutex{}, viewers: map[chan []record.Investigation]bool{}}
}

// join returns a channel with the current list, followed by the changes, one slice per poll. The channel is closed when its reader
// falls too far behind. Viewers share the slices and must not change them.
func (f *listFeed) join() (<-chan []record.Investigation, func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ch := make(chan []record.Investigation, listBehind)
	if len(f.last) > 0 {
		ch <- newestLast(f.last)
	}
	if f.viewers[ch] = true; len(f.viewers) == 1 {
		ctx, stop := context.WithCancel(f.ctx)
		f.stop, f.last = stop, map[string]record.Investigation{}
		go f.run(ctx)
	}
	return ch, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.viewers, ch)
		f.rest()
	}
}

// rest stops polling when no viewers are left.
func (f *listFeed) rest() {
	if len(f.viewers) == 0 {
		f.stop()
		f.last = nil
	}
}

func newestLast(all map[string]record.Investigation) (rows []record.Investigation) {
	for _, r := range all {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b record.Investigation) int { return a.StartedAt.Compare(b.StartedAt) })
	return rows
}

func (f *listFeed) run(ctx context.Context) {
	for {
		if now, err := f.look(ctx); err == nil {
			f.broadcast(ctx, now)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookEvery):
		}
	}
}

// look reads the newest investigations, the running ones, and the new state of those that were running.
func (f *listFeed) look(ctx context.Context) (map[string]record.Investigation, error) {
	st, err := f.system.Store(ctx)
	if err != nil || st == nil {
		return nil, err
	}
	newest, err := st.Investigations(ctx, record.Filter{Limit: listLength})
	if err != nil {
		return nil, err
	}
	running, err := st.Running(ctx)
	now := map[string]record.Investigation{}
	for _, r := range append(newest, running...) {
		now[r.ID] = bare(r)
	}
	f.mu.Lock()
	before := f.last
	f.mu.Unlock()
	for id, r := range before {
		if _, listed := now[id]; listed || r.EndedAt != nil {
			continue
		}
		if r, err := st.Investigation(ctx, id); err == nil {
			now[id] = bare(r)
		}
	}
	return now, err
}

// bare returns a record as lists show it.
func bare(r record.Investigation) record.Investigation {
	r.Report = ""
	return shown(r)
}

// broadcast sends the changes to all viewers.
func (f *listFeed) broadcast(ctx context.Context, now map[string]record.Investigation) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil { // another poller has taken over
		return
	}
	fresh := slices.DeleteFunc(newestLast(now), func(r record.Investigation) bool {
		before, known := f.last[r.ID]
		return known && same(before, r)
	})
	f.last = now
	if len(fresh) == 0 {
		return
	}
	sendAll(f.viewers, fresh)
	f.rest()
}

// same reports whether a list would show both records alike.
func same(a, b record.Investigation) bool {
	return a.Status == b.Status && a.Usage == b.Usage && (a.EndedAt == nil) == (b.EndedAt == nil) && a.Envelope.Summary == b.Envelope.Summary
}

// changed is an investigation that is new in a list or has changed.
type changed struct {
	Type          string        `json:"type"`
	Investigation system.Listed `json:"investigation"`
}

// watchList streams the newest and the running investigations, then each one that changes.
func (h *streams) watchList(ctx context.Context, in *system.WatchListIn) (*huma.StreamResponse, error) {
	who := accessOf(ctx)
	if in.Project != "" {
		if err := who.of(in.Project); err != nil {
			return nil, err
		}
	}
	if _, err := h.store(ctx); err != nil {
		return nil, err
	}
	return h.streaming(ctx, "", func(ctx context.Context, hc huma.Context) {
		v := newViewer(hc, 0)
		rows, leave := h.list.join()
		defer leave()
		beat := time.NewTicker(heartbeatEvery)
		defer beat.Stop()
		for v.err == nil {
			select {
			case <-ctx.Done():
				return
			case <-beat.C:
				v.comment()
			case some, ok := <-rows:
				if !ok {
					return
				}
				for _, r := range some {
					if who.rank(r.Project) > 0 && (in.Project == "" || in.Project == r.Project) {
						v.listed(r)
					}
				}
			}
		}
	})
}

// listed sends an investigation that is new in a list or has changed.
func (v *viewer) listed(r record.Investigation) {
	line, err := json.Marshal(changed{"investigation", system.Listed{Investigation: r}})
	if err != nil {
		v.err = err
		return
	}
	v.send("event: investigation\ndata: " + string(line) + "\n\n")
}
