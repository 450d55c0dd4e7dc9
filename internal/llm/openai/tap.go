package openai

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/inquest-dev/inquest/internal/llm"
)

// maxRefusal bounds what is read of an answer that is no success.
const maxRefusal = 64 << 10

// tap sits between go-openai and the network for one call. go-openai drops the
// headers of a refused stream, and with them Retry-After.
type tap struct {
	client      *http.Client
	temperature *float32
	body        io.ReadCloser // of a successful answer
}

// Do sends a request. Whatever is not a success is an *llm.Error.
func (t *tap) Do(req *http.Request) (*http.Response, error) {
	if err := t.complete(req); err != nil {
		return nil, fmt.Errorf("complete request: %w", err)
	}
	resp, err := t.client.Do(req)
	if err != nil {
		return nil, &llm.Error{Kind: llm.ErrUnavailable, Message: transportText(err)}
	}
	if resp.StatusCode >= http.StatusOK && resp.StatusCode < http.StatusMultipleChoices {
		t.body = resp.Body
		return resp, nil
	}
	defer resp.Body.Close()
	// What did arrive says enough, and the status says most.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	failed := parseFailure(body).error(resp.StatusCode)
	failed.RetryAfter = llm.RetryAfter(resp.Header, time.Now())
	return nil, failed
}

func (t *tap) complete(req *http.Request) error {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return err
	}
	if body, err = complete(body, t.temperature); err != nil {
		return err
	}
	req.ContentLength = int64(len(body))
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return nil
}

// transportText leaves out the URL, which may hold a credential.
func transportText(err error) string {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err.Error()
	}
	return err.Error()
}
