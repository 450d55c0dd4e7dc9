package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strings"
	"sync"
)

// raws keeps results in the server's own form until their requests take them. The SDK decodes results into any, which
// rounds integers above 2^53, and refuses a result with an unknown content type. It therefore gets empty results that name
// the kept ones, which the session decodes itself. It is safe for concurrent use.
type raws struct {
	mu   sync.Mutex
	kept map[string]json.RawMessage // by the request's id, see idKey; nil until the answer arrives
}

// rawKey is the key in an empty result's _meta that names the kept one.
const rawKey = "inquest/raw"

// idKey writes the id of a request, or of its answer, in one form. A server may write 4 as 4.0.
func idKey(id any) string {
	text, err := json.Marshal(id)
	if err != nil || len(text) > 0 && text[0] == '"' {
		return string(text)
	}
	return canonical(string(text))
}

// expect keeps the result of a request that is about to be sent. It may be sent again.
func (r *raws) expect(id any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == nil {
		r.kept = map[string]json.RawMessage{}
	}
	r.kept[idKey(id)] = nil
}

// forget drops the result of a request, even if it arrives later.
func (r *raws) forget(id any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.kept, idKey(id))
}

// keep takes the result out of the JSON-RPC response to an expected request, and returns the response with an empty one.
// Any other message is returned unchanged, such as the answer to initialize or to a ping.
func (r *raws) keep(message []byte) []byte {
	if !bytes.Contains(message, []byte(`"result"`)) {
		return message
	}
	var response struct{ ID, Method, Result json.RawMessage }
	if json.Unmarshal(message, &response) != nil || response.Method != nil || !bytes.HasPrefix(response.Result, []byte("{")) {
		return message
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := idKey(response.ID)
	if kept, expected := r.kept[key]; !expected || kept != nil {
		return message
	}
	r.kept[key] = response.Result
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"content":[],"tools":[],"_meta":{%q:%q}}}`, response.ID, rawKey, key)
}

// take returns the result that an empty one's _meta names. A result that was not kept, such as null, is empty.
func (r *raws) take(meta map[string]any) json.RawMessage {
	key, _ := meta[rawKey].(string)
	r.mu.Lock()
	defer r.mu.Unlock()
	raw := r.kept[key]
	delete(r.kept, key)
	if raw == nil {
		return json.RawMessage("{}")
	}
	return raw
}

// encode is json.Marshal without HTML escapes.
func encode(value any) (json.RawMessage, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// decode keeps the digits of numbers.
func decode(data []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return value, trailing(decoder)
}

// trailing is an error if text follows the decoder's first value.
func trailing(decoder *json.Decoder) error {
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("text after the JSON value")
	}
	return nil
}

// equal reports whether two decoded values are the same JSON: 1 equals 1.0, and 9007199254740993 does not equal
// 9007199254740992.
func equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && (a == b || canonical(a.String()) == canonical(b.String()))
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	}
	return a == b
}

// canonical writes equal numbers in the same form: digits without zeros at either end, and an exponent. It does not
// expand the exponent, which may be huge.
func canonical(number string) string {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(mantissa, "-"), ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0"
	}
	power := new(big.Int)
	if exponent != "" {
		if _, ok := power.SetString(exponent, 10); !ok {
			return number
		}
	}
	significant := strings.TrimRight(digits, "0")
	power.Add(power, big.NewInt(int64(len(digits)-len(significant)-len(fraction))))
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign = "-"
	}
	return sign + significant + "e" + power.String()
}
