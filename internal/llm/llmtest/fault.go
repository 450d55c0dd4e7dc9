package llmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/llm"
)

// fault describes what goes wrong with a reply.
type fault struct {
	status   int    // instead of 200
	body     string // sent unchanged; empty if there is a code
	code     string // of an error, in OpenAI's words; each format has its own
	message  string
	wait     time.Duration // before the next request, in the format's own form
	header   map[string]string
	echoKey  bool
	slow     time.Duration
	noFinish bool
	do       action // what happens once after some chunks
	after    int
	line     string
	hold     *Hold
}

// action is an event in the middle of a stream.
type action int

const (
	proceed   action = iota
	stall            // fall silent
	cut              // close the connection
	cutWithin        // the same, in the middle of a chunk
	endWithin        // end the stream in the middle of a chunk, like some proxies
	insert           // send a line
	fail             // send the error
	repeat           // repeat the line endlessly
	hold             // wait for the test
)

// Status answers with an HTTP status and a body.
func Status(code int, body string) Reply {
	return Reply{fault: fault{status: code, body: body}}
}

// Refuse answers with an error by its code in OpenAI's words ("invalid_api_key", "context_length_exceeded", …). On
// Gemini's wire format it becomes Gemini's error, which may have another status.
func Refuse(status int, code, message string) Reply {
	return Reply{fault: fault{status: status, code: code, message: message}}
}

// RateLimited answers 429. A retryAfter of zero gives no time for a retry.
func RateLimited(retryAfter time.Duration) Reply {
	r := Refuse(http.StatusTooManyRequests, "rate_limit_exceeded", "Rate limit reached")
	r.fault.wait = retryAfter
	return r
}

// QuotaExhausted answers 429 like a provider for an account without credit.
func QuotaExhausted() Reply {
	return Refuse(http.StatusTooManyRequests, "insufficient_quota", "You exceeded your current quota")
}

