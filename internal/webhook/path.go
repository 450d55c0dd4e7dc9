package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// A path is a position in JSON: keys after dots, and numbers or quoted keys in brackets, as in labels.team, items[0].id and
// labels["a.b"]. A path that begins with $ starts at the whole body, any other at the alert.
type path struct {
	whole bool
	steps []any // string or int
}

// pathStep matches one step.
var pathStep = regexp.MustCompile(`^(?:\.?([A-Za-z0-9_@/-]+)|\[([0-9]{1,6})\]|\[("(?:[^"\\]|\\.)*")\])`)

var errPath = errors.New(`not a path: separate keys with dots, write [0] for a list index and ["a.b"] for any other key, ` +
	`and begin with $ for the whole body`)

func parsePath(text string) (p path, err error) {
	rest := text
	if p.whole = strings.HasPrefix(rest, "$"); p.whole {
		if rest = rest[1:]; rest != "" && rest[0] != '.' && rest[0] != '[' {
			return p, errPath
		}
	}
	for rest != "" {
		found := pathStep.FindStringSubmatch(rest)
		if found == nil || len(p.steps) > 0 && found[1] != "" && rest[0] != '.' || !p.whole && len(p.steps) == 0 && rest[0] == '.' {
			return p, errPath
		}
		switch {
		case found[1] != "":
			p.steps = append(p.steps, found[1])
		case found[2] != "":
			n, _ := strconv.Atoi(found[2]) // the pattern matches only digits
			p.steps = append(p.steps, n)
		default:
			var key string
			if json.Unmarshal([]byte(found[3]), &key) != nil {
				return p, errPath
			}
			p.steps = append(p.steps, key)
		}
		rest = rest[len(found[0]):]
	}
	if len(p.steps) == 0 && !p.whole {
		return p, errPath
	}
	return p, nil
}

// in returns the value at the path, or nil if there is none. It parses texts along the way that hold JSON, because Amazon SNS wraps
// messages in this way.
func (p path) in(body, alert any) any {
	at := alert
	if p.whole {
		at = body
	}
	for _, step := range p.steps {
		at = unwrapped(at)
		switch key := step.(type) {
		case string:
			object, _ := at.(map[string]any)
			at = object[key]
		case int:
			list, _ := at.([]any)
			if key >= len(list) {
				return nil
			}
			at = list[key]
		}
	}
	return at
}

// stuck returns the beginning of the path up to a text that is not JSON although the path continues. An empty string means that there is
// none.
func (p path) stuck(body, alert any) string {
	for n := 1; n < len(p.steps); n++ {
		begin := path{p.whole, p.steps[:n]}
		if _, ok := unwrapped(begin.in(body, alert)).(string); ok {
			return begin.String()
		}
	}
	return ""
}

// String returns the path in the syntax of the configuration.
func (p path) String() string {
	var b strings.Builder
	for _, step := range p.steps {
		switch key := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", key)
		case string:
			if pathStep.FindString(key) == key {
				b.WriteString("." + key)
			} else {
				fmt.Fprintf(&b, "[%q]", key)
			}
		}
	}
	if p.whole {
		return "$" + b.String()
	}
	return strings.TrimPrefix(b.String(), ".")
}

// unwrapped parses a text that holds a JSON object or list. It returns any other value unchanged.
func unwrapped(value any) any {
	said, ok := value.(string)
	if said = strings.TrimSpace(said); !ok || said == "" || said[0] != '{' && said[0] != '[' {
		return value
	}
	if inner, err := decode([]byte(said)); err == nil {
		return inner
	}
	return value
}

// Accepted says which bodies package delivery reads.
const Accepted = "send JSON or a form (application/x-www-form-urlencoded), as it is or with Content-Encoding: gzip, in UTF-8 or in the " +
	"charset that Content-Type declares"

// decode reads one JSON value and keeps numbers as they are written.
func decode(body []byte) (value any, err error) {
	from := json.NewDecoder(bytes.NewReader(body))
	from.UseNumber()
	if err := from.Decode(&value); err != nil {
		return nil, fmt.Errorf("the body is not JSON (%w): %s", err, Accepted)
	}
	if _, err := from.Token(); err != io.EOF {
		return nil, errors.New("the body has more than one JSON value, or text after the value")
	}
	return value, nil
}

// encode writes a value from decode.
func encode(value any) []byte {
	var text bytes.Buffer
	to := json.NewEncoder(&text)
	to.SetEscapeHTML(false)
	_ = to.Encode(value) // it was JSON
	return bytes.TrimSpace(text.Bytes())
}

// text converts a value to text. An empty string means that there is none.
func text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return strings.TrimSpace(v)
	case json.Number:
		return v.String()
	}
	return string(encode(value))
}
