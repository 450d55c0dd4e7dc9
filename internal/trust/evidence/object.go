package evidence

import (
	"bytes"
	"encoding/json"
	"strings"
)

// isObject reports whether a whole report is a JSON object, and so for programs.
func isObject(report string) bool {
	return strings.HasPrefix(strings.TrimSpace(report), "{") && decoded(report) != nil
}

// object adds the claims in the texts of a JSON report and marks failed ones. The rest stays unchanged.
func (e *Evidence) object(report string) string {
	return rewritten(report, texts, e.check)
}

// rewritten returns a JSON object with the texts that walk finds replaced. The rest stays unchanged.
func rewritten(object string, walk func(string, func(text string, from, to int)), fn func(string) string) string {
	var out strings.Builder
	done := 0
	walk(object, func(text string, from, to int) {
		if now := fn(text); now != text {
			out.WriteString(object[done:from] + literal(now))
			done = to
		}
	})
	return out.String() + object[done:]
}

// texts calls fn with each text of a JSON object and its position. It skips keys, single words, and the evidence that a reply
// names.
func texts(object string, fn func(text string, from, to int)) {
	said := func(text string, from, to int) {
		if strings.ContainsAny(strings.TrimSpace(text), " \n") {
			fn(text, from, to)
		}
	}
	members(object, 0, func(key, raw string, at int) {
		if key != "evidence" && key != "discoveries" && key != "items_pending" {
			textsIn(raw, at, said)
		}
	})
}

func allTexts(object string, fn func(text string, from, to int)) { textsIn(object, 0, fn) }

func textsIn(raw string, base int, fn func(text string, from, to int)) {
	switch strings.TrimSpace(raw)[0] {
	case '"':
		var text string
		if json.Unmarshal([]byte(raw), &text) == nil {
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
