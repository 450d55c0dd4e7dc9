package llm

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/inquest-dev/inquest/internal/kit/sse"
)

// maxRetryAfter limits the requested wait, to prevent overflow.
const maxRetryAfter = 24 * time.Hour

// StatusKind returns the kind of error for an HTTP status, or nil for a success.
func StatusKind(status int) error {
	switch {
	case status < 300:
		return nil
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return ErrAuth
	case status == http.StatusPaymentRequired:
		return ErrQuotaExhausted
	case status == http.StatusRequestTimeout, status == http.StatusConflict:
		return ErrUnavailable
	case status == http.StatusRequestEntityTooLarge:
		return ErrContextTooLong
	case status == http.StatusTooManyRequests:
		return ErrRateLimited
	case status >= 500:
		return ErrUnavailable
	}
	return ErrInvalidRequest
}

// RetryAfter returns how long a provider asks to wait: retry-after-ms, or Retry-After in seconds or as an HTTP date
// (RFC 9110, 10.2.3). Zero means that it does not say.
func RetryAfter(header http.Header, now time.Time) time.Duration {
	if wait, ok := number(header.Get("Retry-After-Ms"), time.Millisecond); ok {
		return wait
	}
	text := header.Get("Retry-After")
	if wait, ok := number(text, time.Second); ok {
		return wait
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

// TransportText returns the text of an error without its URL, which may hold a credential.
func TransportText(err error) string {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err.Error()
	}
	return err.Error()
}

// CutOff returns the error for a stream that ended before its reply was complete. partial means that part of it has
// arrived. clean is the message for a stream that ended without an error.
func CutOff(err error, partial bool, clean string) error {
	switch {
	case errors.Is(err, io.EOF):
		return &Error{Kind: ErrTruncated, Message: clean}
	case !partial:
		return &Error{Kind: ErrUnavailable, Message: TransportText(err)}
	}
	return &Error{Kind: ErrTruncated, Message: TransportText(err)}
}

// number parses a non-negative number of units; providers also send fractions.
func number(text string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0) {
		return 0, false
	}
	return time.Duration(min(n*float64(unit), float64(maxRetryAfter))), true
}

// keptConnections is how many idle connections to a provider are kept. net/http keeps two, so parallel agents would
// nearly always begin with a handshake.
const keptConnections = 100

// keptFor is how long they are kept: less than most servers and balancers do. If the other side closes a connection
// just as a request is sent, the request fails and is not retried, because it may have been paid for.
const keptFor = 30 * time.Second

// connectionBuffer is the size of both buffers of an HTTP/1.1 connection, in bytes; net/http uses 4 KB. Requests and
// answers are copied in larger blocks that bypass the buffers, and a worker has one connection for each model call in
// progress.
const connectionBuffer = 1 << 10

func keepingClient() *http.Client {
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok { // a program has replaced it
		return &http.Client{}
	}
	transport = transport.Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost, transport.IdleConnTimeout = 0, keptConnections, keptFor
	transport.ReadBufferSize, transport.WriteBufferSize = connectionBuffer, connectionBuffer
	return &http.Client{Transport: transport}
}

const (
	maxTail    = 4 << 10               // bytes
	tailWithin = 50 * time.Millisecond // it comes with the last read, or soon after
)

// CloseRead closes an answer that is no longer needed. It first reads the end if that has arrived, because net/http
// reuses a connection only after it has seen the end.
func CloseRead(body io.ReadCloser) {
	late := time.AfterFunc(tailWithin, func() { _ = body.Close() })
	_, _ = io.CopyN(io.Discard, body, maxTail)
	late.Stop()
	_ = body.Close()
}

// maxRefusal limits how much of an unsuccessful answer is read, in bytes.
const maxRefusal = 64 << 10

// ReadRefusal reads and closes an unsuccessful answer, without its byte order mark. Errors are ignored: the part that
// arrived is sufficient, and the status says most.
func ReadRefusal(resp *http.Response) []byte {
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	return sse.Unmarked(body)
}
