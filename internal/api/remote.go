package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/virtual"
)

// remoteTimeout is the time limit for operations that are not streams. It is longer than the server's own limit.
const remoteTimeout = callTimeout + 5*time.Second

// Remote uses a system through the HTTP API of its workers, as client.Client does through Temporal and the store, and returns the same
// errors. It is safe for concurrent use.
type Remote struct {
	// Tell receives messages for people: that the API does not answer, and that it answers again. Nil means no messages.
	// Set it before the first call.
	Tell func(text string)

	url, token string
	http       *http.Client
	wrong      error // the address is wrong
	mu         sync.Mutex
	lost       bool // people were told that the API does not answer
}

// Size limits of an answer and of a line in a stream, in bytes. Ours stay below them, and they fit into memory.
const (
	maxAnswer = 256 << 20
	maxEvent  = 64 << 20
)

// NewRemote returns a client for the API at an address, with or without /api/v1 at the end. With a token, the address must be https://
// or on this host, unless insecure allows others to read it. The first call reports a wrong address.
func NewRemote(address, token string, insecure bool) *Remote {
	r := &Remote{url: strings.TrimSuffix(strings.TrimRight(address, "/"), base), token: strings.TrimSpace(token), http: &http.Client{
		// A redirect would send the token and the posted data elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		r.wrong = &client.InputError{Err: errors.New("the address of the API is https://HOST or https://HOST/PATH, and nothing more")}
	case u.Scheme == "http" && token != "" && !insecure && !command.Loopback(net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "80"))):
		r.wrong = &client.InputError{Err: fmt.Errorf("%s is not https://: whoever is in between could read the token", address)}
	}
	return r
}

// Close closes idle connections.
func (r *Remote) Close() error {
	r.http.CloseIdleConnections()
	return nil
}

// call runs an operation; a nil in means no request body.
func call[Out any](ctx context.Context, r *Remote, method, path string, in any) (out Out, err error) {
	return callWithin[Out](ctx, r, remoteTimeout, method, path, in, nil)
}

func callWithin[Out any](
	ctx context.Context, r *Remote, within time.Duration, method, path string, in any, header http.Header,
) (out Out, err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	raw, isRaw := any(&out).(*[]byte)
	if isRaw {
		header = http.Header{"Accept": {"application/octet-stream"}}
	}
	response, err := r.do(ctx, method, path, in, header)
	if err != nil {
		return out, err
	}
	defer response.Body.Close()
	limited := &io.LimitedReader{R: response.Body, N: maxAnswer}
	if isRaw {
		*raw, err = io.ReadAll(limited)
	} else {
		err = json.NewDecoder(limited).Decode(&out)
	}
	if limited.N == 0 {
		err = fmt.Errorf("it has more than %d MB", maxAnswer>>20)
	}
	answer, checked := any(out).(interface{ ours() bool })
	switch {
	case errors.As(err, new(net.Error)) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		err = r.doubted(method, &AwayError{r.url, err})
	case err != nil:
		err = fmt.Errorf("read what %s answers: %w", r.url, err)
	case checked && !answer.ours():
		err = r.foreign(response)
	}
	return out, err
}

// The API always sets these fields. An answer without them comes from some other program at the address that sends JSON.
func (p page[T]) ours() bool { return p.Items != nil }
func (s started) ours() bool { return s.ID != "" }
func (n named) ours() bool   { return n.ID != "" }
func (w whole) ours() bool   { return w.Investigation.ID != "" }
func (s spoken) ours() bool  { return s.Thread != "" }
func (t talk) ours() bool    { return t.ID != "" }

// do sends a request. The Accept header names the expected type, JSON by default. The caller closes the response body.
func (r *Remote) do(ctx context.Context, method, path string, in any, header http.Header) (*http.Response, error) {
	if r.wrong != nil {
		return nil, r.wrong
	}
	if at, _, _ := strings.Cut(path, "?"); strings.Contains(at+"/", "/./") || strings.Contains(at+"/", "/../") { // HTTP would resolve these
		return nil, &toldError{kind: record.ErrNotFound, text: "nothing is called . or ..", status: http.StatusNotFound}
	}
	var content io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, r.url+path, content)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		request.Header[name] = values
	}
	wanted := cmp.Or(header.Get("Accept"), "application/json")
	request.Header.Set("Accept", wanted)
	if in != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if r.token != "" {
		request.Header.Set("Authorization", "Bearer "+r.token)
	}
	connected := false
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }}
	response, err := r.http.Do(request.WithContext(httptrace.WithClientTrace(ctx, trace)))
	switch {
	case err != nil && !connected:
		return nil, &AwayError{r.url, err}
	case err != nil:
		return nil, r.doubted(method, &AwayError{r.url, err})
	case response.StatusCode >= http.StatusMultipleChoices:
		err = r.doubted(method, r.problem(response))
	case kindOf(response) != wanted:
		err = r.foreign(response)
	default:
		return response, nil
	}
	_ = response.Body.Close()
	return nil, err
}

