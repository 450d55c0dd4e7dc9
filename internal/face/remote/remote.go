// Package remote uses a system through the HTTP API of its workers, as internal/client does through Temporal and the store. It
// calls the operations of the API by their rows in system.Operations.
package remote

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/virtual"
)

// timeout is the time limit for operations that are not streams. It is longer than the server's own limit.
const timeout = system.CallTimeout + 5*time.Second

// Client implements the interfaces of package system, and returns the same errors as internal/client. It is safe for concurrent use.
type Client struct{ scheduler }

// scheduler is the part of a client about schedules.
type scheduler struct{ learner }

// learner is the part of a client about what investigations taught.
type learner struct{ keeper }

// keeper is the part of a client about conversations, open and closed.
type keeper struct{ transport }

// transport makes the requests of a Client.
type transport struct {
	// Tell receives messages for people: that the API is unavailable, and that it is available again. Nil means no messages.
	// Set it before the first call.
	Tell func(text string)

	// HTTP makes the requests.
	HTTP *http.Client

	url, token string
	wrong      error // the address is wrong
	mu         sync.Mutex
	lost       bool // people were told that the API is unavailable
}

// Size limits of an answer and of a line in a stream, in bytes. The API's answers stay below them.
const (
	maxAnswer = 256 << 20
	maxEvent  = 64 << 20
)

// New returns a client for the API at an address, with or without /api/v1 at the end. With a token, the address must be https://
// or on this host, unless insecure allows others to read it. The first call reports a wrong address.
func New(address, token string, insecure bool) *Client {
	base := strings.TrimSuffix(strings.TrimRight(address, "/"), system.Base)
	r := &Client{scheduler{learner{keeper{transport{url: base, token: strings.TrimSpace(token)}}}}}
	// A redirect would send the token and the posted data elsewhere.
	r.HTTP = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		r.wrong = &system.InputError{Err: errors.New("the address of the API must be https://HOST[:PORT][/PATH], without user or query")}
	case u.Scheme == "http" && token != "" && !insecure && !command.Loopback(net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "80"))):
		r.wrong = &system.InputError{Err: fmt.Errorf("%s is not https://, so others could read the token: use https://, or "+
			"allow this with --insecure", address)}
	}
	return r
}

// Close closes idle connections.
func (r *transport) Close() error {
	r.HTTP.CloseIdleConnections()
	return nil
}

// exchange sends a request and reads the answer into out, which is a pointer: to []byte for a file, else to what the JSON stands for.
func (r *transport) exchange(ctx context.Context, within time.Duration, to request, out any) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	response, err := r.send(ctx, to)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	limited := &io.LimitedReader{R: response.Body, N: maxAnswer}
	if raw, ok := out.(*[]byte); ok {
		*raw, err = io.ReadAll(limited)
	} else {
		err = json.NewDecoder(limited).Decode(out)
	}
	if limited.N == 0 {
		err = fmt.Errorf("the response is larger than %d MB", maxAnswer>>20)
	}
	answer, checked := out.(interface{ Complete() bool })
	switch {
	case errors.As(err, new(net.Error)) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return r.doubted(to.method, &AwayError{r.url, err})
	case err != nil:
		return fmt.Errorf("read the response of %s: %w", r.url, err)
	case checked && !answer.Complete():
		return r.foreign(response)
	}
	return nil
}

// send sends a request. The Accept header names the expected type, JSON by default. The caller closes the response body.
func (r *transport) send(ctx context.Context, to request) (*http.Response, error) {
	if r.wrong != nil {
		return nil, r.wrong
	}
	if at, _, _ := strings.Cut(to.path, "?"); strings.Contains(at+"/", "/./") || strings.Contains(at+"/", "/../") { // HTTP would resolve these
		return nil, &apiError{kind: record.ErrNotFound, text: `an ID or name must not be "." or ".."`, status: http.StatusNotFound}
	}
	var content io.Reader
	if to.body != nil {
		text, err := json.Marshal(to.body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, to.method, r.url+to.path, content)
	if err != nil {
		return nil, err
	}
	maps.Copy(request.Header, to.header)
	wanted := cmp.Or(to.header.Get("Accept"), "application/json")
	request.Header.Set("Accept", wanted)
	if to.body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if r.token != "" {
		request.Header.Set("Authorization", "Bearer "+r.token)
	}
	connected := false
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }}
	response, err := r.HTTP.Do(request.WithContext(httptrace.WithClientTrace(ctx, trace)))
	switch {
	case err != nil && !connected:
		return nil, &AwayError{r.url, err}
	case err != nil:
		return nil, r.doubted(to.method, &AwayError{r.url, err})
	case response.StatusCode >= http.StatusMultipleChoices:
		err = r.doubted(to.method, r.problem(response))
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
	return e.error.Error() + " (the request may have taken effect: check before you repeat it)"
}
func (e doubtError) Unwrap() error { return e.error }

