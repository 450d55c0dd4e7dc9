package terminal

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/inquest-dev/inquest/internal/kit/clip"
)

// printer writes lines. It only appends and never moves the cursor, except on the last line, so the screen stays readable whatever other
// programs write at the same time.
type printer struct {
	out   io.Writer
	err   error // first error; nothing is written after it
	color bool
	width int   // zero means unlimited
	pad   int   // width of the names
	open  *lane // lane whose line is unfinished
	// last returns the status line of a terminal, which is replaced with each output; nil means none.
	last  func() string
	shown bool // the status line is on the screen
}

// lane is one agent's output. Each of its lines begins with its name.
type lane struct {
	name  string
	style style

	block   *block // the current block
	marker  string // for the next line
	line    string // the unfinished line as far as it is known
	printed int    // how much of line is on the screen
	begun   bool   // the block has a line
	blanks  int    // empty lines to print if the block goes on
}

// block is a kind of paragraph.
type block struct {
	gutter      string
	first, rest string // markers of its lines
	style       style
}

// minRoom is the least width for text, however narrow the terminal.
const minRoom = 20

// maxPad is the longest name that the others are aligned with.
const maxPad = 32

// startBlock makes b the paragraph that add appends to.
func (p *printer) startBlock(l *lane, b *block) {
	if l.block == b {
		return
	}
	p.endBlock(l)
	l.block, l.marker, l.begun = b, b.first, false
}

// tab replaces tabs, because the width of a real one depends on its position.
const tab = "    "

// add appends sanitized text and prints the complete lines.
func (p *printer) add(l *lane, text string) {
	l.line += strings.ReplaceAll(text, "\t", tab)
	for {
		line, rest, ok := cutLine(l.line, p.roomFor(l, l.block))
		if !ok {
			return
		}
		p.complete(l, line)
		l.line, l.printed = rest, 0
	}
}

// endBlock prints the rest of the paragraph.
func (p *printer) endBlock(l *lane) {
	if l.block != nil && strings.TrimSpace(l.line) != "" {
		p.complete(l, l.line)
	}
	if p.open == l {
		p.closeLine()
	}
	l.block, l.line, l.printed, l.blanks = nil, "", 0, 0
}

// print prints a whole paragraph.
func (p *printer) print(l *lane, b *block, text string) {
	p.endBlock(l)
	p.startBlock(l, b)
	p.add(l, text)
	p.endBlock(l)
}

// peek prints the words of the unfinished line that can no longer move to the next line.
func (p *printer) peek(l *lane) {
	end := strings.LastIndexByte(l.line, ' ')
	if l.block == nil || end <= l.printed || strings.TrimSpace(l.line[:end]) == "" {
		return
	}
	p.write(p.begun(l, l.line[l.printed:end]))
	l.printed = end
}

// complete ends the line. It omits empty lines at the start and end of a paragraph.
func (p *printer) complete(l *lane, line string) {
	if strings.TrimSpace(line) == "" {
		l.blanks++
		return
	}
	p.write(p.begun(l, strings.TrimRight(line[l.printed:], " ")))
	p.closeLine()
}

// begun moves to where the lane's text continues, which is a new line if others have written meanwhile, and returns the text for that
// place.
func (p *printer) begun(l *lane, text string) string {
	if p.open != l {
		p.beginLine(l)
		if l.printed > 0 {
			text = strings.TrimLeft(text, " ")
		}
	}
	return p.paint(l.block.style, text)
}

func (p *printer) beginLine(l *lane) {
	p.closeLine()
	for ; l.blanks > 0; l.blanks-- {
		if l.begun {
			p.write(p.prefix(l) + "\n")
		}
	}
	p.write(p.prefix(l) + " " + p.paint(l.block.style, l.marker))
	l.marker, l.begun, p.open = l.block.rest, true, l
}

func (p *printer) prefix(l *lane) string {
	pad := strings.Repeat(" ", max(p.pad-ansi.StringWidth(l.name), 0))
	return p.paint(l.style, l.name+pad+" "+l.block.gutter)
}

func (p *printer) closeLine() {
	if p.open != nil {
		p.write("\n")
		p.open = nil
	}
}

// full prints sanitized text that belongs to no agent.
func (p *printer) full(s style, text string) {
	p.closeLine()
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		p.write(p.paint(s, line) + "\n")
	}
}

// lines prints text that starts at the left edge, wrapped between words.
func (p *printer) lines(s style, text string) { p.full(s, Fold(text, p.width)) }

// restore prints the status line again, unless a line is unfinished.
func (p *printer) restore() {
	if p.last == nil || p.width == 0 || p.open != nil {
		return
	}
	text := p.last()
	p.clear()
	if text != "" {
		p.write(p.paint(yellow, ansi.Truncate(text, p.width-1, "…")))
		p.shown = true
	}
}

// clear removes the status line from the screen.
func (p *printer) clear() {
	if p.shown {
		p.shown = false
		p.write("\r\x1b[K")
	}
}

func (p *printer) write(text string) {
	p.clear()
	if p.err == nil {
		_, p.err = io.WriteString(p.out, text)
	}
}

// roomFor returns the number of columns for text in a block; zero means unlimited.
func (p *printer) roomFor(l *lane, b *block) int {
	if p.width == 0 {
		return 0
	}
	taken := max(p.pad, ansi.StringWidth(l.name)) + len(" ") + 1 + len(" ") // name, gutter
	taken += max(ansi.StringWidth(b.first), ansi.StringWidth(b.rest))
	return max(p.width-taken, minRoom)
}

// cutLine cuts the first line off a text, at a line feed or where it must wrap. ok is false if the line may still grow.
func cutLine(text string, room int) (line, rest string, ok bool) {
	head, tail, ended := strings.Cut(text, "\n")
	end := fitting(head, room)
	if room == 0 || end == len(head) {
		return head, tail, ended
	}
	body := len(head) - len(strings.TrimLeft(head, " "))
	if space := strings.LastIndexByte(head[:end+1], ' '); space > body {
		return text[:space], text[space+1:], true
	}
	return text[:end], text[end:], true
}

// fitting returns how many bytes of a line fit into a number of columns, at least one character.
func fitting(line string, room int) int {
	if len(line) <= room {
		return len(line)
	}
	const most = 16 // bytes per column; everything beyond that is ignored
	end := len(ansi.Truncate(clip.Bytes(line, most*room), room, ""))
	if end == 0 {
		_, end = utf8.DecodeRuneInString(line)
	}
	return end
}

// Wrap breaks sanitized text into lines of at most width columns, between words. It breaks words that are wider.
func Wrap(text string, width int) (lines []string) {
	text = strings.ReplaceAll(text, "\t", tab)
	for text != "" {
		line, rest, ok := cutLine(text, max(width, 1))
		if !ok {
			return append(lines, line)
		}
		lines, text = append(lines, strings.TrimRight(line, " ")), rest
	}
	return lines
}
