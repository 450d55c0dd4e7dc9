package chaindraw

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Sizes in the picture's units. Texts are not measured: charWidth is an upper bound for nearly all characters.
const (
	charWidth  = 7
	lineHeight = 17
	boxPadding = 10
	boxGap     = 46 // between boxes, for an arrow and its label
	laneWidth  = 26 // for the lines beside the boxes
	margin     = 16
)

// placed is a box with its position. All boxes are centred on the same x.
type placed struct {
	box
	top, height, width int
}

func (p placed) lines() []string { return slices.Concat([]string{p.name}, p.about, p.dispatches()) }

// way is a line beside the boxes: on the right if it leads down, on the left if it leads up.
type way struct {
	line
	from, to int // numbers of boxes
	lane     int // zero is the innermost
}

// SVG returns the drawing as a picture. The boxes are stacked, lines to the next box run between them, and all other lines run beside
// them.
func (d Drawing) SVG() string {
	boxes, height := d.placed()
	width := slices.MaxFunc(boxes, func(a, b placed) int { return cmp.Compare(a.width, b.width) }).width
	down, right := d.ways(func(from, to int) bool { return to > from+1 })
	back, left := d.ways(func(from, to int) bool { return to <= from })
	x := margin + left + width/2
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n",
		left+width+right+2*margin, height+margin)
	fmt.Fprintf(&out, "<title>%s</title>\n", escaped(d.Chain))
	out.WriteString(`<style>svg{background:#fff}path,rect,polygon{fill:#fff;stroke:#445}path{fill:none}text{fill:#112}` +
		`.label{font-size:11px;fill:#445}.dashed{stroke-dasharray:4}</style>` + "\n" +
		`<marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">` +
		`<polygon points="0,0 8,4 0,8" style="fill:#445"/></marker>` + "\n")
	for _, p := range boxes {
		p.draw(&out, x)
	}
	d.straight(&out, boxes, x)
	for _, w := range down {
		w.draw(&out, boxes, x, 1, width/2)
	}
	for _, w := range back {
		w.draw(&out, boxes, x, -1, width/2)
	}
	return out.String() + "</svg>\n"
}

func (d Drawing) placed() (all []placed, height int) {
	height = margin
	for _, b := range d.boxes {
		p := placed{box: b, top: height}
		for _, line := range p.lines() {
			p.width = max(p.width, utf8.RuneCountInString(line)*charWidth+4*boxPadding)
		}
		p.height = len(p.lines())*lineHeight + 2*boxPadding
		if len(p.subs) > 0 {
			p.height += boxPadding
		}
		all, height = append(all, p), height+p.height+boxGap
	}
	return all, height - boxGap
}

// number returns the index of a box.
func (d Drawing) number(id string) int {
	return slices.IndexFunc(d.boxes, func(b box) bool { return b.id == id })
}

// ways returns the selected lines, each in the innermost lane without a crossing, and the width that they take including labels.
func (d Drawing) ways(of func(from, to int) bool) (all []way, width int) {
	for _, l := range d.lines {
		if w := (way{line: l, from: d.number(l.from), to: d.number(l.to)}); of(w.from, w.to) {
			all = append(all, w)
		}
	}
	slices.SortStableFunc(all, func(a, b way) int { return cmp.Compare(a.length(), b.length()) })
	for n := range all {
		for slices.ContainsFunc(all[:n], func(other way) bool { return other.lane == all[n].lane && other.meets(all[n]) }) {
			all[n].lane++
		}
		width = max(width, (all[n].lane+1)*laneWidth+utf8.RuneCountInString(all[n].label)*charWidth)
	}
	return all, width
}

func (w way) length() int { return max(w.to-w.from, w.from-w.to) }

func (w way) meets(other way) bool {
	return min(w.from, w.to) <= max(other.from, other.to) && min(other.from, other.to) <= max(w.from, w.to)
}

func (p placed) draw(out *strings.Builder, x int) {
	left, right, bottom, middle := x-p.width/2, x+p.width/2, p.top+p.height, p.top+p.height/2
	switch p.kind {
	case boxQuestion:
		fmt.Fprintf(out, `<polygon points="%d,%d %d,%d %d,%d %d,%d %d,%d %d,%d"/>`+"\n", left, middle, left+boxPadding, p.top,
			right-boxPadding, p.top, right, middle, right-boxPadding, bottom, left+boxPadding, bottom)
	case boxEnd:
		fmt.Fprintf(out, `<rect x="%d" y="%d" width="%d" height="%d" rx="%d"/>`+"\n", left, p.top, p.width, p.height, p.height/2)
	default:
		fmt.Fprintf(out, `<rect x="%d" y="%d" width="%d" height="%d" rx="4"/>`+"\n", left, p.top, p.width, p.height)
	}
	above := p.top + boxPadding
	for n, line := range p.lines() {
		weight := ""
		switch n {
		case 0:
			weight = ` font-weight="bold"`
		case len(p.about) + 1: // sub-agents are listed in a dashed box
			fmt.Fprintf(out, `<rect class="dashed" x="%d" y="%d" width="%d" height="%d" rx="4"/>`+"\n",
				left+boxPadding, above+n*lineHeight+2, p.width-2*boxPadding, bottom-above-n*lineHeight-boxPadding)
			above += boxPadding / 2
		}
		fmt.Fprintf(out, `<text x="%d" y="%d" text-anchor="middle"%s>%s</text>`+"\n", x, above+13+n*lineHeight, weight, escaped(line))
	}
}

// straight draws the lines to the next box. Several lines between the same boxes become one arrow with all their labels.
func (d Drawing) straight(out *strings.Builder, boxes []placed, x int) {
	for n := range len(boxes) - 1 {
		var labels []string
		there, failure := false, true
		for _, l := range d.lines {
			if d.number(l.from) == n && d.number(l.to) == n+1 {
				there, failure = true, failure && l.failure
				if l.label != "" {
					labels = append(labels, l.label)
				}
			}
		}
		if there {
			bottom, top := boxes[n].top+boxes[n].height, boxes[n+1].top
			fmt.Fprintf(out, `<path d="M%d,%d V%d" marker-end="url(#arrow)"%s/>`+"\n", x, bottom, top, dashed(failure))
			fmt.Fprintf(out, `<text class="label" x="%d" y="%d">%s</text>`+"\n", x+8, (bottom+top)/2+4, escaped(strings.Join(labels, " / ")))
		}
	}
}

// draw draws a line beside the boxes, on their right (1) or left (-1). half is half the width of the widest box.
func (w way) draw(out *strings.Builder, boxes []placed, x, side, half int) {
	from, to := boxes[w.from], boxes[w.to]
	begin, end := from.top+from.height*2/3, to.top+to.height/3
	lane := x + side*(half+(w.lane+1)*laneWidth-8)
	fmt.Fprintf(out, `<path d="M%d,%d H%d V%d H%d" marker-end="url(#arrow)"%s/>`+"\n",
		x+side*from.width/2, begin, lane, end, x+side*to.width/2, dashed(w.failure))
	anchor := map[int]string{1: "start", -1: "end"}[side]
	fmt.Fprintf(out, `<text class="label" x="%d" y="%d" text-anchor="%s">%s</text>`+"\n",
		lane+side*4, (begin+end)/2+4, anchor, escaped(w.label))
}

func dashed(failure bool) string {
	if failure {
		return ` class="dashed"`
	}
	return ""
}

func escaped(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text)) // a strings.Builder never fails
	return out.String()
}
