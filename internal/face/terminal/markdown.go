package terminal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark/ast"
	table "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"

	"github.com/inquest-dev/inquest/internal/kit/markdown"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
)

// MaxProse is the widest text that is comfortable to read, in columns.
const MaxProse = 100

// Markdown lays out an untrusted text for a terminal with a number of columns. Every line ends with a line feed. The text is sanitized. A
// link becomes its text and its address. Lines break between words where possible. Code and addresses are never broken, so that people
// can copy them, and may be wider than the terminal.
// ADR 34 compares it with glamour.
func Markdown(source string, width int, color bool) string {
	src := []byte(Clean(source))
	m := page{src: src, width: width, printer: printer{color: color}}
	m.blocks(markdown.Parse(src), "", "", true)
	return m.out.String()
}

// page lays out a Markdown text.
type page struct {
	src     []byte
	width   int
	printer printer // applies styles
	out     strings.Builder
}

// blocks lays out the contents of a block, separated by empty lines if it is loose. The first line is prefixed with first, all others
// with rest.
func (m *page) blocks(parent ast.Node, first, rest string, loose bool) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if loose && n.PreviousSibling() != nil {
			m.line(rest, "")
		}
		m.block(n, first, rest)
		first = rest
	}
}

func (m *page) block(n ast.Node, first, rest string) {
	switch n := n.(type) {
	case *ast.Heading:
		if !m.printer.color {
			first += strings.Repeat("#", n.Level) + " "
		}
		m.wrap(m.inline(n, bold), first, rest)
	case *ast.List:
		m.list(n, first, rest)
	case *ast.Blockquote:
		m.blocks(n, m.nest(first, "│ "), m.nest(rest, "│ "), true)
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		for line := range strings.SplitSeq(strings.TrimRight(string(n.Lines().Value(m.src)), "\n"), "\n") {
			m.line(m.nest(first, tab), strings.ReplaceAll(line, "\t", tab))
			first = rest
		}
	case *ast.ThematicBreak:
		m.line(first, strings.Repeat("─", min(headingWidth, m.room(first))))
	case *table.Table:
		m.table(n, first, rest)
	default:
		m.wrap(m.inline(n, plain), first, rest)
	}
}

func (m *page) list(list *ast.List, first, rest string) {
	number := list.Start
	for item := list.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "• "
		if list.IsOrdered() {
			mark = fmt.Sprintf("%d%c ", number, list.Marker)
			number++
		}
		if !list.IsTight && item.PreviousSibling() != nil {
			m.line(rest, "")
		}
		if item.FirstChild() == nil {
			m.line(first, mark)
		}
		m.blocks(item, m.nest(first, mark), m.nest(rest, strings.Repeat(" ", ansi.StringWidth(mark))), !list.IsTight)
		first = rest
	}
}

// nest returns the prefix for a nested block. Deeply nested blocks get no further indentation, so that text always has room.
func (m *page) nest(outer, mark string) string {
	if ansi.StringWidth(outer+mark) > m.width-minRoom {
		return outer
	}
	return outer + mark
}

func (m *page) room(prefix string) int { return max(m.width-ansi.StringWidth(prefix), minRoom) }

func (m *page) line(prefix, text string) {
	m.out.WriteString(strings.TrimRight(prefix+text, " ") + "\n")
}

// table lays out columns or, if they do not fit, one cell per line.
func (m *page) table(t *table.Table, first, rest string) {
	const gap = 2
	var rows [][][]piece
	var widths []int
	for row := t.FirstChild(); row != nil; row = row.NextSibling() {
		var cells [][]piece
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			pieces := m.inline(cell, map[bool]style{true: bold}[len(rows) == 0])
			if len(cells) == len(widths) {
				widths = append(widths, 0)
			}
			widths[len(cells)] = max(widths[len(cells)], columns(pieces)+gap)
			cells = append(cells, pieces)
		}
		rows = append(rows, cells)
	}
	total := -gap
	for _, width := range widths {
		total += width
	}
	for n, cells := range rows {
		switch {
		case total <= m.room(rest):
			var line strings.Builder
			for i, cell := range cells {
				line.WriteString(m.paint(cell) + strings.Repeat(" ", widths[i]-columns(cell)))
			}
			m.line(first, line.String())
			first = rest
		case n > 0:
			for i, cell := range cells {
				m.wrap(slices.Concat(rows[0][i], []piece{{text: ": "}}, cell), first, rest+"  ")
				first = rest
			}
		}
	}
}

