package mask

import (
	"slices"
	"strings"
)

// secretsInBlocks masks the data of Secrets that are structured by indentation: YAML, even between other lines, and fragments of
// JSON on many lines. It uses only columns, so a document need not be complete or valid.
func secretsInBlocks(text string) string {
	s := blockScanner{text: text}
	for from := 0; from < len(text); {
		l := lineAt(text, from)
		s.line(l)
		from = l.next
	}
	s.closeTo(-1, len(text))
	out := rewrite{text: text}
	for _, data := range outermost(text, s.found) {
		maskBlock(&out, data)
	}
	return out.String()
}

// blockScanner finds the lines of data in one pass.
type blockScanner struct {
	judged
	text       string
	open       []mapping // in order of rising columns
	incomplete []int     // indexes in open of mappings whose data has not ended
}

// mapping is an open mapping.
type mapping struct {
	manifest
	column int
	data   int  // start of the line with data; -1 means that data has ended
	empty  bool // nothing follows data yet
	flat   bool // the entries of data are below it without indentation
	scalar bool // the last key has its value on its line
}

func (s *blockScanner) line(l line) {
	switch {
	case l.blank():
	case l.separator():
		s.closeTo(-1, l.start)
	case !l.isKey:
		if !l.continues() {
			s.endData(l.first, l.start)
		}
	default:
		s.key(l)
	}
}

// key records a line with a key.
func (s *blockScanner) key(l line) {
	s.closeTo(l.column, l.start)
	if l.dash {
		s.closeTo(l.first, l.start)
	}
	m := s.mapping(l)
	if m.data >= 0 && l.column > m.column {
		return
	}
	if m.data >= 0 && (m.empty || m.flat) && !slices.Contains(topKeys, l.key) {
		m.flat = true
		return
	}
	s.endData(m.column, l.start)
	if l.key == "apiVersion" && m.apiVersion != "" && m.kind != "" { // the next object, without a separator
		s.judge(&m.manifest)
		m.manifest = manifest{pending: len(s.pending)}
	}
	value := s.text[l.value:l.end]
	m.set(l.key, value)
	m.scalar = value != "" && !strings.ContainsAny(value[:1], "|>{[&!#")
	if isData(l.key) {
		m.data, m.flat, m.empty = l.start, false, value == ""
		s.incomplete = append(s.incomplete, len(s.open)-1)
	}
}

// topKeys are the keys of Kubernetes objects that appear beside data.
var topKeys = []string{"apiVersion", "kind", "metadata", "type", "immutable", "data", "stringData", "binaryData", "spec", "status", "items"}

// mapping returns the mapping that a key belongs to, possibly a new one. In a malformed document, a key may be indented below a key
// with a value. Then both belong to the same mapping.
func (s *blockScanner) mapping(l line) *mapping {
	if last := len(s.open) - 1; last >= 0 {
		m := &s.open[last]
		m.empty = m.empty && l.column <= m.column
		if m.column == l.column || m.scalar && m.data < 0 && !l.dash {
			return m
		}
	}
	s.open = append(s.open, mapping{column: l.column, data: -1, manifest: manifest{pending: len(s.pending)}})
	return &s.open[len(s.open)-1]
}

// closeTo ends the mappings to the right of a column.
func (s *blockScanner) closeTo(column, at int) {
	for len(s.open) > 0 {
		m := &s.open[len(s.open)-1]
		if m.column <= column {
			return
		}
		s.endData(m.column, at)
		s.judge(&m.manifest)
		s.open = s.open[:len(s.open)-1]
	}
}

// endData ends the data of the mappings at a column or to the right of it.
func (s *blockScanner) endData(column, at int) {
	for len(s.incomplete) > 0 {
		m := &s.open[s.incomplete[len(s.incomplete)-1]]
		if m.column < column {
			return
		}
		s.pending = append(s.pending, span{m.data, at})
		m.data = -1
		s.incomplete = s.incomplete[:len(s.incomplete)-1]
	}
}

// maskBlock masks the lines of data: the keys stay, each with a marker, and continuation lines are removed.
func maskBlock(out *rewrite, data span) {
	head := lineAt(out.text, data.start)
	value := out.text[head.value:head.end]
	if value != "" && (value[0] == '{' || value[0] == '[') && markerAt(value, 0) < 0 {
		maskFlow(out, span{head.value, data.end})
		return
	}
	b := blockMasker{rewrite: out, column: -1}
	if b.value(head); value != "" && markerAt(value, 0) < 0 {
		b.column = 0 // all following lines continue it
	}
	for from := head.next; from < data.end; {
		l := lineAt(out.text, from)
		b.line(l)
		from = l.next
	}
}

type blockMasker struct {
	*rewrite
	column int  // of the keys; -1 before the first key
	bare   span // text after the last key that is not a value; zero if it is one
}

func (b *blockMasker) line(l line) {
	if l.text == "" || l.closes() {
		return
	}
	if l.isKey && !l.dash && (b.column < 0 || l.column <= b.column) {
		b.column = l.column
		b.value(l)
		return
	}
	if b.bare != (span{}) && l.text[l.first] != '#' {
		b.replace(b.bare.start, b.bare.end, " "+kubernetesSecret.marker())
		b.bare = span{}
	}
	b.replace(l.start, l.next, "")
}

// value masks the text after a key on its line.
func (b *blockMasker) value(l line) {
	text := b.text[l.value:l.end]
	b.bare = span{}
	quote := ""
	if text != "" && (text[0] == '"' || text[0] == '\'') {
		quote = text[:1]
	}
	inner := strings.Trim(text, `"', `)
	switch {
	case text == "":
		b.bare = span{l.afterKey, l.end}
	case inner == "" || inner == "null" || inner == "~" || isMarker(inner):
	default:
		b.replace(l.afterKey, l.end, " "+quote+kubernetesSecret.marker()+quote)
	}
}
