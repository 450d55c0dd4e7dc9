package evidence

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/inquest-dev/inquest/internal/kit/clip"
)

// cited matches citations in the forms that models write: [3], [3, 5], [3-5].
var cited = regexp.MustCompile(`\\?[\[【]\^?(\d{1,4}(?:\s*[,;–-]\s*\d{1,4})*)\\?[\]】]`)

// Cites reports whether a text contains citations.
func Cites(text string) bool {
	return slices.ContainsFunc(proseOf(text), func(s span) bool { return len(citations(text, s)) > 0 })
}

// citation is a mark, or several adjacent ones, with the numbers in it.
type citation struct {
	span
	numbers []int
}

// Check looks up the report's claims in the cited evidence, and marks the missing parts in the report.
func (e *Evidence) Check(report string) string {
	e.forget()
	return e.check(report)
}

// forget drops the results of an earlier check.
func (e *Evidence) forget() { e.Claims, e.Uncited, e.uncited = nil, 0, nil }

// check adds the claims of a text to the existing ones.
func (e *Evidence) check(report string) string {
	var out strings.Builder
	done := 0
	for _, block := range proseOf(report) {
		for _, sentence := range sentences(report, block) {
			marks := citations(report, sentence)
			if said := report[sentence.from:sentence.to]; len(marks) == 0 && !linked.MatchString(said) && !claimed(said, e.names).none() {
				e.Uncited, e.uncited = e.Uncited+1, append(e.uncited, said)
			}
			for n, part := range parts(report, sentence, marks) {
				claim := e.judge(part, marks[n].numbers)
				e.Claims = append(e.Claims, claim)
				if claim.Verdict == Unverified {
					out.WriteString(report[done:marks[n].to])
					done = marks[n].to
					out.WriteString(mark(claim))
				}
			}
		}
	}
	return out.String() + report[done:]
}

// linked matches a URL that names a source, which is not a claim.
var linked = regexp.MustCompile(`<https?://[^\s<>]+>\s*$`)

// closed removes the space that a citation leaves.
var closed = strings.NewReplacer(" .", ".", " ,", ",", " ;", ";", " :", ":")

// judge compares a part of a sentence with the evidence that it cites.
func (e *Evidence) judge(text string, numbers []int) Claim {
	claim := Claim{Text: closed.Replace(flat(text)), Cites: numbers, Verdict: Verified}
	said := claimed(text, e.names)
	var found []facts
	plain := strings.ToLower(fold(readable(text)).text)
	var calls []string
	for _, n := range slices.Compact(slices.Sorted(slices.Values(numbers))) {
		item := e.item(n)
		switch {
		case item == nil:
			claim.Missing = append(claim.Missing, fmt.Sprintf("evidence %d does not exist", n))
			continue
		case item.Problem != "":
			claim.Missing = append(claim.Missing, fmt.Sprintf("evidence %d proves nothing: %s", n, item.Problem))
			continue
		}
		its := item.reading(e.names)
		found = append(found, its.facts)
		// If the evidence names something that the claim does not, it may be about something else. Then the arguments of the call
		// prove nothing.
		strange := slices.ContainsFunc(its.names, func(name string) bool { return !has(plain, name) })
		if !strange && !slices.Contains(calls, its.called) {
			calls = append(calls, its.called)
		}
	}
	if len(found) > 0 {
		for _, fact := range said.missing(found, strings.Join(calls, "\n")) {
			claim.Missing = append(claim.Missing, clipped(fact, 60))
		}
	}
	switch {
	case len(claim.Missing) > 0:
		claim.Verdict = Unverified
	case said.none():
		claim.Verdict = Unchecked
	}
	return claim
}

// unquoted removes the quotation marks of JSON strings, which are read like other text.
var unquoted = strings.NewReplacer(`"`, " ", "`", " ", "“", " ", "”", " ")

func clipped(text string, limit int) string { return clip.Line(flat(text), limit) }

// flat returns a text on one line.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

var (
	codeFence = regexp.MustCompile("^ {0,3}(```+|~~~+)")
	newBlock  = regexp.MustCompile(`^\s*(?:#{1,6}\s|[-*+]\s|\d{1,3}[.)]\s|\||>)`)
	listMark  = regexp.MustCompile(`^\s*(?:#{1,6}\s+|[-*+]\s+|>\s*|\|\s*)*(?:\d{1,3}[.)]\s+)?`)
	linkTo    = regexp.MustCompile(`^\s{0,3}\[\^?\d{1,4}\]:\s*<?https?://`)
	codeSpan  = regexp.MustCompile("```.*?```|``.*?``|`[^`\n]*`")
)

// proseOf returns the paragraphs, list items, headings and table rows of a Markdown text: everything but its code.
func proseOf(text string) (all []span) {
	fence, at, open := "", 0, false
	for line := range strings.Lines(text) {
		from := at
		at += len(line)
		m := codeFence.FindStringSubmatch(line)
		switch {
		case fence != "":
			if m != nil && strings.HasPrefix(m[1], fence) {
				fence = ""
			}
			open = false
		case m != nil:
			fence, open = m[1], false
		case strings.TrimSpace(line) == "", linkTo.MatchString(line):
			open = false
		case open && !newBlock.MatchString(line):
			all[len(all)-1].to = at
		default:
			all, open = append(all, span{from + len(listMark.FindString(line)), at}), !strings.HasPrefix(strings.TrimSpace(line), "|") &&
				!strings.HasPrefix(strings.TrimSpace(line), "#")
		}
	}
	return all
}

