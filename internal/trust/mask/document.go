package mask

import (
	"bytes"
	"encoding/json"
	"strings"
)

const maxDocuments = 8 // nesting depth of JSON documents inside strings

// document masks a JSON document once. All parts that need no masking stay unchanged, byte for byte.
func (j *job) document(text string, depth int) string {
	j.check()
	if j.on.any(kubernetesSecret) {
		text = secretsInFlow(text)
	}
	w := walker{job: j, rewrite: rewrite{text: text}, depth: depth}
	w.value(0, nil)
	text = w.String()
	for _, c := range j.custom { // a custom pattern may match a key together with its value
		masked := c.mask(text)
		if j.withhold && masked != text {
			return quoted(withheld)
		}
		text = masked
	}
	return text
}

// walker traverses a valid document.
type walker struct {
	*job
	rewrite
	depth int
}

// value masks the value at i. under is the name of the value, if the name marks a secret. It returns the end of the value.
func (w *walker) value(i int, under *keyName) int {
	i = w.space(i)
	switch w.text[i] {
	case '{':
		return w.object(i+1, under)
	case '[':
		return w.list(i+1, under)
	case '"':
		return w.string(i, under)
	}
	end := past(w.text, i, func(c byte) bool { return !isSpace(c) && c != ',' && c != ']' && c != '}' })
	w.scalar(i, end, under)
	return end
}

func (w *walker) space(i int) int { return past(w.text, i, isSpace) }

// object masks the members of an object. The kind of a member "value" comes from the member "name" before or after it, or from the
// key of the object: {"name": "DB_PASSWORD", "value": "x"}, {"secret": {"value": "x"}}.
func (w *walker) object(i int, named *keyName) int {
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
		w.string(i, nil)
		i = w.space(w.space(end) + 1) // the colon
		under := w.on.nameOf(name)
		if under == nil && strings.EqualFold(name, "value") {
			if under = named; under == nil {
				under = w.nameAfter(i)
			}
		}
		if n := w.nameAt(name, i); n != nil {
			named = n
		} else if under == nil && named != nil && strings.EqualFold(name, "key") && w.text[i] == '"' && long(w.text[i+1:stringEnd(w.text, i)-1]) {
			under = named
		}
		i = w.value(i, under)
	}
}

// nameAt returns the secret's name in a member "name" or "key" at i, if its value is in another member. Nil means none.
func (w *walker) nameAt(member string, i int) *keyName {
	if w.text[i] != '"' || !strings.EqualFold(member, "name") && !strings.EqualFold(member, "key") {
		return nil
	}
	return w.on.nameOf(decode(w.text[i:stringEnd(w.text, i)]))
}

// nameAfter returns the secret's name in the member after the string at i, if any.
func (w *walker) nameAfter(i int) *keyName {
	if w.text[i] != '"' {
		return nil
	}
	if i = w.space(stringEnd(w.text, i)); w.text[i] != ',' {
		return nil
	}
	i = w.space(i + 1)
	end := stringEnd(w.text, i)
	return w.nameAt(decode(w.text[i:end]), w.space(w.space(end)+1))
}

// list masks the elements of a list. An element after a command's option is its value: ["--password", "x"].
func (w *walker) list(i int, under *keyName) int {
	var option *keyName
	for {
		i = w.space(i)
		switch w.text[i] {
		case ']':
			return i + 1
		case ',':
			i++
			continue
		}
		n := under
		if n == nil {
			n = option
		}
		option = nil
		if strings.HasPrefix(w.text[i:], `"-`) {
			name := decode(w.text[i:stringEnd(w.text, i)])
			option = w.on.nameOf(strings.TrimLeft(name, "-"))
			n = under
		}
		i = w.value(i, n)
	}
}

// string masks the string at i and returns its end.
func (w *walker) string(i int, under *keyName) int {
	end := stringEnd(w.text, i)
	text := decode(w.text[i:end])
	masked := text
	switch plain := scheme(text); {
	case under != nil && isPlaceholder(text[len(plain):]):
	case under != nil && under.takes(text[len(plain):]):
		masked = plain + under.kind.marker()
	case w.depth < maxDocuments:
		masked = w.nested(text, w.depth+1)
	default:
		masked = w.plain(text)
	}
	if masked != text {
		w.replace(i, end, quoted(masked))
	}
	return end
}

// scalar masks a number, which becomes a string.
func (w *walker) scalar(i, end int, under *keyName) {
	text := w.text[i:end]
	masked := text
	if under != nil && !isPlaceholder(text) && under.takes(text) {
		masked = under.kind.marker()
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

// stringEnd returns the end of the string that begins at i.
func stringEnd(text string, i int) int {
	for i++; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// decode returns the text of a JSON string.
func decode(literal string) (text string) {
	if !strings.Contains(literal, `\`) {
		return literal[1 : len(literal)-1]
	}
	if json.Unmarshal([]byte(literal), &text) != nil {
		return literal // cannot happen: it is part of a valid document
	}
	return text
}

// quoted returns a text as a JSON string.
func quoted(text string) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(text) != nil { // cannot fail for a string
		return `""`
	}
	return strings.TrimSuffix(out.String(), "\n")
}
