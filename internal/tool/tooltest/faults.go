package tooltest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
)

// Fault answers a request in the place of the server, which is next.
type Fault func(w http.ResponseWriter, r *http.Request, next http.Handler)

// Hang never answers.
func Hang(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	<-r.Context().Done()
}

// Answer answers at once.
func Answer(status int, contentType, body string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// Stream answers with events, and goes on as if there were more.
func Stream(events string) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, events)
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

// Redirect sends the client on.
func Redirect(status int, to string) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) { http.Redirect(w, r, to, status) }
}

// Drop does what it is asked to do, and breaks the connection instead of answering.
func Drop(w http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(&cutResponse{ResponseWriter: w}, r)
}

// Cut does what it is asked to do, and breaks the connection after so many bytes
// of the answer.
func Cut(after int) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&cutResponse{ResponseWriter: w, left: after}, r)
	}
}

// Garble does what it is asked to do, and answers with something else.
func Garble(body string) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(httptest.NewRecorder(), r)
		Answer(http.StatusOK, "application/json", body)(w, r, next)
	}
}

// Drip sends the answer in pieces of so many bytes.
func Drip(piece int) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(dripResponse{w, piece}, r)
	}
}

type cutResponse struct {
	http.ResponseWriter
	left int
	cut  bool
}

func (c *cutResponse) Write(p []byte) (int, error) {
	if c.left >= len(p) {
		c.left -= len(p)
		return c.ResponseWriter.Write(p)
	}
	if c.left > 0 {
		c.ResponseWriter.Write(p[:c.left])
		c.FlushError()
	}
	c.left, c.cut = 0, true
	conn, _, err := http.NewResponseController(c.ResponseWriter).Hijack()
	if err != nil {
		return 0, err
	}
	conn.Close()
	return 0, io.ErrClosedPipe
}

// FlushError is what servers flush by. Once the response is cut, its end may
// come at any time, and then there is nothing to flush any more.
func (c *cutResponse) FlushError() error {
	if c.cut {
		return io.ErrClosedPipe
	}
	return http.NewResponseController(c.ResponseWriter).Flush()
}

type dripResponse struct {
	http.ResponseWriter
	piece int
}

func (d dripResponse) Unwrap() http.ResponseWriter { return d.ResponseWriter }

func (d dripResponse) Write(p []byte) (n int, err error) {
	control := http.NewResponseController(d.ResponseWriter)
	for n < len(p) && err == nil {
		var wrote int
		wrote, err = d.ResponseWriter.Write(p[n:min(len(p), n+d.piece)])
		n += wrote
		control.Flush()
	}
	return n, err
}

// rawResponse writes what no encoder of JSON would, as rawWriter.
type rawResponse struct{ http.ResponseWriter }

func (r rawResponse) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r rawResponse) Write(p []byte) (int, error) {
	if _, err := r.ResponseWriter.Write(bytes.ReplaceAll(p, []byte(invalidMark), []byte("\xff\xfe"))); err != nil {
		return 0, err
	}
	return len(p), nil
}