// sentenceEnd is where another sentence may begin. Citations after it belong to the sentence before it.
var (
	sentenceEnd = regexp.MustCompile(`[.!?][*_"”)\]]*((?:\s*\\?[\[【]\^?\d[\d,;–\s-]*\\?[\]】][.,]?)*)\s+`)
	shortForm   = regexp.MustCompile(`(?i)(?:^|[\s(])(?:e\.g|i\.e|vs|approx|ca|no|nr|etc|cf|resp|incl|max|min|avg|fig|sec)\.$`)
)

// maxShortForm is longer than any short form with the text before it.
const maxShortForm = 16

// sentences splits a block. If a sentence may continue, it does: a longer sentence needs more proof in its citations.
func sentences(text string, block span) (all []span) {
	from := block.from
	code := codeSpan.FindAllStringIndex(text[block.from:block.to], -1)
	for _, m := range sentenceEnd.FindAllStringIndex(text[block.from:block.to], -1) {
		end := block.from + m[1]
		inCode := slices.ContainsFunc(code, func(c []int) bool { return c[0] < m[0] && m[0] < c[1] })
		before := text[max(from, block.from+m[0]+1-maxShortForm) : block.from+m[0]+1]
		if end >= block.to || inCode || shortForm.MatchString(before) || !begins(text[end:block.to]) {
			continue
		}
		all = append(all, span{from, end})
		from = end
	}
	return append(all, span{from, block.to})
}

// begins reports whether a sentence begins here.
func begins(text string) bool {
	r := first(strings.TrimLeft(text, "*_\"“(`"))
	return unicode.IsUpper(r) || !unicode.IsLower(r) && unicode.IsLetter(r)
}

// indexes reports whether a bracketed number is an index, because of the text directly before it, as in "args[0]". Footnotes
// ("[^1]") and other kinds of brackets are never indexes.
func indexes(before, bracket string) bool {
	r := last(before)
	plain := strings.TrimPrefix(bracket, `\`)
	return strings.HasPrefix(plain, "[") && !strings.HasPrefix(plain, "[^") && (wordly(r) || strings.ContainsRune("._)]", r))
}

// citations finds the citations of a sentence, and joins those that only commas or similar marks separate.
func citations(text string, in span) (all []citation) {
	code := codeSpan.FindAllStringIndex(text[in.from:in.to], -1)
	for _, m := range cited.FindAllStringSubmatchIndex(text[in.from:in.to], -1) {
		if slices.ContainsFunc(code, func(c []int) bool { return c[0] < m[0] && m[0] < c[1] }) {
			continue
		}
		one := citation{span{in.from + m[0], in.from + m[1]}, numbersOf(text[in.from+m[2] : in.from+m[3]])}
		follows := len(all) > 0 && all[len(all)-1].to == one.from // another citation
		if !follows && indexes(text[:one.from], text[one.from:one.to]) {
			continue
		}
		if target := linkTarget.FindString(text[one.to:in.to]); target != "" {
			one.to += len(target)
		}
		if n := len(all) - 1; n >= 0 && together.MatchString(text[all[n].to:one.from]) {
			all[n].to, all[n].numbers = one.to, append(all[n].numbers, one.numbers...)
			continue
		}
		all = append(all, one)
	}
	return all
}

var (
	together   = regexp.MustCompile(`^\s*(?:,|;|and|&|\+)?\s*$`)
	linkTarget = regexp.MustCompile(`^\([^)\s]*\)`)
	figures    = regexp.MustCompile(`\d+`)
)

// maxRange bounds the numbers that one range cites.
const maxRange = 20

func numbersOf(text string) (all []int) {
	ends := figures.FindAllStringIndex(text, -1)
	for n, at := range ends {
		to := digits(text[at[0]:at[1]])
		if n > 0 && strings.ContainsAny(text[ends[n-1][1]:at[0]], "-–") {
			for from := all[len(all)-1] + 1; from < to && to-from < maxRange; from++ {
				all = append(all, from)
			}
		}
		all = append(all, to)
	}
	return all
}

// parts returns the text that each citation of a sentence is for: the text before it, and for the last one also the rest. In a
// sentence that begins with a citation, it is the text after each one.
func parts(text string, sentence span, marks []citation) (all []string) {
	for n, m := range marks {
		before := sentence.from
		if n > 0 {
			before = marks[n-1].to
		}
		leads := !strings.ContainsFunc(text[sentence.from:marks[0].from], wordly)
		after := sentence.to
		if n+1 < len(marks) {
			after = marks[n+1].from
		}
		switch {
		case leads:
			all = append(all, text[m.to:after])
		case n+1 == len(marks):
			all = append(all, text[before:m.from]+" "+text[m.to:after])
		default:
			all = append(all, text[before:m.from])
		}
	}
	return all
}