// doubted wraps the error of a request that was sent, if the request may have taken effect.
func (r *transport) doubted(method string, err error) error {
	failed, ok := errors.AsType[*apiError](err)
	late := ok && failed.kind == nil && (failed.status == http.StatusBadGateway || failed.status == http.StatusGatewayTimeout)
	if method == http.MethodGet || !late && !errors.As(err, new(*AwayError)) {
		return err
	}
	return doubtError{err}
}

// foreign is the error for a response that does not come from the API.
func (r *transport) foreign(response *http.Response) *apiError {
	text := fmt.Sprintf("%s answered %s (%s), but is not Inquest's API", r.url, response.Status, cmp.Or(kindOf(response), "no content"))
	return &apiError{text: text, status: response.StatusCode, after: retryIn(response.Header)}
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
	return fmt.Sprintf("the API at %s is not responding: %v", e.URL, err)
}
func (e *AwayError) Unwrap() error { return e.Err }

// apiError is an error reported by the API, with the kind that it has there.
type apiError struct {
	kind   error // nil means no known kind
	text   string
	status int
	after  time.Duration // from Retry-After; zero means none
}

func (e *apiError) Error() string { return e.text }
func (e *apiError) Unwrap() error { return e.kind }

// problem returns the error for a problem response.
func (r *transport) problem(response *http.Response) error {
	var p struct { // RFC 9457
		Type, Title, Detail string
		Errors              []struct{ Message string }
	}
	if kindOf(response) != "application/problem+json" || json.NewDecoder(io.LimitReader(response.Body, system.MaxBody)).Decode(&p) != nil {
		return r.foreign(response)
	}
	var lines []string
	for _, one := range p.Errors {
		lines = append(lines, one.Message)
	}
	said := strings.Join(append([]string{cmp.Or(p.Detail, p.Title, response.Status)}, lines...), "\n  ")
	name := strings.TrimPrefix(p.Type, system.ProblemType)
	failed := &apiError{kind: system.ProblemOf(name), text: said, status: response.StatusCode, after: retryIn(response.Header)}
	if refused, is := strings.CutPrefix(name, system.RefusedCall); is {
		return &tool.Refusal{Type: refused, Message: p.Detail}
	}
	switch status := response.StatusCode; {
	case status == http.StatusUnauthorized && r.token == "":
		failed.text = r.url + " requires a token: set INQUEST_TOKEN"
	case status == http.StatusUnauthorized:
		failed.text = "the token in INQUEST_TOKEN is unknown to " + r.url
	case status == http.StatusForbidden:
		failed.text = "the token in INQUEST_TOKEN is not permitted to do this: " + failed.text
	case status == http.StatusNotFound:
		failed.kind = record.ErrNotFound
	case status == http.StatusBadRequest && len(lines) > 0 && p.Detail == system.WrongDefinition:
		return virtual.Problems(lines)
	case failed.kind == nil && slices.Contains([]int{http.StatusBadRequest, http.StatusUnprocessableEntity}, status):
		return &system.InputError{Err: failed}
	}
	return failed
}

// about words the error of an operation on one thing as internal/client does.
func about(id string, err error) error {
	var failed *apiError
	if !errors.As(err, &failed) {
		return err
	}
	update := &system.UpdateError{Handle: system.HandleOf(id, true), Kind: failed.kind, Err: failed}
	_, reason, refused := strings.Cut(failed.text, system.ErrRefused.Error()+": ")
	switch failed.kind {
	case record.ErrNotFound:
		return fmt.Errorf("%s: %w, or this token may not see it", id, record.ErrNotFound)
	case system.ErrRefused:
		update.Err = errors.New(cmp.Or(reason, failed.text))
		return update
	case system.ErrTooLate, system.ErrPending, system.ErrNotTaken:
		if refused && failed.kind == system.ErrTooLate {
			update.Kind, update.Err = system.ErrRefused, &system.LateError{Reason: reason}
		}
		return update
	}
	return err
}
