package llm

import (
	"bytes"
	"regexp"
)

// Halves joins characters whose two UTF-16 halves arrive in two chunks of a stream, as JSON escapes at the end of one string and at
// the beginning of another. Servers that cut their text by UTF-16 units send them (https://github.com/openclaw/openclaw/issues/115536).
// Decoding a chunk alone would replace each half with U+FFFD. The zero value is ready.
type Halves struct {
	high [][]byte // the first halves of the last chunk that ended strings with some, in order
}

var (
	highAtEnd  = regexp.MustCompile(`\\u[dD][89abAB][0-9a-fA-F]{2}"`)
	lowAtStart = regexp.MustCompile(`"\\u[dD][c-fC-F][0-9a-fA-F]{2}`)
)

// Join returns a chunk with the first halves of the previous chunks before the second halves in this one, and without those whose
// second half is still to come. A first half that is never completed is dropped: it is no character.
func (h *Halves) Join(chunk []byte) []byte {
	if len(h.high) > 0 {
		chunk = replace(chunk, lowAtStart, func(found []byte) []byte {
			if len(h.high) == 0 {
				return found
			}
			first := h.high[0]
			h.high = h.high[1:]
			return bytes.Join([][]byte{found[:1], first, found[1:]}, nil)
		})
	}
	var high [][]byte
	chunk = replace(chunk, highAtEnd, func(found []byte) []byte {
		end := len(found) - 1
		high = append(high, bytes.Clone(found[:end]))
		return found[end:]
	})
	if high != nil {
		h.high = high
	}
	return chunk
}

// replace replaces the matches whose first character is not escaped.
func replace(text []byte, pattern *regexp.Regexp, with func(found []byte) []byte) []byte {
	var out []byte
	from := 0
	for _, at := range pattern.FindAllIndex(text, -1) {
		before := text[:at[0]]
		if slashes := len(before) - len(bytes.TrimRight(before, `\`)); slashes%2 == 1 {
			continue
		}
		out = append(append(out, text[from:at[0]]...), with(text[at[0]:at[1]])...)
		from = at[1]
	}
	if from == 0 {
		return text
	}
	return append(out, text[from:]...)
}