// piece is text with one style.
type piece struct {
	style style
	text  string
	whole bool // must not be broken
}

// columns returns the width of pieces.
func columns(pieces []piece) (width int) {
	for _, p := range pieces {
		width += ansi.StringWidth(p.text)
	}
	return width
}

func (m *page) paint(pieces []piece) string {
	var out strings.Builder
	for _, p := range pieces {
		out.WriteString(m.printer.paint(p.style, p.text))
	}
	return out.String()
}

// inline returns the inline contents of a block. It sanitizes decoded text again.
func (m *page) inline(parent ast.Node, look style) (out []piece) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			decoded := util.UnescapePunctuations(util.ResolveEntityNames(util.ResolveNumericReferences(n.Value(m.src))))
			out = append(out, piece{style: look, text: strings.ReplaceAll(Clean(string(decoded)), "\n", " ")})
			if n.SoftLineBreak() || n.HardLineBreak() { // models use both as line breaks
				out = append(out, piece{text: "\n"})
			}
		case *ast.CodeSpan:
			var text strings.Builder
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				text.Write(c.(*ast.Text).Value(m.src))
			}
			code := CleanLine(text.String())
			if !m.printer.color {
				code = "`" + code + "`"
			}
			out = append(out, piece{also(look, cyan), code, true})
		case *ast.Emphasis:
			out = append(out, m.inline(n, also(look, map[int]style{1: italic, 2: bold}[n.Level]))...)
		case *ast.Link:
			out = append(out, m.inline(n, look)...)
			if to := reveal.Name(string(n.Destination)); to != "" {
				out = append(out, piece{text: " "}, piece{look, "(" + to + ")", true})
			}
		case *ast.AutoLink:
			out = append(out, piece{look, reveal.Name(CleanLine(string(n.Label(m.src)))), true})
		default: // an image is shown as its description
			out = append(out, m.inline(n, look)...)
		}
	}
	return out
}

// also combines two styles.
func also(look, more style) style {
	if look == plain || look == more {
		return more
	}
	return look + ";" + more
}

// wrap writes pieces in lines that break between words.
func (m *page) wrap(pieces []piece, first, rest string) {
	var line []piece
	prefix := first
	end := func() {
		m.line(prefix, m.paint(line))
		line, prefix = nil, rest
	}
	left := func() int { return m.room(prefix) - columns(line) }
	for _, word := range words(pieces, m.room(rest)) {
		if word.ends {
			end()
			continue
		}
		if word.spaced && len(line) > 0 {
			line = append(line, piece{text: " "})
		}
		if width := columns(word.pieces); len(line) > 0 && width > left() && (width <= m.room(rest) || word.pieces[0].whole) {
			line = line[:len(line)-1] // remove the space
			end()
		}
		for _, p := range word.pieces {
			lines := []string{p.text}
			if !p.whole && ansi.StringWidth(p.text) > left() { // no line is long enough
				lines = strings.Split(ansi.Hardwrap(p.text, m.room(rest), true), "\n")
				if len(line) > 0 {
					end()
				}
			}
			for n, text := range lines {
				if n > 0 {
					end()
				}
				line = append(line, piece{style: p.style, text: text})
			}
		}
	}
	if len(line) > 0 {
		end()
	}
}

// word is text that must stay together, or a line break.
type word struct {
	pieces []piece
	spaced bool // preceded by a space
	ends   bool
}

// words splits pieces at spaces. It splits unbreakable pieces only if they are wider than room.
func words(pieces []piece, room int) (out []word) {
	spaced, begun := false, false
	add := func(p piece) {
		if !begun {
			out = append(out, word{spaced: spaced})
		}
		last := &out[len(out)-1]
		last.pieces, spaced, begun = append(last.pieces, p), false, true
	}
	for _, p := range pieces {
		switch {
		case p.text == "\n":
			out, spaced, begun = append(out, word{ends: true}), false, false
		case p.whole && ansi.StringWidth(p.text) <= room:
			add(p)
		default:
			for n, text := range strings.Split(strings.ReplaceAll(p.text, "\t", tab), " ") {
				if n > 0 {
					spaced, begun = true, false
				}
				if text != "" {
					add(piece{p.style, text, p.whole})
				}
			}
		}
	}
	return out
}
