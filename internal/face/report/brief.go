// Package report presents an investigation so that an on-call engineer finds the most important parts first.
package report

import (
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"

	"github.com/inquest-dev/inquest/internal/kit/markdown"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
)

// Headings that reports use for their parts, most reliable first.
var (
	causes      = names(`root cause`, `(likely |probable |most likely )?causes?`, `diagnosis`, `hypothesis`, `conclusion`, `summary`)
	confidences = names(`(confidence|certainty)`, `how (sure|certain)`)
	nexts       = names(`(what to do|next)`, `(remediation|mitigation|recommend(ation|ed)s?|actions?|immediate|fix)`)
)

// names returns patterns for headings and labels that begin with a word, whatever follows: "Root cause (likely)".
func names(words ...string) (all []*regexp.Regexp) {
	for _, word := range words {
		all = append(all, regexp.MustCompile(`(?i)^[\W\d]*`+word+`\b`))
	}
	return all
}

// degree matches a confidence within a text: "Confidence: high (two sources)" and "(high confidence)".
var degree = regexp.MustCompile(`(?is)\bconfidence\b[*_]*:[*_ ]*(\S.*)|\((\S[^()]*) confidence\b[^()]*\)`)

// Headings that begin like those above but mean something else: not the cause, or already done.
var (
	misleading = regexp.MustCompile(`(?i)\b(ruled[ -]out|excluded|eliminated|rejected|considered|taken|tried|attempted|` +
		`applied|performed|executed|completed|already)\b|^[\W\d]*\pL+( of( the)?)? impact\b`)
	planned = regexp.MustCompile(`(?i)\bto be (taken|tried|considered|applied|performed|executed|completed)\b`)
)

// named reports whether a heading is of a kind.
func named(kind *regexp.Regexp, name string) bool {
	return kind.MatchString(name) && !misleading.MatchString(planned.ReplaceAllString(name, ""))
}

// Maximum lengths of a brief's parts, in characters. In all, a brief has eight lines of 80 columns, with two for the cause and two for
// the first step.
const (
	oneLine, twoLines = 60, 140
	maxSteps          = 3
)

// BriefOf extracts the brief from a report, which is Markdown or one JSON object. A part is the text below a known heading or after a
// known label ("**Cause:** …"). For the cause and the confidence, BriefOf takes the first paragraph; the confidence may also stand in
// that of the cause. For the next steps, it takes the first items of the first list, or the first paragraph. proof is the evidence that
// the report was checked against; nil means that it was not checked. BriefOf ignores what the report itself says about that.
func BriefOf(r record.Investigation, proof *evidence.Evidence) (b system.Brief) {
	b.Caveats = r.Envelope.Caveats()
	src := []byte(textOfReport(r))
	parts := partsOf(markdown.Parse(src), src)
	cause, confidence := find(parts, causes).text, find(parts, confidences).text
	if m := degree.FindStringSubmatchIndex(cause); m != nil && confidence == "" {
		if m[2] >= 0 {
			cause, confidence = strings.TrimRight(cause[:m[0]], "*_(-–— \n"), cause[m[2]:m[3]]
		} else {
			confidence = cause[m[4]:m[5]]
		}
	}
	b.Cause, _ = cut(cause, twoLines)
	b.Confidence, _ = cut(confidence, oneLine)
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
		if inCode { // half a command could be a different command
			short = "see below"
		}
		b.Next = append(b.Next, short)
	}
	return b
}

// part is a part of a report: its heading, first paragraph and first list.
type part struct {
	name, text string
	more       bool // something other than a list follows the first paragraph
	items      []string
}

func partsOf(root ast.Node, src []byte) (parts []part) {
	parts = append(parts, part{})
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			parts = append(parts, part{name: textOf(n, src)})
		case *ast.Paragraph:
			text := textOf(n, src)
			if m := boldLine.FindStringSubmatch(text); m != nil {
				parts, text = append(parts, part{name: m[1]}), strings.TrimSpace(text[len(m[0]):])
			}
			if text == "" {
				continue
			}
			said := paragraph(text)
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

// boldLine matches a first line that is only bold text, which models write as a heading.
var boldLine = regexp.MustCompile(`^(?:\*\*|__)([^*_\n]{3,60})(?:\*\*|__):?[ \t]*(?:\n|$)`)

// label matches the label of a part at the beginning of a line.
var label = regexp.MustCompile(`^[*_]*(\pL[\pL ]{2,30}?)[*_]*:[*_]*\s*`)

// paragraph splits a paragraph into its text and the parts that begin with a label in its lines.
func paragraph(text string) []part {
	said := []part{{text: text}}
	follows := false // whether the next line continues the last part
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

// find returns the first part with content that has the most reliable heading.
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

// textOf returns the source of a block without its markup.
func textOf(n ast.Node, src []byte) string {
	if n.Lines() == nil {
		return ""
	}
	return strings.TrimSpace(string(n.Lines().Value(src)))
}

// codeSpan matches inline code in Markdown.
var codeSpan = regexp.MustCompile("```.*?```|``.*?``|`[^`]*`")

// cut shortens a text to one line. It cuts after a sentence, else after a word, and before code that would otherwise be cut in two.
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
