package mask

import (
	"bytes"
	"encoding/json"
	"strings"
)

const maxDocuments = 8 // documents within texts of documents

// document masks a JSON document once. Everything that is not masked stays as it
// is, byte for byte.
func (j *job) document(text string, depth int) string {
	j.check()
	if j.on.any(kubernetesSecret) {
		text = secretsInFlow(text)
	}
	w := walker{job: j, rewrite: rewrite{text: text}, depth: depth}
	w.value(0, none)
	text = w.String()
	for _, c := range j.custom { // one may be of a key and its value
		masked := c.mask(text)
		if j.withhold && masked != text {
			return quoted(withheld)
		}
		text = masked
	}
	return text
}

// walker goes through a valid document.
type walker struct {
	*job
	rewrite
	depth int
}

// value masks the value at i, which stands under a key of the kind. It returns where it ends.
func (w *walker) value(i int, under kind) int {
	i = w.space(i)
	switch w.text[i] {
	case '{':
		return w.object(i + 1)
	case '[':
		return w.list(i+1, under)
	case '"':
		return w.string(i, under)
	}
	end := i
	for end < len(w.text) && !isSpace(w.text[end]) && strings.IndexByte(",]}", w.text[end]) < 0 {
		end++
	}
	w.scalar(i, end, under)
	return end
}

func (w *walker) space(i int) int {
	for i < len(w.text) && isSpace(w.text[i]) {
		i++
	}
	return i
}

// object masks the members of an object. The value of a member "value" is of the
// kind that the member "name" before it tells: {"name": "DB_PASSWORD", "value": "x"}.
func (w *walker) object(i int) int {
	named := none
	for {
		i = w.space(i)
		switch w.text[i] {
		case '}':
			return i + 1
		case ',':
			i++
			continue
		}
		end := stringEnd(w.text, i)
		name := decode(w.text[i:end])
		w.string(i, none)
		i = w.space(w.space(end) + 1) // the colon
		under := w.on.kindOfKey(name)
		if under == none && strings.EqualFold(name, "value") {
			under = named
		}
		if w.text[i] == '"' && (strings.EqualFold(name, "name") || strings.EqualFold(name, "key")) {
			named = w.on.kindOfKey(decode(w.text[i:stringEnd(w.text, i)]))
		}
		i = w.value(i, under)
	}
}

// list masks the elements of a list. One that follows an option of a command is
// its value: ["--password", "x"].
func (w *walker) list(i int, under kind) int {
	option := none
	for {
		i = w.space(i)
		switch w.text[i] {
		case ']':
			return i + 1
		case ',':
			i++
			continue
		}
		kind := under
		if kind == none {
			kind = option
		}
		option = none
		if strings.HasPrefix(w.text[i:], `"-`) {
			name := decode(w.text[i:stringEnd(w.text, i)])
			option = w.on.kindOfKey(strings.TrimLeft(name, "-"))
			kind = under
		}
		i = w.value(i, kind)
	}
}

// string masks the string at i. It returns where it ends.
func (w *walker) string(i int, under kind) int {
	end := stringEnd(w.text, i)
	text := decode(w.text[i:end])
	masked := text
	switch plain := scheme(text); {
	case under != none && !isPlaceholder(text[len(plain):]):
		masked = plain + under.marker()
	case under == none && w.depth < maxDocuments:
		masked = w.nested(text, w.depth+1)
	case under == none:
		masked = w.plain(text)
	}
	if masked != text {
		w.replace(i, end, quoted(masked))
	}
	return end
}

// scalar masks a number, which then is a string.
func (w *walker) scalar(i, end int, under kind) {
	text := w.text[i:end]
	masked := text
	if under != none && !isPlaceholder(text) {
		masked = under.marker()
	}
	for _, c := range w.custom {
		masked = c.mask(masked)
	}
	if masked != text && w.withhold {
		masked = withheld
	}
	if masked != text {
		w.replace(i, end, quoted(masked))
	}
}

// stringEnd is where the string ends that begins at i.
func stringEnd(text string, i int) int {
	for i++; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// decode is the text of a string of JSON.
func decode(literal string) (text string) {
	if !strings.Contains(literal, `\`) {
		return literal[1 : len(literal)-1]
	}
	if json.Unmarshal([]byte(literal), &text) != nil {
		return literal // it is part of a valid document, so it can be decoded
	}
	return text
}

// quoted is a text as a string of JSON.
func quoted(text string) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(text) != nil { // a string can be encoded
		return `""`
	}
	return strings.TrimSuffix(out.String(), "\n")
}
