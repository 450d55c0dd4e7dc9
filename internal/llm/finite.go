package llm

import (
	"bytes"
	"encoding/json"
	"io"
)

// finite rewrites JSON that has NaN, Infinity or -Infinity in place of a value, which Python's json.dumps writes, such as
// for a token's probability. They become null; all other text is unchanged. The zero value is ready to use.
type finite struct {
	quoted  bool   // in a string
	escaped bool   // after a backslash in a string
	word    []byte // letters outside strings that are not written yet
}

// add writes the next part of a text.
func (f *finite) add(out, part []byte) []byte {
	for _, c := range part {
		if !f.quoted && (c == '-' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z') {
			f.word = append(f.word, c)
			continue
		}
		out = append(f.flush(out), c)
		switch {
		case f.escaped:
			f.escaped = false
		case c == '\\':
			f.escaped = f.quoted
		case c == '"':
			f.quoted = !f.quoted
		}
	}
	return out
}

// flush writes the last word.
func (f *finite) flush(out []byte) []byte {
	switch string(f.word) {
	case "NaN", "Infinity", "-Infinity":
		out = append(out, "null"...)
	default:
		out = append(out, f.word...)
	}
	f.word = f.word[:0]
	return out
}

// finiteJSON returns data as JSON without such values, or unchanged if that is impossible or not needed.
func finiteJSON(data []byte) []byte {
	if !bytes.Contains(data, []byte("NaN")) && !bytes.Contains(data, []byte("Infinity")) || json.Valid(data) {
		return data
	}
	var f finite
	if out := f.flush(f.add(nil, data)); json.Valid(out) {
		return out
	}
	return data
}

// FiniteJSON returns a reader of a JSON text with null in place of NaN, Infinity and -Infinity.
func FiniteJSON(body io.Reader) io.Reader { return &finiteReader{body: body} }

type finiteReader struct {
	body  io.Reader
	text  finite
	ready []byte
	spare []byte // the memory of ready
	err   error
}

func (r *finiteReader) Read(p []byte) (int, error) {
	for len(r.ready) == 0 && r.err == nil && len(p) > 0 {
		var n int
		n, r.err = r.body.Read(p)
		r.spare = r.text.add(r.spare[:0], p[:n])
		if r.err != nil {
			r.spare = r.text.flush(r.spare)
		}
		r.ready = r.spare
	}
	n := copy(p, r.ready)
	r.ready = r.ready[n:]
	if len(r.ready) > 0 {
		return n, nil
	}
	return n, r.err
}
