package evidence

import (
	"regexp"
	"slices"
	"strings"
)

// ByCode is who has found a piece of evidence that nobody named: code, for a sentence of the report.
const ByCode = "code"

// How much code looks through for sentences that cite nothing.
const (
	maxPassage  = 400      // bytes: in more, any number stands somewhere
	maxSearched = 1 << 20  // bytes of all results; one that is longer than what is left is left out
	maxEffort   = 64 << 20 // bytes, for all sentences of an Evidence together: about a second
	comparison  = 1 << 10  // bytes that take as long as to compare one passage
)

// passage is a part of a result that is about one thing: a line of it, or an object of its JSON.
type passage struct {
	*row
	span
	lower  string
	stated *facts // nil = nobody has asked yet
}

func (p passage) content() string { return p.text[p.from:p.to] }

func (p *passage) facts() facts {
	if p.stated == nil {
		p.stated = new(stated(p.content()))
	}
	return *p.stated
}

// innermost matches objects of JSON that have no other ones in them.
var innermost = regexp.MustCompile(`\{[^{}]*\}`)

// passages are those of all rows, in their order.
func passages(rows []*row) (all []passage) {
	searched := 0
	for _, r := range rows {
		add := func(from, to int) {
			content := r.text[from:to]
			from += len(content) - len(strings.TrimLeft(content, " \t\r\n"))
			to -= len(content) - len(strings.TrimRight(content, " \t\r\n"))
			if to > from && to-from <= maxPassage {
				all = append(all, passage{row: r, span: span{from, to}, lower: strings.ToLower(r.text[from:to])})
			}
		}
		if searched+len(r.text) > maxSearched {
			continue
		}
		searched += len(r.text)
		at := 0
		for line := range strings.Lines(r.text) {
			add(at, at+len(line))
			at += len(line)
		}
		line := span{0, -1}
		for _, m := range innermost.FindAllStringIndex(r.text, -1) {
			if m[0] > line.to {
				line = lineAt(r.text, m[0])
			}
			if line.to-line.from > maxPassage || m[1] > line.to {
				add(m[0], m[1])
			}
		}
	}
	return all
}

// lineAt is the line that a byte is in.
func lineAt(text string, at int) span {
	from := strings.LastIndexByte(text[:at], '\n') + 1
	line, _, _ := strings.Cut(text[from:], "\n")
	return span{from, from + len(line)}
}

// findUncited looks for the sentences that cite nothing in what the tools returned. One that names something, and of which
// all numbers, names and times stand in one passage and in no other, has that for its evidence.
func (e *Evidence) findUncited() {
	if len(e.uncited) == 0 {
		return
	}
	if e.search == nil {
		e.search = &search{passages: passages(e.results), left: maxEffort}
	}
	for _, sentence := range e.uncited {
		said := claimed(sentence, e.names)
		if len(said.names)+len(said.quotes) == 0 || len(said.names)+len(said.quotes)+len(said.numbers)+len(said.moments) < 2 {
			continue // it may be about anything
		}
		if p := e.search.only(said); p != nil {
			e.Uncited--
			e.Claims = append(e.Claims, Claim{Text: flat(sentence), Cites: []int{e.numbered(*p)}, Verdict: Found})
		}
	}
}

// search is what code looks through, and how much longer it may.
type search struct {
	passages []passage
	left     int // see maxEffort
}

// only is the one passage in which all facts stand; nil = there is none, there are several that say different things, or
// there was no end of looking.
func (s *search) only(f facts) (one *passage) {
	words := slices.Concat(f.names, f.quotes)
	for n := range s.passages {
		p := &s.passages[n]
		if s.left -= len(p.lower); s.left < 0 {
			return nil
		}
		without := func(word string) bool { return !strings.Contains(p.lower, strings.ToLower(word)) }
		if slices.ContainsFunc(words, without) || one != nil && one.holds(*p) {
			continue
		}
		s.left -= comparison
		if len(f.missing([]facts{p.facts()}, "")) > 0 || p.echoes(f) {
			continue
		}
		if one != nil && one.content() != p.content() {
			return nil
		}
		if one == nil {
			one = p
		}
	}
	return one
}

// echoes reports whether the agent has said it first: it asked for the passage, or for all the facts, and a tool may repeat
// what it is asked, also to say that nothing was found.
func (p passage) echoes(f facts) bool {
	if p.asked == "" {
		return false
	}
	_, _, whole := fold(p.asked).find(p.content())
	return whole || len(f.missing([]facts{stated(p.asked)}, "")) == 0
}

// holds reports whether a passage is within another one of the same row, or that within it.
func (p passage) holds(other passage) bool {
	within := p.from >= other.from && p.to <= other.to || other.from >= p.from && other.to <= p.to
	return p.row == other.row && within
}

// numbered is the number of a passage as evidence, which it is from here on.
func (e *Evidence) numbered(p passage) int {
	source := p.Source
	source.From, source.To = p.From+p.from, p.From+p.to
	for _, item := range e.Items {
		if item.By == ByCode && item.Source == source {
			return item.N
		}
	}
	item := Item{N: len(e.Items) + 1, By: ByCode, Source: source, text: p.content(), asked: p.asked}
	item.Content, item.Assumed = p.content(), true
	e.Items = append(e.Items, item)
	return item.N
}
