package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/propagation"

	"github.com/inquest-dev/inquest/internal/kit/sse"
)

// RoundTrip sends one request of the SDK, and records the outcome in its receipt. Secrets are added here and not by the
// client, so that redirects do not carry them.
func (w *web) RoundTrip(req *http.Request) (*http.Response, error) {
	if w.listening(req) {
		return w.listen(req), nil
	}
	receipt := receiptIn(req.Context())
	if req.Method == http.MethodDelete {
		receipt = unread() // the receipt is that of initialize, which may be why the session ends
	}
	receipt.note(nil) // the stream is resumed: forget the break
	req = w.forwarded(req)
	if to := origin(req.URL); to != w.origin {
		err := fmt.Errorf("%w: its endpoint has another origin, %s", errUnreachable, to)
		receipt.note(err)
		return nil, err
	}
	bounded := w.bounded
	if req.Method == http.MethodDelete {
		bounded = w.farewell
	}
	ctx, cancel := bounded(req.Context())
	connected := false
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }})
	out := req.Clone(ctx)
	w.dress(out)
	id := idOf(req)
	if id == nil && req.Method == http.MethodPost {
		w.responses.noticed()
	}
	guard(out, id, receipt)
	resp, err := w.base.RoundTrip(out)
	if err == nil {
		w.onActivity()
		if resp.Header.Get(sessionHeader) != "" {
			w.stateful.Store(true)
		}
		err = w.receive(resp, id, receipt, cancel)
	} else if connected {
		err = fmt.Errorf("%w: %w", errCut, err)
	} else {
		err = fmt.Errorf("%w: %w", errUnreachable, err)
	}
	if err != nil {
		cancel()
		receipt.note(err)
		return nil, err
	}
	return resp, nil
}

// guard makes the receipt of a request with an id record when it is sent: net/http requests the body directly before it writes the
// first byte to the connection. Without GetBody, net/http cannot resend the request itself.
func guard(out *http.Request, id any, receipt *receipt) {
	if out.Body == nil {
		return
	}
	head := out.Clone(context.WithoutCancel(out.Context()))
	head.Body, out.GetBody = nil, nil
	out.Body = &guardedBody{ReadCloser: out.Body, begin: sync.OnceValue(func() error {
		return receipt.begin(sentRequest{id: id, http: head})
	})}
}

// idOf reads the id of a JSON-RPC request from its body. It is nil for a notice and for a response.
func idOf(req *http.Request) (id any) {
	if req.GetBody == nil {
		return nil
	}
	var request struct {
		ID     json.RawMessage
		Method string
	}
	body, err := req.GetBody()
	if err != nil || json.NewDecoder(body).Decode(&request) != nil || request.ID == nil || request.Method == "" {
		return nil
	}
	return request.ID
}

type guardedBody struct {
	io.ReadCloser
	begin func() error
}

func (b *guardedBody) Read(p []byte) (int, error) {
	if err := b.begin(); err != nil {
		return 0, err
	}
	return b.ReadCloser.Read(p)
}

// forwarded sends a request directly to the address to which the server redirected the session's first request, so that
// a call that must not be sent twice need not be redirected.
func (w *web) forwarded(req *http.Request) *http.Request {
	to := w.moved.Load()
	if to == nil || req.URL.String() != w.transport.URL {
		return req
	}
	out := req.Clone(req.Context())
	out.URL, out.Host = to, ""
	return out
}

// dress adds the configured headers. The bearer token takes precedence over an Authorization header.
func (w *web) dress(req *http.Request) {
	propagation.TraceContext{}.Inject(req.Context(), propagation.HeaderCarrier(req.Header))
	// any order: the configuration refuses names that differ only in case
	for name, value := range w.transport.CustomHeaders {
		if strings.EqualFold(name, "Host") {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
	if w.transport.BearerToken != "" {
		req.Header.Set("Authorization", "Bearer "+w.transport.BearerToken)
	}
}

// receive reads everything except a stream at once. The SDK is then never in the middle of an answer when a call is
// cancelled, which would end the session with all its other calls. The response answers the JSON-RPC request with that id, if any.
func (w *web) receive(resp *http.Response, id any, receipt *receipt, release context.CancelFunc) error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "text/event-stream" && resp.StatusCode < 300 {
		only := id
		if resp.Request.Method == http.MethodGet && w.transport.Type == HTTP {
			only = receipt.request().id // whose stream is resumed
		}
		resp.Body = newStream(activityBody{resp.Body, w.onActivity}, streamOptions{
			limit: w.limit, read: func(message []byte) [][]byte { return w.responses.readMarked(message, only, receipt.mark) },
			bare: w.transport.Type == HTTP, broken: w.breaker(receipt), release: release,
			last: func() []byte {
				if stray := w.responses.stray(only); stray != "" {
					return w.responses.refuse(only, faulty(noAnswer, resp, kind)+": "+stray)
				}
				return nil
			},
		})
		return nil
	}
	defer release()
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(w.limit)+1))
	body = sse.Unmarked(body)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errCut, err)
	case len(body) > w.limit:
		return fmt.Errorf("%w: more than %d bytes", errTooLarge, w.limit)
	case resp.StatusCode >= 400:
		err := w.refused(resp, body)
		if resp.Request.Method == http.MethodPost {
			return err // the SDK would end the session, with all its other calls
		}
		receipt.note(err)
	case resp.StatusCode >= 300:
		receipt.note(w.refused(resp, body)) // unless the redirect is followed
	case id != nil && w.transport.Type == HTTP:
		body = w.answered(resp, kind, body, id)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// answered returns the answer to a request as a stream for the SDK, which would end the session, with all its other calls, if it
