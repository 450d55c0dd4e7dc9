package mcp

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// listenPatience is how long the start of a session waits for the listening stream to open.
	listenPatience = time.Second
	// A listening stream that breaks is opened again after firstListenDelay. The delay doubles while streams bring no event
	// and break at once. A server may ask for another delay.
	firstListenDelay = time.Second
	leastListenDelay = 100 * time.Millisecond
	maxListenDelay   = time.Minute
)

// lastEventHeader names the last event that the client has read. The SDK sends it when it resumes the stream of a request.
const lastEventHeader = "Last-Event-ID"

// listening reports whether a request opens the stream on which a server sends what belongs to no request of the client,
// such as a question to people.
func (w *web) listening(req *http.Request) bool {
	return w.transport.Type == HTTP && req.Method == http.MethodGet && req.Header.Get(lastEventHeader) == ""
}

// listen answers the SDK with a stream that stays open as long as the session, and copies the messages of the server's
// listening streams into it. On its own, the SDK would hold up the session until the server answers, and would end the
// session when the stream breaks.
func (w *web) listen(req *http.Request) *http.Response {
	body, out := io.Pipe()
	opened := make(chan struct{})
	go func() {
		ctx, cancel := w.bounded(req.Context())
		defer cancel()
		context.AfterFunc(ctx, func() { out.CloseWithError(context.Canceled) })
		l := listener{web: w, request: req, out: out, first: firstListenDelay, delay: firstListenDelay}
		for retry := l.read(ctx, func() { close(opened) }); retry && wait(ctx, l.delay); retry = l.read(ctx, func() {}) {
			l.delay = min(2*l.delay, maxListenDelay)
		}
		<-ctx.Done()
	}()
	select {
	case <-opened:
	case <-req.Context().Done():
	case <-time.After(listenPatience):
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body, Request: req,
	}
}

// listener reads the listening streams of a session, one after another.
type listener struct {
	*web
	request *http.Request
	out     *io.PipeWriter
	lastID  string        // of the last event
	first   time.Duration // the delay after a stream that was of use
	delay   time.Duration // before the next stream is opened
}

// read opens a stream and reads it to its end. It calls answered once, when the server has answered or cannot be
// reached. It reports whether another stream should be opened later.
//
// A message on the stream does not count as a sign that the server is alive, because a proxy can send such signs too.
func (l *listener) read(ctx context.Context, answered func()) (retry bool) {
	out := l.forwarded(l.request).Clone(ctx)
	if l.lastID != "" {
		out.Header.Set(lastEventHeader, l.lastID)
	}
	l.dress(out)
	resp, err := l.base.RoundTrip(out)
	answered()
	if err != nil {
		return true
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || kind != "text/event-stream" {
		resp.Body.Close()
		unknown := l.lastID != "" // the server may no longer know the event
		l.lastID = ""
		return resp.StatusCode >= 500 || unknown // any other server has no such stream
	}
	var message []byte
	events := newStream(resp.Body, streamOptions{
		limit: l.limit, read: func(data []byte) [][]byte { message = data; return [][]byte{data} }, bare: true, broken: func(error) {},
		release: func() {},
	})
	defer events.Close()
	for began := time.Now(); ; {
		message = nil
		event, err := events.next()
		if err == nil || time.Since(began) > l.delay { // a proxy may end streams that are idle
			l.delay = l.first
		}
		if err != nil {
			return true
		}
		l.note(event)
		if !l.pass(message) {
			return false
		}
	}
}

// note reads the id of an event, and how long the server asks clients to wait before they open another stream.
func (l *listener) note(event []byte) {
	for line := range strings.Lines(string(event)) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "id":
			l.lastID = value
		case "retry":
			if n, err := strconv.ParseUint(value, 10, 31); err == nil {
				l.first = max(leastListenDelay, min(time.Duration(n)*time.Millisecond, maxListenDelay))
				l.delay = l.first
			}
		}
	}
}

// pass hands a message to the SDK. It drops anything else, for which the SDK would end the session. ok is false when the
// session has ended.
func (l *listener) pass(message []byte) (ok bool) {
	for _, message := range l.responses.read(message, nil) {
		if _, err := fmt.Fprintf(l.out, "data: %s\n\n", message); err != nil {
			return false
		}
	}
	return true
}

// wait reports whether ctx outlasts a delay.
func wait(ctx context.Context, delay time.Duration) bool {
	select {
	case <-time.After(delay):
		return true
	case <-ctx.Done():
		return false
	}
}
