package evidence

import (
	"bytes"
	"encoding/json"
	"strings"
)

// isObject reports whether a report is a JSON object as a whole, and so for programs.
func isObject(report string) bool {
	return strings.HasPrefix(strings.TrimSpace(report), "{") && decoded(report) != nil
}

// object checks the texts of a report that is JSON, and marks what fails within them. The rest stays as it is.
func (e *Evidence) object(report string) string {
	e.Claims, e.Uncited, e.uncited = nil, 0, nil
	var out strings.Builder
	done := 0
	texts(report, func(text string, from, to int) {
		if checked := e.check(text); checked != text {
			out.WriteString(report[done:from] + literal(checked))
			done = to
		}
	})
	e.findUncited()
	return out.String() + report[done:]
}

// texts calls fn with the texts of a JSON object, by what they say and where they stand. Keys are none, nor are single words,
// and what a reply names as its evidence is left out.
func texts(object string, fn func(text string, from, to int)) {
	members(object, 0, func(key, raw string, at int) {
		if key != "evidence" && key != "discoveries" && key != "items_pending" {
			textsIn(raw, at, fn)
		}
	})
}

func textsIn(raw string, base int, fn func(text string, from, to int)) {
	switch raw[0] {
	case '"':
		var text string
		if json.Unmarshal([]byte(raw), &text) == nil && strings.ContainsAny(strings.TrimSpace(text), " \n") {
			fn(text, base, base+len(raw))
		}
	case '{':
		members(raw, base, func(_, raw string, at int) { textsIn(raw, at, fn) })
	case '[':
		items(raw, base, func(raw string, at int) { textsIn(raw, at, fn) })
	}
}

func literal(text string) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // of a string
	return strings.TrimSpace(out.String())
}
