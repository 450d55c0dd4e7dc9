package llm

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
)

// Digits preserves the numbers of a request in Google's SDKs, which hold every number as a float64: integers above 2^53
// would lose digits. A number that a float64 cannot hold exactly becomes a string with a mark, and Restore puts the
// number back into the body that the SDK has written. A Digits belongs to one request. Its mark is random, so no text
// of the request can contain it. The zero value marks nothing.
type Digits struct{ mark string }

// EmptyText returns a text that Restore replaces with an empty one, because the SDKs omit an empty text.
func (d Digits) EmptyText() string { return d.mark }

// NewDigits returns the Digits of a request.
func NewDigits() Digits { return Digits{mark: rand.Text()} }

// Arguments decodes the arguments of a call. Text that is not a JSON object, or has numbers too large for any float64,
// is kept as a string of valid UTF-8.
func (d Digits) Arguments(text string) map[string]any {
	value, ok := d.read(text)
	args, isObject := value.(map[string]any)
	switch {
	case text == "" || ok && value == nil:
		return map[string]any{}
	case !ok || !isObject:
		return map[string]any{"arguments": strings.ToValidUTF8(text, "\uFFFD")}
	}
	return args
}

// Value decodes a JSON value, such as a schema. It returns nil for invalid JSON.
func (d Digits) Value(data json.RawMessage) any {
	value, ok := d.read(string(data))
	if !ok {
		_ = json.Unmarshal(data, &value)
	}
	return value
}

func (d Digits) read(text string) (value any, ok bool) {
	if !json.Valid([]byte(text)) {
		return nil, false
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return nil, false
	}
	return d.marked(value)
}

// marked returns a value with its numbers as float64s, and marked strings for numbers that do not fit.
func (d Digits) marked(value any) (_ any, ok bool) {
	ok = true
	switch v := value.(type) {
	case json.Number:
		number, err := v.Float64()
		if written, _ := json.Marshal(number); err != nil || d.mark == "" || string(written) == v.String() {
			return number, err == nil
		}
		return d.mark + ":" + v.String(), true
	case map[string]any:
		// any order: one failure is enough
		for field, element := range v {
			if v[field], ok = d.marked(element); !ok {
				return nil, false
			}
		}
	case []any:
		for n, element := range v {
			if v[n], ok = d.marked(element); !ok {
				return nil, false
			}
		}
	}
	return value, ok
}

// Restore puts the numbers back into the body of a request.
func (d Digits) Restore(req *http.Request) error {
	if d.mark == "" || req.Body == nil {
		return nil
	}
	body, err := io.ReadAll(req.Body)
	_ = req.Body.Close()
	if err != nil {
		return err
	}
	if bytes.Contains(body, []byte(d.mark)) {
		body = regexp.MustCompile(`"`+d.mark+`:([-+.0-9eE]+)"`).ReplaceAll(body, []byte("$1"))
		body = bytes.ReplaceAll(body, []byte(`"`+d.mark+`"`), []byte(`""`))
	}
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	req.GetBody = nil // net/http would use it to retry over a lost connection
	return nil
}