// were not JSON-RPC. A batch can contain more than the answer.
func (w *web) answered(resp *http.Response, kind string, body []byte, id any) (stream []byte) {
	messages := w.responses.read(body, id)
	if len(messages) == 0 || w.responses.awaits(id) {
		messages = append(messages, w.responses.refuse(id, noMessage(resp, kind, body)))
	}
	resp.StatusCode = http.StatusOK
	resp.Header.Set("Content-Type", "text/event-stream")
	for _, message := range messages {
		stream = fmt.Appendf(stream, "data: %s\n\n", message)
	}
	return stream
}

const noAnswer = "it does not answer the request"

// faulty says what is wrong with a server's response, with its status and content type.
func faulty(what string, resp *http.Response, kind string) string {
	status := ""
	if resp.StatusCode != http.StatusOK {
		status = fmt.Sprintf("status %d, ", resp.StatusCode)
	}
	return fmt.Sprintf("%s (%scontent type %q)", what, status, kind)
}

// noMessage says what a server answered that is not JSON-RPC.
func noMessage(resp *http.Response, kind string, body []byte) string {
	what := noAnswer
	if !json.Valid(body) {
		what = "it is not valid JSON"
	}
	what = faulty(what, resp, kind)
	text := quote(body)
	if page := strings.HasPrefix(text, "<"); page {
		text = title(text)
	}
	if text != "" {
		what += ": " + text
	}
	return what
}

var titles = regexp.MustCompile(`(?is)<(?:title|h1)[^>]*>([^<]*)<`)

// title returns the title of a web page in quotation marks, or an empty string if it has none.
func title(page string) string {
	found := titles.FindStringSubmatch(page)
	if found == nil {
		return ""
	}
	return strconv.Quote(html.UnescapeString(strings.TrimSpace(found[1])))
}

// breaker returns the function to call when a stream breaks: it informs the call whose answer the stream is or, with
// SSE, which has one stream for everything, the session.
func (w *web) breaker(receipt *receipt) func(error) {
	if w.transport.Type == SSE {
		return w.fail
	}
	return func(err error) {
		receipt.note(err)
		if errors.Is(err, errTooLarge) {
			receipt.giveUp(err) // otherwise the SDK would request the same answer again
		}
	}
}

// checkRedirect follows a redirect only if the method stays the same, the new address is another path of the same
// server, and the request may be sent twice: the redirecting server may have acted on it.
func (w *web) checkRedirect(req *http.Request, via []*http.Request) error {
	var err error
	receipt := receiptIn(req.Context())
	switch to := origin(req.URL); {
	case receipt.once:
		err = fmt.Errorf("it answered %s, but a call that must not be sent twice is not redirected", req.Response.Status)
		receipt.note(err)
		return err
	case to != w.origin:
		err = fmt.Errorf("%w: it redirects to another origin, %s; if that is correct, set it as the url", errUnreachable, to)
	case req.Method != via[0].Method:
		err = fmt.Errorf("%w: its redirect changes the HTTP method; it must use status 307 or 308", errUnreachable)
	case len(via) > 5:
		err = fmt.Errorf("%w: it redirects too many times", errUnreachable)
	}
	if err != nil {
		receipt.note(err)
		return err
	}
	if via[0].URL.String() == w.transport.URL && w.transport.Type == HTTP && req.Method == http.MethodPost {
		w.moved.Store(req.URL)
	}
	return nil
}

// grace is the time for final requests when everything is being stopped. farewellTimeout applies otherwise.
const (
	grace           = time.Second
	farewellTimeout = 10 * time.Second
)

// bounded ends a request shortly after everything is stopped. Calls have ended by then, so this is for their
// cancellation notices.
func (w *web) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-w.stopped:
			defer time.AfterFunc(grace, cancel).Stop()
			<-ctx.Done()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// farewell is for the requests that end a session.
func (w *web) farewell(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, farewellTimeout)
	ctx, release := w.bounded(ctx)
	return ctx, func() {
		release()
		cancel()
	}
}
