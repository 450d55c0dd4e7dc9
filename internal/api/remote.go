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

// remoteTimeout is how long the API may take for an operation that is no stream: longer than the operation itself may.
const remoteTimeout = callTimeout + 5*time.Second

// Remote uses a system by the HTTP API of its workers, as client.Client does by Temporal and the store, and returns the same
// errors. Its methods may be called by any number of goroutines.
type Remote struct {
	// Tell is told, in words for people, that the API is waited for, and that it answers again; nil = nobody is.
	// It is set before the first call.
	Tell func(text string)

	url, token string
	http       *http.Client
	wrong      error // with the address
	mu         sync.Mutex
	lost       bool // the API, as people were told
}

// What an answer, and a line of a stream, may be at most, in bytes: more than ours are, and less than memory.
const (
	maxAnswer = 256 << 20
	maxEvent  = 64 << 20
)

// NewRemote returns a client of the API at an address, which may end in /api/v1 or not. With a token, the address has to be
// https:// or of this host, unless insecure says that others may read it; what is wrong is said by the first call.
func NewRemote(address, token string, insecure bool) *Remote {
	r := &Remote{url: strings.TrimSuffix(strings.TrimRight(address, "/"), base), token: strings.TrimSpace(token), http: &http.Client{
		// A redirect would take the token, and what is posted, elsewhere.
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

// Close ends the connections that wait for the next call.
func (r *Remote) Close() error {
	r.http.CloseIdleConnections()
	return nil
}

// call asks for an operation; in nil = it takes no body.
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

// Of these answers, what else sends JSON from the address would leave out what ours always have.
func (p page[T]) ours() bool { return p.Items != nil }
func (s started) ours() bool { return s.ID != "" }
func (n named) ours() bool   { return n.ID != "" }
func (w whole) ours() bool   { return w.Investigation.ID != "" }
func (s spoken) ours() bool  { return s.Thread != "" }
func (t talk) ours() bool    { return t.ID != "" }

// do sends a request. The answer is of the type that header accepts, JSON if none; the caller closes its body.
func (r *Remote) do(ctx context.Context, method, path string, in any, header http.Header) (*http.Response, error) {
	if r.wrong != nil {
		return nil, r.wrong
	}
	if at, _, _ := strings.Cut(path, "?"); strings.Contains(at+"/", "/./") || strings.Contains(at+"/", "/../") { // which HTTP resolves
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

// kindOf is the media type of an answer.
func kindOf(response *http.Response) string {
	kind, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// doubtError: what was asked for may have been done.
type doubtError struct{ error }

func (e doubtError) Error() string {
	return e.error.Error() + " (it may have been done: look before you repeat it)"
}
func (e doubtError) Unwrap() error { return e.error }

// doubted is the error of a request that was sent, with the doubt whether it was done.
func (r *Remote) doubted(method string, err error) error {
	told, ok := errors.AsType[*toldError](err)
	late := ok && told.kind == nil && (told.status == http.StatusBadGateway || told.status == http.StatusGatewayTimeout)
	if method == http.MethodGet || !late && !errors.As(err, new(*AwayError)) {
		return err
	}
	return doubtError{err}
}

// foreign is the error of an answer that is not the API's.
func (r *Remote) foreign(response *http.Response) *toldError {
	text := fmt.Sprintf("%s answers %s (%s), and not as Inquest's API does", r.url, response.Status, cmp.Or(kindOf(response), "no content"))
	return &toldError{text: text, status: response.StatusCode, after: retryIn(response.Header)}
}

// AwayError: the API does not answer.
type AwayError struct {
	URL string
	Err error
}

func (e *AwayError) Error() string {
	err := e.Err
	if of, ok := errors.AsType[*url.Error](err); ok { // which names the address again
		err = of.Err
	}
	return fmt.Sprintf("the API at %s does not answer: %v", e.URL, err)
}
func (e *AwayError) Unwrap() error { return e.Err }

// toldError is an error that the API has told, of the kind that it has there.
type toldError struct {
	kind   error // nil = of none
	text   string
	status int
	after  time.Duration // when to come again, as the answer says; 0 = it does not
}

func (e *toldError) Error() string { return e.text }
func (e *toldError) Unwrap() error { return e.kind }

// problem is the error of an answer that is one.
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

// of is an operation on an investigation, or another thing with an id. What is wrong with it is said in the words of client.
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
		err = &client.UpdateError{Handle: client.HandleOf(id, true), Kind: told.kind, Err: told}
	}
	return out, err
}
