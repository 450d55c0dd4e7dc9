package terminal

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/inquest-dev/inquest/internal/clip"
)

// printer writes lines. Only appending, it never moves the cursor, the last line
// excepted, so that what is on the screen stays readable whatever is written at the
// same time.
type printer struct {
	out   io.Writer
	err   error // the first one; nothing is written after it
	color bool
	width int   // 0 = lines of any length
	pad   int   // width of the names
	open  *lane // whose line has been begun and not ended
	// last returns the last line of a terminal, which goes when another is written; nil = none.
	last  func() string
	shown bool // the last line is on the screen
}

// lane is one agent's share of the screen: all of its lines begin with its name.
type lane struct {
	name  string
	style style

	block   *block // that is being written
	marker  string // for the next line
	line    string // what the line will hold as far as it is known
	printed int    // how much of the line is on the screen
	begun   bool   // the block has a line
	blanks  int    // empty lines that come if the block goes on
}

// block is a kind of paragraph.
type block struct {
	gutter      string
	first, rest string // markers of its lines
	style       style
}

// minRoom is the least that a line of text is given, however narrow the terminal.
const minRoom = 20

// maxPad is the longest name that others are aligned with.
const maxPad = 32

// startBlock makes b the paragraph that add adds to.
func (p *printer) startBlock(l *lane, b *block) {
	if l.block == b {
		return
	}
	p.endBlock(l)
	l.block, l.marker, l.begun = b, b.first, false
}

// tab is what a tab becomes: how wide a real one is depends on where it stands.
const tab = "    "

// add adds text, which is clean, and prints the lines that are complete.
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

// endBlock prints what is left of the paragraph.
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

// peek prints the words of the line that cannot move to the next line any more.
func (p *printer) peek(l *lane) {
	end := strings.LastIndexByte(l.line, ' ')
	if l.block == nil || end <= l.printed || strings.TrimSpace(l.line[:end]) == "" {
		return
	}
	p.write(p.begun(l, l.line[l.printed:end]))
	l.printed = end
}

// complete ends the line. Empty ones at the ends of a paragraph are left out.
func (p *printer) complete(l *lane, line string) {
	if strings.TrimSpace(line) == "" {
		l.blanks++
		return
	}
	p.write(p.begun(l, strings.TrimRight(line[l.printed:], " ")))
	p.closeLine()
}

// begun goes to where the lane's text goes on, which is a new line if others have
// written meanwhile, and returns how the text looks there.
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

// full prints a line, or lines, of no agent. The text is clean.
func (p *printer) full(s style, text string) {
	p.closeLine()
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		p.write(p.paint(s, line) + "\n")
	}
}

// lines writes lines that begin at the left edge, broken between words where they do not fit.
func (p *printer) lines(s style, text string) { p.full(s, Fold(text, p.width)) }

// restore writes the last line anew, unless there is a line that goes on.
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

// clear takes the last line off the screen.
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

// roomFor is how many columns a line of the block has; 0 = any number.
func (p *printer) roomFor(l *lane, b *block) int {
	if p.width == 0 {
		return 0
	}
	taken := max(p.pad, ansi.StringWidth(l.name)) + len(" ") + 1 + len(" ") // name, gutter
	taken += max(ansi.StringWidth(b.first), ansi.StringWidth(b.rest))
	return max(p.width-taken, minRoom)
}

// cutLine takes the first line off a text: at a line feed, or where it has to be
// wrapped. ok is false if the text may still become longer.
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

// fitting is how much of a line fits into so many columns, in bytes: at least one character.
func fitting(line string, room int) int {
	if len(line) <= room {
		return len(line)
	}
	const most = 16 // bytes for a column: what is beyond them is not looked at
	end := len(ansi.Truncate(clip.Bytes(line, most*room), room, ""))
	if end == 0 {
		_, end = utf8.DecodeRuneInString(line)
	}
	return end
}

// Wrap breaks a text, which is clean, into lines of at most so many columns, between words.
// A word that is wider is broken.
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
