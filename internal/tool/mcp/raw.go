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
	"strconv"
	"strings"
	"sync"
)

// raws keeps results in the server's own form while their calls wait. The SDK decodes results into any, which rounds
// integers above 2^53, and refuses a result with an unknown content type. It therefore gets empty results that name the
// kept ones, which the session decodes itself. It is safe for concurrent use.
type raws struct {
	mu      sync.Mutex
	waiting int // requests
	next    int
	kept    map[string]json.RawMessage
}

// rawKey is the key in an empty result's _meta that names the kept one.
const rawKey = "inquest/raw"

// wait counts a request until done is called. Results that no request takes are dropped with the last one.
func (r *raws) wait() (done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting++
	if r.kept == nil {
		r.kept = map[string]json.RawMessage{}
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.waiting--; r.waiting == 0 {
			clear(r.kept)
		}
	}
}

// keep takes the result out of a JSON-RPC response and returns the response with an empty one. Any other message is
// returned unchanged, including the answer to initialize, which is not a counted request.
func (r *raws) keep(message []byte) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting == 0 || !bytes.Contains(message, []byte(`"result"`)) {
		return message
	}
	var response struct{ ID, Method, Result json.RawMessage }
	if json.Unmarshal(message, &response) != nil || response.Method != nil || !bytes.HasPrefix(response.Result, []byte("{")) {
		return message
	}
	key := strconv.Itoa(r.next)
	r.next++
	r.kept[key] = response.Result
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"content":[],"tools":[],"_meta":{%q:%q}}}`, response.ID, rawKey, key)
}

// take returns the result that an empty one's _meta names. A result that was not kept, such as null, is empty.
func (r *raws) take(meta map[string]any) json.RawMessage {
	key, _ := meta[rawKey].(string)
	r.mu.Lock()
	defer r.mu.Unlock()
	raw, ok := r.kept[key]
	if !ok {
		return json.RawMessage("{}")
	}
	delete(r.kept, key)
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
