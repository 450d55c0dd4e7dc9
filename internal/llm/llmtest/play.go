package llmtest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// player sends one reply.
type player struct {
	Reply
	format format
	w      http.ResponseWriter
	req    Request
	sent   int // chunks
}

// play sends a reply with its fault.
func (r Reply) play(ctx context.Context, w http.ResponseWriter, req Request) {
	p := &player{Reply: r, format: req.Wire.format(), w: w, req: req}
	if !pause(ctx, r.fault.slow) {
		return
	}
	switch {
	case r.fault.status != 0:
		p.refuse()
	case req.Stream:
		p.stream(ctx)
	default:
		p.answer(ctx)
	}
}

func (p *player) refuse() {
	status, body := p.fault.status, p.fault.body
	if p.fault.code != "" {
		status, body = p.format.refusal(p.fault)
	}
	if p.fault.echoKey {
		body = strings.ReplaceAll(body, "%KEY%", p.req.Key)
	}
	p.w.Header().Set("Content-Type", "application/json")
	if (p.req.Wire == OpenAI || p.req.Wire == Anthropic || p.req.Wire == Responses) && p.fault.wait > 0 {
		p.w.Header().Set("Retry-After", strconv.FormatFloat(p.fault.wait.Seconds(), 'f', -1, 64))
	}
	for name, value := range p.fault.header {
		p.w.Header().Set(name, value)
	}
	p.w.WriteHeader(status)
	_, _ = io.WriteString(p.w, body)
}

// answer sends the reply in one piece, for a client that wants no stream.
func (p *player) answer(ctx context.Context) {
	p.w.Header().Set("Content-Type", "application/json")
	if p.fault.do != proceed && !p.act(ctx) {
		return
	}
	_, _ = io.WriteString(p.w, p.spelled(p.format.whole(p.Reply, p.req)))
}

func (p *player) stream(ctx context.Context) {
	contentType := "text/event-stream"
	if p.req.Wire == GeminiArray {
		contentType = "application/json"
	}
	p.w.Header().Set("Content-Type", contentType)
	p.w.WriteHeader(http.StatusOK)
	p.flush()
	chunks := p.raw
	if chunks == nil {
		chunks = p.format.chunks(p.Reply, p.req)
	}
	for i := 0; ; i++ {
		if i == min(p.fault.after, len(chunks)) && !p.act(ctx) {
			return
		}
		if i == len(chunks) {
			break
		}
		if within := p.fault.do == cutWithin || p.fault.do == endWithin; within && i == p.fault.after {
			p.half(chunks[i])
			return
		}
		if !p.send(ctx, chunks[i]) || !pause(ctx, p.delay) {
			return
		}
	}
	_, _ = io.WriteString(p.w, p.format.end(p.sent, !p.fault.noFinish))
}

// half sends only the first half of a chunk.
func (p *player) half(chunk string) {
	frame := p.format.frame(p.sent, p.spelled(chunk))
	_, _ = io.WriteString(p.w, frame[:len(frame)/2])
	p.flush()
	if p.fault.do == cutWithin {
		panic(http.ErrAbortHandler) // net/http's way to drop a connection
	}
}

// act performs the fault and reports whether to continue.
func (p *player) act(ctx context.Context) bool {
	switch p.fault.do {
	case stall:
		<-ctx.Done()
		return false
	case cut:
		panic(http.ErrAbortHandler) // net/http's way to drop a connection
	case insert:
		return p.send(ctx, p.fault.line)
	case fail:
		_, body := p.format.refusal(p.fault)
		return p.send(ctx, body)
	case repeat:
		if !p.req.Stream {
			return true
		}
		chunk := p.format.say(p.Reply, p.req, p.fault.line)
		for p.send(ctx, chunk) {
		}
		return false
	case hold:
		p.fault.hold.stop(ctx)
	}
	return ctx.Err() == nil
}

// spelled returns a chunk with its enums in the requested form.
func (p *player) spelled(chunk string) string {
	if p.req.numbers {
		return numbered(chunk)
	}
	return chunk
}

// send sends one chunk and reports whether the client is still connected.
func (p *player) send(ctx context.Context, data string) bool {
	_, err := io.WriteString(p.w, p.format.frame(p.sent, p.spelled(data)))
	p.sent++
	p.flush()
	return err == nil && ctx.Err() == nil
}

// flush sends the output so far to the client. A reply without pauses arrives as a whole.
func (p *player) flush() {
	if p.delay > 0 || p.fault.do != proceed {
		_ = http.NewResponseController(p.w).Flush()
	}
}

// pause waits, and reports whether the client is still connected.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Script chooses the reply to a request. It is called from several goroutines.
type Script func(Request) Reply

// Always gives every request the same reply.
func Always(reply Reply) Script { return func(Request) Reply { return reply } }

// Sequence gives the n-th request of every conversation the n-th reply. Requests with the same first user message
// belong to one conversation. Any further request is refused, so that the test fails visibly.
func Sequence(replies ...Reply) Script { return SequenceBy(Request.Task, replies...) }

// SequenceBy is Sequence with another key for conversations, such as Request.System.
func SequenceBy(key func(Request) string, replies ...Reply) Script {
	var mu sync.Mutex
	seen := map[string]int{}
	return func(req Request) Reply {
		mu.Lock()
		defer mu.Unlock()
		n := seen[key(req)]
		seen[key(req)]++
		if n >= len(replies) {
			return Refuse(http.StatusBadRequest, "invalid_request_error",
				fmt.Sprintf("llmtest: request %d of a sequence of %d", n+1, len(replies)))
		}
		return replies[n]
	}
}

// Route is a script for some of the requests.
type Route struct {
	If   func(Request) bool
	Then Script
}

// Routes uses the first matching route. A request that matches none is refused.
func Routes(routes ...Route) Script {
	return func(req Request) Reply {
		for _, route := range routes {
			if route.If(req) {
				return route.Then(req)
			}
		}
		return Refuse(http.StatusBadRequest, "invalid_request_error", "llmtest: no route for this request")
	}
}

// On returns a route for requests whose system prompt or task contains a text.
func On(text string, script Script) Route {
	return Route{Then: script, If: func(req Request) bool {
		return strings.Contains(req.System(), text) || strings.Contains(req.Task(), text)
	}}
}
