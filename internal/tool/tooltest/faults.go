package tooltest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
)

// Fault answers a request instead of the server, which is next.
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

// Stream answers with events, and keeps the stream open.
func Stream(events string) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, events)
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

// Redirect redirects the client.
func Redirect(status int, to string) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) { http.Redirect(w, r, to, status) }
}

// Drop handles the request, and breaks the connection instead of answering.
func Drop(w http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(&cutResponse{ResponseWriter: w}, r)
}

// Cut handles the request, and breaks the connection after a number of bytes of the answer.
func Cut(after int) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&cutResponse{ResponseWriter: w, left: after}, r)
	}
}

// Garble handles the request, and answers with something else.
func Garble(body string) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(httptest.NewRecorder(), r)
		Answer(http.StatusOK, "application/json", body)(w, r, next)
	}
}

// Drip sends the answer in pieces of a number of bytes.
func Drip(piece int) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(dripResponse{w, piece}, r)
	}
}

// Respell handles the request, and sends each part of the answer as respelled. first is true for the first part.
func Respell(respelled func(part string, first bool) string) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&respelledResponse{ResponseWriter: w, respelled: respelled}, r)
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

// FlushError is used by servers to flush. After the cut, the response may end at any time, and then there is nothing
// left to flush.
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

type respelledResponse struct {
	http.ResponseWriter
	respelled func(part string, first bool) string
	begun     bool
}

func (r *respelledResponse) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *respelledResponse) Write(p []byte) (int, error) {
	part := r.respelled(string(p), !r.begun)
	r.begun = true
	if _, err := io.WriteString(r.ResponseWriter, part); err != nil {
		return 0, err
	}
	return len(p), nil
}

// rawResponse writes bytes that no JSON encoder would, like rawWriter.
type rawResponse struct{ http.ResponseWriter }

func (r rawResponse) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r rawResponse) Write(p []byte) (int, error) {
	if _, err := r.ResponseWriter.Write(bytes.ReplaceAll(p, []byte(invalidMark), []byte("\xff\xfe"))); err != nil {
		return 0, err
	}
	return len(p), nil
}
