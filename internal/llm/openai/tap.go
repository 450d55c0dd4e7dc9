package openai

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"time"

	"github.com/inquest-dev/inquest/internal/llm"
)

// tap is between go-openai and the network for one call. go-openai drops the headers of a refused stream, including
// Retry-After, and the empty fields of a request.
type tap struct {
	client  *http.Client
	request []byte        // the request to send
	answer  io.ReadCloser // the body of a successful answer
	refused failure       // the error of an unsuccessful one
}

// Do sends a request. It returns every unsuccessful answer as an *llm.Error.
func (t *tap) Do(req *http.Request) (*http.Response, error) {
	req.ContentLength = int64(len(t.request))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(t.request)), nil }
	req.Body, _ = req.GetBody()
	resp, err := t.client.Do(req)
	if err != nil {
		return nil, &llm.Error{Kind: llm.ErrUnavailable, Message: llm.TransportText(err)}
	}
	if resp.StatusCode >= http.StatusOK && resp.StatusCode < http.StatusMultipleChoices {
		t.answer = resp.Body
		return resp, nil
	}
	body := llm.ReadRefusal(resp)
	if failed := llm.NotAModel(resp.StatusCode, body); failed != nil {
		return nil, failed
	}
	t.refused = parseFailure(body)
	failed := t.refused.error(resp.StatusCode)
	failed.RetryAfter = cmp.Or(llm.RetryAfter(resp.Header, time.Now()), failed.RetryAfter)
	return nil, failed
}
