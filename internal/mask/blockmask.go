package mask

import "strings"

// maskBlock masks the lines of data: the keys stay, each with a marker; what
// continues their values goes.
func maskBlock(out *rewrite, data span) {
	head := lineAt(out.text, data.start)
	value := out.text[head.value:head.end]
	if value != "" && (value[0] == '{' || value[0] == '[') && markerAt(value, 0) < 0 {
		maskFlow(out, span{head.value, data.end})
		return
	}
	b := blockMasker{rewrite: out, column: -1}
	if b.value(head); value != "" && markerAt(value, 0) < 0 {
		b.column = 0 // all that follows continues it
	}
	for from := head.next; from < data.end; {
		l := lineAt(out.text, from)
		b.line(l)
		from = l.next
	}
}

type blockMasker struct {
	*rewrite
	column int  // of the keys; -1 = none has come
	bare   span // what stands behind the last key, if that is no value; zero = it is one
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

// value masks what stands behind a key on its line.
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
