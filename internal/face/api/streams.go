package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/face/events"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/system"
)

const (
	heartbeatEvery = system.HeartbeatEvery
	writeWithin    = 10 * time.Second // slower readers are dropped
	retryAfter     = system.RetryAfter
	backlog        = 256 // updates that a reader may lag behind
)

// streams serves events. Viewers of the same investigation share one feed.
type streams struct {
	base
	feeds feeds
	list  listFeed
	seats seats
	// checkEvery is how often a stream checks that its token is still valid.
	checkEvery time.Duration
}

func newStreams(ctx context.Context, b base) *streams {
	return &streams{
		base: b, feeds: newFeeds(ctx, b.opts.System), list: newListFeed(ctx, b.opts.System),
		seats: seats{taken: map[string]int{}}, checkEvery: checkEvery,
	}
}

func (h *streams) routes(to *Server) {
	events := map[string]*huma.MediaType{"text/event-stream": {Schema: to.huma.OpenAPI().Components.Schemas.Schema(
		reflect.TypeFor[events.Event](), true, "Event")}}
	add(to, system.WatchInvestigation.Operation, h.watch)
	add(to, system.WatchConversation.Operation, h.watchThread)
	add(to, system.WatchList.Operation, h.watchList)
	for _, path := range []string{system.WatchInvestigation.Path, system.WatchConversation.Path, system.WatchList.Path} {
		to.huma.OpenAPI().Paths[path].Get.Responses["200"] = &huma.Response{Description: "events", Content: events}
	}
}

const (
	// maxStreams is how many streams one token, or one person from the identity provider, may have open at once.
	maxStreams = 200
	// checkEvery is how often a stream checks that its token is still valid.
	checkEvery = 5 * time.Second
)

// seats counts the open streams by the names of their readers.
type seats struct {
	mu    sync.Mutex
	taken map[string]int
}

func (s *seats) take(name string) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken[name] >= maxStreams {
		return nil, huma.Error429TooManyRequests(fmt.Sprintf("%s has %d streams open, which is the limit: close some of them", name, maxStreams))
	}
	s.taken[name]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.taken[name]--; s.taken[name] == 0 {
			delete(s.taken, name)
		}
	}, nil
}

// streaming responds with a stream for as long as the reader's token is valid and may read the project. An empty project means that
// serve checks the projects itself. The number of open streams is limited.
func (h *streams) streaming(ctx context.Context, project string, serve func(context.Context, huma.Context)) (*huma.StreamResponse, error) {
	who := accessOf(ctx)
	leave, err := h.seats.take(who.name)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer leave()
		ctx, end := context.WithCancel(hc.Context())
		defer end()
		go h.endWithToken(ctx, end, who, project)
		serve(ctx, hc)
	}}, nil
}

// endWithToken ends a stream once its token is revoked, has expired, or has lost the project. While the identity provider does not
// answer, the stream goes on.
func (h *streams) endWithToken(ctx context.Context, end func(), who access, project string) {
	if who.reauthenticate == nil {
		return
	}
	check := time.NewTicker(h.checkEvery)
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-check.C:
		}
		now, status := who.reauthenticate(ctx)
		gone := status == http.StatusUnauthorized || status == http.StatusForbidden
		changed := status == http.StatusOK && (project != "" && now.of(project) != nil || project == "" && !maps.Equal(now.grants, who.grants))
		if gone || changed {
			end() // readers whose projects have changed reconnect and start afresh
			return
		}
	}
}

func (h *streams) watch(ctx context.Context, in *system.WatchIn) (*huma.StreamResponse, error) {
	o, err := h.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	st, err := h.store(ctx)
	if err != nil {
		return nil, err
	}
	return h.streaming(ctx, o.Project, func(ctx context.Context, hc huma.Context) {
		v := newViewer(hc, in.Last)
		if in.Last == 0 {
			v.event(events.Event{Type: events.Started, ID: o.ID, WorkflowID: workflowOf(o)})
		}
		h.view(ctx, st, o, v)
	})
}

// view shows an investigation until it has ended or the viewer has left. The viewer first gets the past from the store, then joins the
// feed that all viewers share. Nothing is missed between the two, and nothing is sent twice.
func (h *streams) view(ctx context.Context, st *store.Store, o client.Owned, v *viewer) {
	if o.Record == nil {
		if o.Record = h.begun(ctx, st, o.ID, v); o.Record == nil {
			return
		}
	}
	v.about = client.About(ctx, st, *o.Record)
	if v.seq > 0 { // a seq beyond the last entry would start the shared feed too late
		known, err := lastEntry(ctx, st, o.ID)
		if err != nil {
			return
		}
		v.seq = min(v.seq, known)
	}
	news, leave, joined := h.feeds.join(o.ID, -1)
	if joined {
		defer leave()
	}
	if !v.catchUp(ctx, st, o.Record, o.ID) {
		return
	}
	if !joined {
		news, leave, joined = h.feeds.join(o.ID, v.seq)
		defer leave()
		if joined && !v.catchUp(ctx, st, o.Record, o.ID) { // another viewer has started the feed meanwhile
			return
		}
	}
	beat := time.NewTicker(heartbeatEvery)
	defer beat.Stop()
	for v.err == nil {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			v.comment()
		case n, ok := <-news:
			if !ok { // too far behind: the client reconnects and resumes from its position
				return
			}
			if n.update != nil {
				v.update(*n.update)
			} else {
				v.event(n.event)
			}
			if n.event.Type == events.Ended {
				return
			}
		}
	}
}

