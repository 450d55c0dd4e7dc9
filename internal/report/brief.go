// Package report puts first what a person who was woken up needs of an investigation.
package report

import (
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"

	"github.com/inquest-dev/inquest/internal/evidence"
	"github.com/inquest-dev/inquest/internal/markdown"
)

// Brief is what a report says first. What it does not say is empty.
type Brief struct {
	Cause      string   `json:"cause,omitempty"`
	Confidence string   `json:"confidence,omitempty"`
	Next       []string `json:"next,omitempty"` // what to do, in order
	// Proof is what code says of a report whose claims are not all in what they cite.
	Proof string `json:"proof,omitempty"`
}

// Empty: the report has nothing of it.
func (b Brief) Empty() bool {
	return b.Cause == "" && b.Confidence == "" && b.Proof == "" && len(b.Next) == 0
}

// The names that reports give to their parts, the surest first.
var (
	causes      = names(`root cause`, `(likely |probable |most likely )?causes?`, `diagnosis`, `hypothesis`, `conclusion`, `summary`)
	confidences = names(`(confidence|certainty)`, `how (sure|certain)`)
	nexts       = names(`(what to do|next)`, `(remediation|mitigation|recommend(ation|ed)s?|actions?|immediate|fix)`)
)

// names match headings and labels that begin with a word, whatever follows: "Root cause (likely)".
func names(words ...string) (all []*regexp.Regexp) {
	for _, word := range words {
		all = append(all, regexp.MustCompile(`(?i)^[\W\d]*`+word+`\b`))
	}
	return all
}

// Names that begin like those and say something else: what is not the cause, or is done already.
var (
	misleading = regexp.MustCompile(`(?i)\b(ruled[ -]out|excluded|eliminated|rejected|considered|taken|tried|attempted|` +
		`applied|performed|executed|completed|already)\b|^[\W\d]*\pL+( of( the)?)? impact\b`)
	planned = regexp.MustCompile(`(?i)\bto be (taken|tried|considered|applied|performed|executed|completed)\b`)
)

// named: a name is of the kind.
func named(kind *regexp.Regexp, name string) bool {
	return kind.MatchString(name) && !misleading.MatchString(planned.ReplaceAllString(name, ""))
}

// How much of a part is brief, in characters: eight lines of 80 columns in all, of which the
// cause and the first step have two.
const (
	oneLine, twoLines = 60, 140
	maxSteps          = 3
)

// BriefOf reads a report, which is Markdown or one JSON object, by rule: a part is what stands below a heading, or
// after a label ("**Cause:** …"), of a known name. Of the cause and the confidence the first
// paragraph is taken, of what to do the first steps of the first list, or the first paragraph. proof is what the report
// was checked against; nil = it was not. The report's own word on that counts for nothing.
func BriefOf(report string, proof *evidence.Evidence) (b Brief) {
	src := []byte(markdown.Readable(report))
	parts := partsOf(markdown.Parse(src), src)
	b.Cause, _ = cut(find(parts, causes).text, twoLines)
	b.Confidence, _ = cut(find(parts, confidences).text, oneLine)
	if proof != nil {
		b.Proof = proof.Failed()
	}
	next := find(parts, nexts)
	if len(next.items) == 0 && next.text != "" {
		if next.more {
			next.text += " …"
		}
		next.items = []string{next.text}
	}
	for n, step := range next.items[:min(len(next.items), maxSteps)] {
		short, inCode := cut(step, map[bool]int{true: twoLines, false: oneLine + 10}[n == 0])
		if inCode { // half a command is another one
			short = "see below"
		}
		b.Next = append(b.Next, short)
	}
	return b
}

// part is a part of a report: what it is called, its first paragraph, and its first list.
type part struct {
	name, text string
	more       bool // there is something below the first paragraph that is no list
	items      []string
}

func partsOf(root ast.Node, src []byte) (parts []part) {
	parts = append(parts, part{})
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			parts = append(parts, part{name: textOf(n, src)})
		case *ast.Paragraph:
			said := paragraph(textOf(n, src))
			if last := &parts[len(parts)-1]; last.text == "" {
				last.text = said[0].text
			} else {
				last.more = true
			}
			parts = append(parts, said[1:]...)
		case *ast.List:
			var items []string
			for item := n.FirstChild(); item != nil; item = item.NextSibling() {
				if item.FirstChild() == nil {
					continue
				}
				said := paragraph(textOf(item.FirstChild(), src))
				parts = append(parts, said[1:]...)
				if item.ChildCount() > 1 {
					said[0].text += " …"
				}
				if len(said) == 1 {
					items = append(items, said[0].text)
				}
			}
			if last := &parts[len(parts)-1]; len(last.items) == 0 {
				last.items = items
			}
		default:
			parts[len(parts)-1].more = true
		}
	}
	return parts
}

// label is the name of a part at the beginning of a line.
var label = regexp.MustCompile(`^[*_]*(\pL[\pL ]{2,30}?)[*_]*:[*_]*\s*`)

// paragraph is the text of a paragraph, and then the parts that labels in its lines name.
func paragraph(text string) []part {
	said := []part{{text: text}}
	follows := false // what the last label began
	for line := range strings.Lines(text) {
		m := label.FindStringSubmatch(line)
		known := func(kind *regexp.Regexp) bool { return named(kind, m[1]) }
		switch {
		case m == nil && follows:
			said[len(said)-1].text += "\n" + strings.TrimSpace(line)
		case m == nil:
		case !slices.ContainsFunc(slices.Concat(causes, confidences, nexts), known):
			follows = false
		default:
			if strings.HasPrefix(text, line) {
				said[0].text = strings.TrimPrefix(text, m[0])
			}
			said = append(said, part{name: m[1], text: strings.TrimSpace(strings.TrimPrefix(line, m[0]))})
			follows = true
		}
	}
	return said
}

// find returns the first part of the surest name that has something to say.
func find(parts []part, names []*regexp.Regexp) part {
	for _, name := range names {
		for _, p := range parts {
			if named(name, p.name) && (p.text != "" || len(p.items) > 0) {
				if p.text == "" {
					p.text = p.items[0]
				}
				return p
			}
		}
	}
	return part{}
}

// textOf is the source of a block without the marks of the block.
func textOf(n ast.Node, src []byte) string {
	if n.Lines() == nil {
		return ""
	}
	return strings.TrimSpace(string(n.Lines().Value(src)))
}

// codeSpan is what Markdown sets as code in a line.
var codeSpan = regexp.MustCompile("```.*?```|``.*?``|`[^`]*`")

// cut is the beginning of a text on one line, cut after a sentence, or else after a word, and
// before code that would be cut in two.
func cut(text string, limit int) (short string, inCode bool) {
	text = strings.Join(strings.Fields(text), " ")
	runes := []rune(text)
	if len(runes) <= limit {
		return text, false
	}
	short = string(runes[:limit])
	if end := strings.LastIndex(short, ". "); end > 0 {
		short = short[:end+1]
	} else if space := strings.LastIndexByte(short, ' '); space > 0 {
		short = short[:space]
	}
	for _, code := range codeSpan.FindAllStringIndex(text, -1) {
		if code[0] < len(short) && len(short) < code[1] {
			short, inCode = text[:code[0]], true
		}
	}
	return strings.TrimSpace(strings.TrimSuffix(short, " ") + " …"), inCode
}
