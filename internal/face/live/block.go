package live

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/inquest-dev/inquest/internal/face/terminal"
)

// blockKind is the kind of a paragraph in an agent's text.
type blockKind int

const (
	replyBlock blockKind = iota
	thinkingBlock
	callBlock
	goodBlock
	badBlock
	userBlock
	noticeBlock
	promptBlock
)

// block is a paragraph of an agent's text. Its texts are sanitized.
type block struct {
	seq        int64
	kind       blockKind
	head, text string

	width int // width that lines were wrapped for; zero means not wrapped yet
	open  bool
	lines []string
}

// looks holds the mark and the style of each kind.
var looks = map[blockKind]struct {
	mark  string
	style lipgloss.Style
}{
	replyBlock:    {"", plain},
	thinkingBlock: {"", faint},
	callBlock:     {"→ ", cyan},
	goodBlock:     {"✓ ", green},
	badBlock:      {"✗ ", red},
	userBlock:     {"» ", yellow},
	noticeBlock:   {"! ", yellow},
	promptBlock:   {"", faint},
}

// shownLines is how many lines of a result are shown while it is folded.
const shownLines = 4

// rendered returns the block's lines, none wider than the terminal.
func (b *block) rendered(width int, open bool) []string {
	if b.width == width && b.open == open {
		return b.lines
	}
	b.width, b.open = width, open
	look := looks[b.kind]
	b.lines = nil
	add := func(style lipgloss.Style, first, rest, text string) {
		for _, line := range terminal.Wrap(text, width-lipgloss.Width(first)) {
			b.lines = append(b.lines, style.Render(first+line))
			first = rest
		}
	}
	switch {
	case b.kind == replyBlock:
		b.lines = markdown(b.text, width)
	case b.kind == thinkingBlock && open:
		add(look.style, "thinking: ", "          ", b.text)
	case b.kind == thinkingBlock || b.kind == promptBlock && !open:
		b.lines = []string{look.style.Render(folded(b, width))}
	case b.kind == promptBlock:
		add(look.style, "", "", b.head+":\n"+b.text)
	case b.kind == userBlock:
		add(look.style, look.mark, "  ", b.text)
	case b.kind == callBlock && !open:
		b.lines = []string{look.style.Render(terminal.Fit(look.mark+b.head+" "+b.text, width))}
	case b.kind == callBlock:
		add(look.style, look.mark, "  ", b.head+" "+b.text)
	default:
		add(look.style, look.mark, "  ", b.head)
		b.content(width, open)
	}
	return b.lines
}

// folded returns a block as one line.
func folded(b *block, width int) string {
	more := fmt.Sprintf(" (%s, f to unfold)", terminal.Size(len(b.text)))
	what := b.head
	if b.kind == thinkingBlock {
		what = "thinking: " + strings.Join(strings.Fields(b.text), " ")
	}
	return terminal.Fit(what, max(width-len(more), 0)) + terminal.Fit(more, width)
}

// content adds the lines of a result, or only the first ones.
func (b *block) content(width int, open bool) {
	if b.text == "" {
		return
	}
	const margin = "    "
	lines := strings.Split(b.text, "\n")
	if open {
		for _, line := range terminal.Wrap(b.text, width-len(margin)) {
			b.lines = append(b.lines, faint.Render(margin+line))
		}
		return
	}
	for _, line := range lines[:min(len(lines), shownLines)] {
		b.lines = append(b.lines, faint.Render(margin+terminal.Fit(strings.ReplaceAll(line, "\t", "    "), width-len(margin))))
	}
	if left := len(lines) - shownLines; left > 0 {
		b.lines = append(b.lines, faint.Render(margin+"… "+terminal.Count(left, "more line")))
	}
}

// markdown lays out a model's text. It breaks code and URLs that are wider than the screen, because nobody copies from this screen.
func markdown(text string, width int) (lines []string) {
	for line := range strings.Lines(terminal.Markdown(text, width, true)) {
		lines = append(lines, strings.Split(ansi.Hardwrap(strings.TrimRight(line, "\n"), width, true), "\n")...)
	}
	return lines
}

// text returns the last lines of an agent's text, at least as many as requested if there are that many.
func (l *lane) text(width, lines int, open bool) []string {
	var tail []string
	if l.live.Thinking != "" && l.live.Text == "" || l.live.Thinking != "" && open {
		b := block{kind: thinkingBlock, text: terminal.Clean(l.live.Thinking)}
		if l.live.Text == "" { // thinking is what happens now
			tail = append(tail, b.rendered(width, true)...)
		} else {
			tail = append(tail, b.rendered(width, open)...)
		}
	}
	if l.live.Text != "" {
		tail = append(tail, terminal.Wrap(terminal.Clean(l.live.Text), width)...)
	}
	parts := [][]string{tail}
	for n, count := len(l.blocks)-1, len(tail); n >= 0 && count < lines; n-- {
		part := l.blocks[n].rendered(width, open)
		if n > 0 && spaced(l.blocks[n-1].kind, l.blocks[n].kind) {
			part = append([]string{""}, part...)
		}
		parts, count = append(parts, part), count+len(part)
	}
	var all []string
	for n := len(parts) - 1; n >= 0; n-- {
		if n == 0 && len(tail) > 0 && len(all) > 0 {
			all = append(all, "")
		}
		all = append(all, parts[n]...)
	}
	return all
}

// spaced reports whether an empty line separates two kinds of blocks.
func spaced(above, below blockKind) bool {
	return below == replyBlock || below == thinkingBlock || above == replyBlock && below != callBlock
}