// kindOf returns the media type of a response.
func kindOf(response *http.Response) string {
	kind, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// doubtError means that the request may have taken effect.
type doubtError struct{ error }

func (e doubtError) Error() string {
	return e.error.Error() + " (it may have been done: look before you repeat it)"
}
func (e doubtError) Unwrap() error { return e.error }

// doubted wraps the error of a request that was sent, if the request may have taken effect.
func (r *Remote) doubted(method string, err error) error {
	told, ok := errors.AsType[*toldError](err)
	late := ok && told.kind == nil && (told.status == http.StatusBadGateway || told.status == http.StatusGatewayTimeout)
	if method == http.MethodGet || !late && !errors.As(err, new(*AwayError)) {
		return err
	}
	return doubtError{err}
}

// foreign is the error for a response that does not come from the API.
func (r *Remote) foreign(response *http.Response) *toldError {
	text := fmt.Sprintf("%s answers %s (%s), and not as Inquest's API does", r.url, response.Status, cmp.Or(kindOf(response), "no content"))
	return &toldError{text: text, status: response.StatusCode, after: retryIn(response.Header)}
}

// AwayError means that the API does not answer.
type AwayError struct {
	URL string
	Err error
}

func (e *AwayError) Error() string {
	err := e.Err
	if of, ok := errors.AsType[*url.Error](err); ok { // it repeats the address
		err = of.Err
	}
	return fmt.Sprintf("the API at %s does not answer: %v", e.URL, err)
}
func (e *AwayError) Unwrap() error { return e.Err }

// toldError is an error reported by the API, with the kind that it has there.
type toldError struct {
	kind   error // nil means no known kind
	text   string
	status int
	after  time.Duration // from Retry-After; zero means none
}

func (e *toldError) Error() string { return e.text }
func (e *toldError) Unwrap() error { return e.kind }

// problem returns the error for a problem response.
func (r *Remote) problem(response *http.Response) error {
	var p huma.ErrorModel
	if kindOf(response) != "application/problem+json" || json.NewDecoder(io.LimitReader(response.Body, maxBody)).Decode(&p) != nil {
		return r.foreign(response)
	}
	var lines []string
	for _, one := range p.Errors {
		lines = append(lines, one.Message)
	}
	said := strings.Join(append([]string{cmp.Or(p.Detail, p.Title, response.Status)}, lines...), "\n  ")
	told := &toldError{text: said, status: response.StatusCode, after: retryIn(response.Header)}
	name := strings.TrimPrefix(p.Type, problemType)
	for _, k := range kinds {
		if k.name != "" && k.name == name {
			told.kind = k.kind
		}
	}
	if refused, is := strings.CutPrefix(name, refusedCall); is {
		return &tool.Refusal{Type: refused, Message: p.Detail}
	}
	switch status := response.StatusCode; {
	case status == http.StatusUnauthorized && r.token == "":
		told.text = r.url + " asks who you are: put a token into INQUEST_TOKEN"
	case status == http.StatusUnauthorized:
		told.text = "the token of INQUEST_TOKEN is not one that " + r.url + " knows"
	case status == http.StatusForbidden:
		told.text = "the token of INQUEST_TOKEN may not do it: " + told.text
	case status == http.StatusNotFound:
		told.kind = record.ErrNotFound
	case status == http.StatusBadRequest && len(lines) > 0 && p.Detail == wrongDefinition:
		return virtual.Problems(lines)
	case told.kind == nil && slices.Contains([]int{http.StatusBadRequest, http.StatusUnprocessableEntity}, status):
		return &client.InputError{Err: told}
	}
	return told
}

// of runs an operation on an investigation or on another thing with an ID. It words errors as the client package does.
func of[Out any](ctx context.Context, r *Remote, method, thing, id, path string, in any) (Out, error) {
	out, err := call[Out](ctx, r, method, base+"/"+thing+"/"+url.PathEscape(id)+path, in)
	var told *toldError
	if !errors.As(err, &told) {
		return out, err
	}
	switch told.kind {
	case record.ErrNotFound:
		err = fmt.Errorf("%s: %w, or not for this token", id, record.ErrNotFound)
	case client.ErrRefused:
		_, reason, _ := strings.Cut(told.text, client.ErrRefused.Error()+": ")
		err = &client.UpdateError{Handle: client.HandleOf(id, true), Kind: client.ErrRefused, Err: errors.New(cmp.Or(reason, told.text))}
	case client.ErrTooLate, client.ErrPending, client.ErrNotTaken:
		if _, reason, refused := strings.Cut(told.text, client.ErrRefused.Error()+": "); refused && told.kind == client.ErrTooLate {
			return out, &client.UpdateError{
				Handle: client.HandleOf(id, true), Kind: client.ErrRefused, Err: &client.LateError{Reason: reason},
			}
		}
		err = &client.UpdateError{Handle: client.HandleOf(id, true), Kind: told.kind, Err: told}
	}
	return out, err
}
