package mcp

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
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

// web is a wire over HTTP. The SDK speaks the protocol; we stand below it, where
// the requests are (RoundTrip): its connections cannot be wrapped, because they
// have more methods than their interface says.
type web struct {
	transport Transport
	sdk       mcp.Transport
	origin    string // scheme and host of the server
	base      *http.Transport
	secrets   secrets
	limit     int // bytes of one message
	stopped   <-chan struct{}
	raws      raws
	heard     func()                  // called when the server has sent something
	moved     atomic.Pointer[url.URL] // where the server redirects what is sent to its endpoint; nil = nowhere
	stateful  atomic.Bool             // the server has named a session

	ending
}

func (w *web) results() *raws { return &w.raws }

func newWeb(t Transport, secrets secrets, stopped <-chan struct{}, limit int, heard func()) (*web, error) {
	u, err := url.Parse(t.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("its url must begin with http:// or https:// and a host") // not the URL: it may hold a secret
	}
	w := &web{
		transport: t, origin: origin(u), base: newBase(t), secrets: secrets, limit: limit, stopped: stopped,
		heard: heard, ending: newEnding(),
	}
	client := &http.Client{Transport: w, CheckRedirect: w.checkRedirect}
	const ownLimit = -1 // messages are bounded below the SDK, where it shows whose they are
	if t.Type == SSE {
		w.sdk = &mcp.SSEClientTransport{Endpoint: t.URL, HTTPClient: client, MaxEventSize: ownLimit}
		return w, nil
	}
	w.sdk = &mcp.StreamableClientTransport{
		Endpoint: t.URL, HTTPClient: client, MaxEventSize: ownLimit,
		// Without the stream for what a server says unasked: we have no use for it
		// (every List asks the server, so a changed list needs no notice), servers
		// that do not answer it would hold up the start, and one that breaks would
		// end the session.
		DisableStandaloneSSE: true,
	}
	return w, nil
}

// newBase makes connections as http.DefaultTransport does, through the proxy
// that the environment names; but it uses none of them twice. Of a request on
// a connection that the server closes at that moment, nobody knows whether it was
// processed, and a handshake costs little beside a model's turn.
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

// cancel posts the notice as the request itself was posted.
func (w *web) cancel(ctx context.Context, request sentRequest) {
	ctx, cancel := w.farewell(ctx)
	defer cancel()
	if request.http == nil || request.http.GetBody == nil {
		return
	}
	var call struct{ ID json.RawMessage }
	if body, err := request.http.GetBody(); err != nil || json.NewDecoder(body).Decode(&call) != nil {
		return
	}
	notice, err := jsonrpc.EncodeMessage(cancellation(call.ID))
	if err != nil {
		return
	}
	out := request.http.Clone(ctx)
	out.Body, out.GetBody, out.ContentLength = io.NopCloser(bytes.NewReader(notice)), nil, int64(len(notice))
	if resp, err := w.base.RoundTrip(out); err == nil {
		resp.Body.Close()
	}
}

func (w *web) release() {} // no connection outlives its request

// cleanup tells the server's owner that an execution needs its session no more.
func (w *web) cleanup(ctx context.Context) error {
	ctx, cancel := w.farewell(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, w.transport.SessionCleanupURL, nil)
	if err != nil {
		return errors.New("its session_cleanup_url is no URL")
	}
	if origin(req.URL) == w.origin {
		w.dress(req) // another host is told of the session, and of no secret
	}
	resp, err := (&http.Client{Transport: w.base, CheckRedirect: noRedirect}).Do(req)
	if err != nil {
		return withoutURL(err)
	}
	resp.Body.Close()
	if resp.StatusCode >= 300 && resp.StatusCode != http.StatusNotFound && resp.StatusCode != http.StatusGone {
		return fmt.Errorf("the answer was %s", resp.Status)
	}
	return nil
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// withoutURL takes a request's URL, which may hold a secret, out of an error.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
