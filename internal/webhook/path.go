package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A path is a place in JSON: keys after dots, and numbers or quoted keys in brackets, as in labels.team, items[0].id and
// labels["a.b"]. One that begins with $ starts at the whole body, every other one at the alert.
type path struct {
	whole bool
	steps []any // string or int
}

// pathStep is a step after the first, or the first.
var pathStep = regexp.MustCompile(`^(?:\.?([A-Za-z0-9_@/-]+)|\[([0-9]{1,6})\]|\[("(?:[^"\\]|\\.)*")\])`)

var errPath = errors.New(`not a path: give keys with dots between them, [0] for a place in a list, ["a.b"] for other keys, ` +
	`and $ in front for the whole body`)

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
			n, _ := strconv.Atoi(found[2]) // the pattern has checked it
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

// in is what is at the path; nil = nothing is.
func (p path) in(body, alert any) any {
	at := alert
	if p.whole {
		at = body
	}
	for _, step := range p.steps {
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

// decode reads one JSON value, with its numbers as they are written.
func decode(body []byte) (value any, err error) {
	from := json.NewDecoder(bytes.NewReader(body))
	from.UseNumber()
	if err := from.Decode(&value); err != nil {
		return nil, fmt.Errorf("the body is not JSON: %w", err)
	}
	if from.More() {
		return nil, errors.New("the body holds more than one JSON value")
	}
	return value, nil
}

// encode writes a value that decode has read.
func encode(value any) []byte {
	var text bytes.Buffer
	to := json.NewEncoder(&text)
	to.SetEscapeHTML(false)
	_ = to.Encode(value) // it was JSON
	return bytes.TrimSpace(text.Bytes())
}

// text is a value in words; "" = there is none.
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
