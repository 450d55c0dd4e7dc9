package mcp

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// web is a wire over HTTP. The SDK implements the protocol. web works on the requests below it (RoundTrip), because the
// SDK's connections have more methods than their interface and cannot be wrapped.
type web struct {
	transport  Transport
	sdk        mcp.Transport
	origin     string // scheme and host of the server
	base       *http.Transport
	secrets    secrets
	limit      int // bytes of one message
	stopped    <-chan struct{}
	responses  answers
	onActivity func()                  // called when the server has sent something
	moved      atomic.Pointer[url.URL] // where the server redirects requests to its endpoint; nil if it does not
	stateful   atomic.Bool             // the server has named a session

	ending
}

func (w *web) answers() *answers { return &w.responses }

func newWeb(t Transport, secrets secrets, stopped <-chan struct{}, onActivity func(), opts Options) (*web, error) {
	u, err := url.Parse(t.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("its url must begin with http:// or https://, followed by a host") // without the URL, which may hold a secret
	}
	w := &web{
		transport: t, origin: origin(u), base: newBase(t), secrets: secrets, limit: opts.MessageLimit, stopped: stopped,
		onActivity: onActivity, responses: answers{shared: t.Type == SSE}, ending: newEnding(),
	}
	client := &http.Client{Transport: w, CheckRedirect: w.checkRedirect}
	const ownLimit = -1 // messages are limited below the SDK, where their owner is known
	if t.Type == SSE {
		w.sdk = &mcp.SSEClientTransport{Endpoint: t.URL, HTTPClient: client, MaxEventSize: ownLimit}
		return w, nil
	}
	w.sdk = &mcp.StreamableClientTransport{
		Endpoint: t.URL, HTTPClient: client, MaxEventSize: ownLimit,
		// The listening stream is only of use for questions to people. Every List asks the server, so a notice that the
		// list has changed is not needed.
		DisableStandaloneSSE: !opts.Elicit,
	}
	return w, nil
}

// newBase returns a transport like http.DefaultTransport, including the proxy of the environment, but never reuses a
// connection. If the server closes a connection just as a request is sent on it, it is unknown whether the request was
// processed, and a handshake is cheap compared with a model's turn.
func newBase(t Transport) *http.Transport {
	return &http.Transport{
		DisableKeepAlives:     true,
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		TLSClientConfig:       &tls.Config{InsecureSkipVerify: t.VerifySSL != nil && !*t.VerifySSL},
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}

func origin(u *url.URL) string { return strings.ToLower(u.Scheme + "://" + u.Host) }

// Connect makes web a transport of the SDK.
func (w *web) Connect(ctx context.Context) (mcp.Connection, error) { return w.sdk.Connect(ctx) }

func (w *web) lastWords() string { return "" }

func (w *web) remembered() bool { return w.stateful.Load() }

// cancel posts the notice in the same way as the request.
func (w *web) cancel(ctx context.Context, request sentRequest) {
	ctx, cancel := w.farewell(ctx)
	defer cancel()
	if request.http == nil || request.id == nil {
		return
	}
	notice, err := jsonrpc.EncodeMessage(cancellation(request.id))
	if err != nil {
		return
	}
	w.responses.noticed()
	out := request.http.Clone(ctx)
	out.Body, out.GetBody, out.ContentLength = io.NopCloser(bytes.NewReader(notice)), nil, int64(len(notice))
	if resp, err := w.base.RoundTrip(out); err == nil {
		resp.Body.Close()
	}
}

func (w *web) release() {} // no connection outlives its request

// cleanup informs the server that an execution no longer needs its session.
func (w *web) cleanup(ctx context.Context) error {
	ctx, cancel := w.farewell(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, w.transport.SessionCleanupURL, nil)
	if err != nil {
		return errors.New("its session_cleanup_url is not a valid URL")
	}
	if origin(req.URL) == w.origin {
		w.dress(req) // another host gets only the session id
	}
	resp, err := (&http.Client{Transport: w.base, CheckRedirect: noRedirect}).Do(req)
	if err != nil {
		return withoutURL(err)
	}
	resp.Body.Close()
	if resp.StatusCode >= 300 && resp.StatusCode != http.StatusNotFound && resp.StatusCode != http.StatusGone {
		return fmt.Errorf("the response was %s", resp.Status)
	}
	return nil
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// withoutURL removes a request's URL, which may hold a secret, from an error.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