// begun waits for the record of an investigation that no worker has begun yet. Nil means that the investigation ended before that, and
// the viewer has been told, or that the viewer has left.
func (h *streams) begun(ctx context.Context, st *store.Store, id string, v *viewer) *record.Investigation {
	for {
		ended, unasked := h.unrecorded(ctx, id)
		r, err := st.Investigation(ctx, id)
		switch {
		case err == nil:
			return &r
		case ended != nil && unasked == nil && errors.Is(err, record.ErrNotFound):
			v.event(events.Event{Type: events.Ended, Result: ended})
			return nil
		case !v.idle(ctx, retryAfter):
			return nil
		}
	}
}

// lastEntry returns the number of the last entry in a transcript; zero means that there is none.
func lastEntry(ctx context.Context, st *store.Store, id string) (seq int64, err error) {
	last, err := st.Part(ctx, store.Part{Investigation: id, Before: math.MaxInt64, Limit: 1})
	for _, e := range last {
		seq = e.Seq
	}
	return seq, err
}

// catchUp sends the contents of the store and reports whether more may come.
func (v *viewer) catchUp(ctx context.Context, st *store.Store, r *record.Investigation, id string) bool {
	err := st.Follow(ctx, id, v.seq, func(u record.Update) error {
		if u.Record != nil {
			*r = *u.Record
		}
		if v.update(u); u.More && v.err == nil {
			return nil
		}
		return errAllSent
	})
	if !errors.Is(err, errAllSent) || v.err != nil {
		return false
	}
	if r.Status.Closed() {
		v.event(events.Event{Type: events.Ended, Result: system.ResultOf(*r)})
	}
	return !r.Status.Closed()
}

// errAllSent ends following because nothing more is available now.
var errAllSent = errors.New("all events were sent")

func workflowOf(o client.Owned) string {
	if o.Record != nil {
		return o.Record.WorkflowID
	}
	return ""
}

func (h *streams) watchThread(ctx context.Context, in *system.WatchIn) (*huma.StreamResponse, error) {
	o, err := h.ownedThread(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if _, err := h.store(ctx); err != nil {
		return nil, err
	}
	return h.streaming(ctx, o.Project, func(ctx context.Context, hc huma.Context) {
		v := newViewer(hc, in.Last)
		o.Record = &record.Investigation{} // conversations have no record
		st, err := h.store(ctx)
		if err == nil {
			h.view(ctx, st, o, v)
		}
	})
}

// viewer writes events to one client. The first error is kept and ends the stream.
type viewer struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	json events.Writer
	line bytes.Buffer
	seq  int64 // number of the last entry that the client has
	err  error
	// about is a one-line description of the investigation for its records. Empty means unknown.
	about string
}

func newViewer(hc huma.Context, seq int64) *viewer {
	_, w := humago.Unwrap(hc)
	v := &viewer{w: w, rc: http.NewResponseController(w), seq: seq}
	v.json.Out = &v.line
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	_ = v.rc.SetReadDeadline(time.Time{})
	v.send(fmt.Sprintf("retry: %d\n\n", retryAfter.Milliseconds()))
	return v
}

// update sends the new parts of an update from the store.
func (v *viewer) update(u record.Update) {
	known := v.seq
	fresh := u.Entries[:0:0]
	for _, e := range u.Entries {
		if e.Seq > known || e.Superseded {
			fresh = append(fresh, e)
		}
		v.seq = max(v.seq, e.Seq)
	}
	u.Entries, u.About = fresh, v.about
	for _, e := range v.json.Events(u) {
		v.event(e)
	}
}

// event sends one event. The event's ID is the last entry sent, from which a reconnecting client resumes.
func (v *viewer) event(e events.Event) {
	if v.err != nil {
		return
	}
	v.line.Reset()
	if v.err = v.json.Write(e); v.err != nil {
		return
	}
	id := v.seq
	if e.Entry != nil && !e.Entry.Superseded {
		id = e.Entry.Seq
	}
	v.send("id: " + strconv.FormatInt(id, 10) + "\nevent: " + e.Type + "\ndata: " + v.line.String() + "\n")
}

func (v *viewer) comment() { v.send(": \n\n") }

func (v *viewer) send(text string) {
	if v.err != nil {
		return
	}
	_ = v.rc.SetWriteDeadline(time.Now().Add(writeWithin))
	if _, v.err = io.WriteString(v.w, text); v.err == nil {
		v.err = v.rc.Flush()
	}
}

// idle waits and reports whether the viewer is still there.
func (v *viewer) idle(ctx context.Context, d time.Duration) bool {
	v.comment()
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return ctx.Err() == nil && v.err == nil
}
