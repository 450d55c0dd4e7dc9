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
	"net/url"
	"slices"
	"strings"
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
	url, token string
	http       *http.Client
	wrong      error // with the address
}

// NewRemote returns a client of the API at an address. With a token, the address has to be https:// or of this host, unless
// insecure says that others may read it; what is wrong is said by the first call.
func NewRemote(address, token string, insecure bool) *Remote {
	r := &Remote{url: strings.TrimRight(address, "/"), token: strings.TrimSpace(token), http: &http.Client{
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
	response, err := r.do(ctx, method, path, in, header)
	if err != nil {
		return out, err
	}
	defer response.Body.Close()
	if raw, ok := any(&out).(*[]byte); ok {
		*raw, err = io.ReadAll(response.Body)
	} else {
		err = json.NewDecoder(response.Body).Decode(&out)
	}
	if err != nil {
		err = fmt.Errorf("read what %s answers: %w", r.url, err)
	}
	return out, err
}

// do sends a request. The caller closes the body of an answer that is no problem.
func (r *Remote) do(ctx context.Context, method, path string, in any, header http.Header) (*http.Response, error) {
	if r.wrong != nil {
		return nil, r.wrong
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
	if in != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if r.token != "" {
		request.Header.Set("Authorization", "Bearer "+r.token)
	}
	response, err := r.http.Do(request)
	if err != nil {
		return nil, &AwayError{r.url, err}
	}
	if response.StatusCode < http.StatusMultipleChoices {
		return response, nil
	}
	defer response.Body.Close()
	return nil, r.problem(response)
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
}

func (e *toldError) Error() string { return e.text }
func (e *toldError) Unwrap() error { return e.kind }

// problem is the error of an answer that is one.
func (r *Remote) problem(response *http.Response) error {
	var p huma.ErrorModel
	kind, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";")
	if kind != "application/problem+json" || json.NewDecoder(io.LimitReader(response.Body, maxBody)).Decode(&p) != nil {
		return &toldError{nil, fmt.Sprintf("%s answers %s, and not as Inquest's API does", r.url, response.Status), response.StatusCode}
	}
	var lines []string
	for _, one := range p.Errors {
		lines = append(lines, one.Message)
	}
	told := &toldError{nil, strings.Join(append([]string{p.Detail}, lines...), "\n  "), p.Status}
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