// BadKey answers 401 and, like OpenAI, repeats the key.
func BadKey() Reply {
	r := Refuse(http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided: %KEY%. Header: Bearer %KEY%")
	r.fault.echoKey = true
	return r
}

// ErrorIn200 answers 200 with only an error.
func ErrorIn200(code, message string) Reply { return Refuse(http.StatusOK, code, message) }

// Repeat sends before, and then unit over and over, until the client disconnects. A client that wants no stream gets
// only before.
func Repeat(before, unit string) Reply { return Text(before).inMidst(1, fault{do: repeat, line: unit}) }

// Header adds a header to a refusal.
func (r Reply) Header(name, value string) Reply {
	r.fault.header = maps.Clone(r.fault.header)
	if r.fault.header == nil {
		r.fault.header = map[string]string{}
	}
	r.fault.header[name] = value
	return r
}

// Slow waits before the first byte.
func (r Reply) Slow(delay time.Duration) Reply {
	r.fault.slow = delay
	return r
}

// NoFinish ends the stream cleanly, but without a finish reason.
func (r Reply) NoFinish() Reply {
	r.fault.noFinish = true
	return r
}

// Stall falls silent after n chunks (0: after the headers), with the connection open.
func (r Reply) Stall(n int) Reply { return r.inMidst(n, fault{do: stall}) }

// Cut closes the connection after n chunks (0: after the headers).
func (r Reply) Cut(n int) Reply { return r.inMidst(n, fault{do: cut}) }

// CutWithin closes the connection in the middle of the chunk after n others.
func (r Reply) CutWithin(n int) Reply { return r.inMidst(n, fault{do: cutWithin}) }

// EndWithin ends the stream there without an error.
func (r Reply) EndWithin(n int) Reply { return r.inMidst(n, fault{do: endWithin}) }

// Malformed sends invalid JSON after n chunks.
func (r Reply) Malformed(n int) Reply { return r.Insert(n, `{"choices": [{"delta"`) }

// ErrorAfter sends an error object after n chunks.
func (r Reply) ErrorAfter(n int, code, message string) Reply {
	r = r.inMidst(n, fault{do: fail})
	r.fault.code, r.fault.message = code, message
	return r
}

// Insert sends the data of one more event after n chunks.
func (r Reply) Insert(n int, data string) Reply { return r.inMidst(n, fault{do: insert, line: data}) }

// Hold stops after n chunks until the test releases it.
func (r Reply) Hold(h *Hold, n int) Reply { return r.inMidst(n, fault{do: hold, hold: h}) }

// inMidst sets what happens in the middle of the stream.
func (r Reply) inMidst(after int, f fault) Reply {
	r.fault.do, r.fault.after, r.fault.line, r.fault.hold = f.do, after, f.line, f.hold
	return r
}

// Hold stops a reply at a known point of its stream, so that a test can act while the client waits: kill it, signal it,
// inspect it.
//
//	hold := llmtest.NewHold()
//	srv := llmtest.Start(t, llmtest.Always(llmtest.Text("a long story").Chunked(2, 0).Hold(hold, 3)))
//	… start the client …
//	hold.Wait(t)   // three chunks are out
//	… kill -9 …
//	hold.Release() // for all that come after
type Hold struct {
	reached, released chan struct{}
	reach, release    sync.Once
}

// NewHold returns a hold that no reply has reached.
func NewHold() *Hold {
	return &Hold{reached: make(chan struct{}), released: make(chan struct{})}
}

// Reached is closed when the first reply reaches the hold.
func (h *Hold) Reached() <-chan struct{} { return h.reached }

// Wait waits for Reached.
func (h *Hold) Wait(t testing.TB) {
	t.Helper()
	select {
	case <-h.reached:
	case <-time.After(patience):
		t.Fatal("llmtest: no reply reached the hold")
	}
}

// Release releases all replies, now and later.
func (h *Hold) Release() { h.release.Do(func() { close(h.released) }) }

// stop waits at the hold until it is released or ctx ends.
func (h *Hold) stop(ctx context.Context) {
	h.reach.Do(func() { close(h.reached) })
	select {
	case <-h.released:
	case <-ctx.Done():
	}
}

// endless is the maximum that a server of RunEndlessArguments sends, in bytes.
const endless = 8 << 20

// RunEndlessArguments lets a client read a call whose arguments never end, in pieces of 1,000 characters. The client
// must close the connection soon after llm.MaxArguments, or earlier if they repeat themselves. begin is sent before the
// pieces, and piece encodes one.
func RunEndlessArguments(t *testing.T, open func(baseURL string) llm.Client, begin string, piece func(text string) string) {
	t.Helper()
	tests := []struct {
		name   string
		text   func(n int) string
		finish llm.Finish
		most   int64 // bytes of arguments until the client closes the connection, including network buffers
	}{
		{"data", func(n int) string {
			var out strings.Builder
			for i := 0; out.Len() < 1000; i++ {
				fmt.Fprintf(&out, "%x ", (n*1000+i)*(n*1000+i)*2654435761)
			}
			return out.String()[:1000]
		}, llm.FinishToolCalls, 6 << 20},
		{"a repetition", func(int) string { return strings.Repeat("and again ", 100) }, llm.FinishRepeating, 5 << 20},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int64
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, begin)
				for n := 0; sent.Load() < endless; n++ {
					text, _ := json.Marshal(tt.text(n)) // cannot fail: a string
					if _, err := io.WriteString(w, piece(string(text))); err != nil {
						return
					}
					sent.Add(1000)
				}
			}))
			got, err := open(srv.URL).Generate(t.Context(), plain, nil)
			srv.Close() // waits for the handler
			if err != nil || got.Finish != tt.finish {
				t.Fatalf("finish %q, %v; want %q", got.Finish, err, tt.finish)
			}
			if n := sent.Load(); n > tt.most {
				t.Errorf("the server could send %d bytes", n)
			}
			if tt.finish == llm.FinishRepeating {
				return
			}
			if len(got.ToolCalls) != 1 || got.ToolCalls[0].Name != "f" || len(got.ToolCalls[0].Arguments) <= llm.MaxArguments {
				t.Errorf("%d calls, want f with arguments that are too long", len(got.ToolCalls))
			}
		})
	}
}
