package evidence

import (
	"regexp"
	"slices"
	"strings"
)

// ByCode is the finder of a piece of evidence that code found for a sentence of the report, without a citation.
const ByCode = "code"

// Limits of the search for sentences that cite nothing.
const (
	maxPassage  = 400      // bytes: a longer passage would contain almost any number
	maxSearched = 1 << 20  // bytes of all results; one that exceeds the remainder is left out
	maxEffort   = 64 << 20 // bytes, for all sentences of an Evidence together: about a second
	comparison  = 1 << 10  // comparing one passage takes as long as reading this many bytes
)

// passage is a part of a result about one thing: a line, or an object of its JSON.
type passage struct {
	*row
	span
	lower  string
	stated *facts // nil means not computed yet
}

func (p passage) content() string { return p.text[p.from:p.to] }

func (p *passage) facts() facts {
	if p.stated == nil {
		p.stated = new(stated(p.content()))
	}
	return *p.stated
}

// innermost matches JSON objects without nested objects.
var innermost = regexp.MustCompile(`\{[^{}]*\}`)

// passages returns the passages of all rows, in order.
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

// lineAt returns the line that contains a byte.
func lineAt(text string, at int) span {
	from := strings.LastIndexByte(text[:at], '\n') + 1
	line, _, _ := strings.Cut(text[from:], "\n")
	return span{from, from + len(line)}
}

// findUncited searches the tools' results for the sentences that cite nothing. A sentence gets a passage as evidence if it names
// something and only that passage contains all of its numbers, names and times.
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

// search holds the passages and the remaining effort.
type search struct {
	passages []passage
	left     int // see maxEffort
}

// only returns the one passage that contains all facts. It returns nil if there is none, if there are several different ones, or if
// the effort is used up.
func (s *search) only(f facts) (one *passage) {
	words := slices.Concat(f.names, f.quotes)
	for n := range s.passages {
		p := &s.passages[n]
		if s.left -= len(p.lower); s.left < 0 {
			return nil
		}
		without := func(word string) bool { return !strings.Contains(p.lower, strings.ToLower(word)) }
		if slices.ContainsFunc(words, without) || one != nil && one.overlaps(*p) {
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

// echoes reports whether the facts come from the agent: its arguments contain the passage, or all the facts. A tool may repeat its
// arguments, even to say that nothing was found.
func (p passage) echoes(f facts) bool {
	if p.asked == "" {
		return false
	}
	_, _, whole := fold(p.asked).find(p.content())
	return whole || len(f.missing([]facts{stated(p.asked)}, "")) == 0
}

// overlaps reports whether one of two passages of the same row contains the other.
func (p passage) overlaps(other passage) bool {
	within := p.from >= other.from && p.to <= other.to || other.from >= p.from && other.to <= p.to
	return p.row == other.row && within
}

// numbered returns the number of a passage as evidence, and adds it to the evidence if necessary.
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
