package llm

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// maxRetryAfter bounds what a provider may ask for, so that no number overflows.
const maxRetryAfter = 24 * time.Hour

// StatusKind returns the kind of error that an HTTP status stands for; nil for a
// success.
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

// RetryAfter reads how long a provider asks to wait: retry-after-ms, or
// Retry-After in seconds or as an HTTP date (RFC 9110, 10.2.3). 0 = it does not say.
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

// TransportText leaves out the URL of a failure, which may hold a credential.
func TransportText(err error) string {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err.Error()
	}
	return err.Error()
}

// CutOff is what the end of a stream means before its reply was whole. heard: something of it has
// arrived. clean is what is said of a stream that has ended as if nothing were missing.
func CutOff(err error, heard bool, clean string) error {
	switch {
	case errors.Is(err, io.EOF):
		return &Error{Kind: ErrTruncated, Message: clean}
	case !heard:
		return &Error{Kind: ErrUnavailable, Message: TransportText(err)}
	}
	return &Error{Kind: ErrTruncated, Message: TransportText(err)}
}

// number reads a count of units that is not negative; providers write fractions too.
func number(text string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0) {
		return 0, false
	}
	return time.Duration(min(n*float64(unit), float64(maxRetryAfter))), true
}

// keptConnections is how many connections to a provider wait for the next call. net/http keeps
// two, so that agents side by side would nearly always begin with a handshake.
const keptConnections = 100

// keptFor is how long they wait: less than most servers and balancers do. A request on a connection
// that the other side closes at that moment fails, and is not repeated, because it may be paid for.
const keptFor = 30 * time.Second

// connectionBuffer is each of the two buffers of a connection of HTTP/1.1, in bytes; net/http has 4 KB. What requests
// and answers are copied with is larger and goes past them, and a worker has a connection for each model call under way.
const connectionBuffer = 1 << 10

func keepingClient() *http.Client {
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok { // a program has put something of its own in its place
		return &http.Client{}
	}
	transport = transport.Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost, transport.IdleConnTimeout = 0, keptConnections, keptFor
	transport.ReadBufferSize, transport.WriteBufferSize = connectionBuffer, connectionBuffer
	return &http.Client{Transport: transport}
}

const (
	maxTail    = 4 << 10               // bytes
	tailWithin = 50 * time.Millisecond // it comes with what was read last, or soon after
)

// CloseRead closes an answer of which nothing more matters. It reads the end first, if that is
// there: net/http uses a connection again only after it has been told that nothing follows.
func CloseRead(body io.ReadCloser) {
	late := time.AfterFunc(tailWithin, func() { _ = body.Close() })
	_, _ = io.CopyN(io.Discard, body, maxTail)
	late.Stop()
	_ = body.Close()
}

// maxRefusal bounds what is read of an answer that is no success, in bytes.
const maxRefusal = 64 << 10

// ReadRefusal reads and closes an answer that is no success. What did arrive says enough,
// and the status says most.
func ReadRefusal(resp *http.Response) []byte {
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	return body
}
