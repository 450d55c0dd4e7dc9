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

// Limits of the next steps: their number, and the lines of code, lists and further paragraphs that belong to one.
const (
	maxSteps     = 3
	maxStepLines = 12
)

// BriefOf extracts the brief from a report, which is Markdown or one JSON object. A part is the text below a known heading or after a
// known label ("**Cause:** …"). For the cause and the confidence, BriefOf takes the first paragraph; the confidence may also stand in
// that of the cause. For the next steps, it takes the first items of the first list with their commands and conditions, or the text of
// the section. No sentence and no code is cut: whoever shows the brief wraps it. proof is the evidence that the report was checked
// against; nil means that it was not checked. BriefOf ignores the report's own statements about that.
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
	b.Cause, b.Confidence = oneLine(cause), oneLine(confidence)
	if proof != nil {
		b.Proof = proof.Summary()
	}
	next := find(parts, nexts)
	if len(next.items) == 0 && next.text != "" {
		next.items = []string{next.whole()}
	}
	b.Next = append(b.Next, next.items[:min(len(next.items), maxSteps)]...)
	return b
}

// impacts are the headings and labels of what an incident has caused, most reliable first.
var (
	impacts     = names(`(\pL+ )?impact`, `((who|what) (is|was) )?affected`, `(blast radius|symptoms?)`)
	impactLabel = regexp.MustCompile(`(?im)^[-*_ ]*((?:\pL+ )?impact|affected(?: \pL+)?|symptoms?)[*_]*:[*_]*[ \t]*(\S.*)$`)
	dismissed   = regexp.MustCompile(`(?i)\b(ruled[ -]out|excluded|eliminated|rejected|considered|no)\b`)
)

// Impact returns what a report says about the impact of an incident: the text and the list below such a heading, or after such a label, as
// Markdown. An empty string means nothing.
func Impact(r record.Investigation) string {
	src := []byte(textOfReport(r))
	parts := partsOf(markdown.Parse(src), src)
	for _, name := range impacts {
		for _, p := range parts {
			if !name.MatchString(p.name) || dismissed.MatchString(p.name) {
				continue
			}
			all := p.whole()
			for _, item := range p.items {
				all += "\n- " + oneLine(item)
			}
			if all = strings.TrimSpace(all); all != "" && all != "…" {
				return all
			}
		}
	}
	if m := impactLabel.FindStringSubmatch(string(src)); m != nil {
		return oneLine(m[2])
	}
	return ""
}

// part is a part of a report: its heading, its blocks and the items of its first list.
type part struct {
	name, text string   // text is the first paragraph
	blocks     []string // the blocks after text, as Markdown; an empty one has no form in a brief
	items      []string
}

// whole returns the text of a part with as many of its other blocks as a step may have, and an ellipsis if that leaves some out.
func (p part) whole() string {
	text, lines := oneLine(p.text), 0
	for n, block := range p.blocks {
		if lines += strings.Count(block, "\n") + 1; block == "" || lines > maxStepLines {
			if n == 0 {
				return text + " …"
			}
			return text + "\n\n…"
		}
		text += "\n\n" + block
	}
	return text
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func partsOf(root ast.Node, src []byte) (parts []part) {
	parts = append(parts, part{})
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		last := &parts[len(parts)-1]
		switch n := n.(type) {
		case *ast.Heading:
			parts = append(parts, part{name: textOf(n, src)})
		case *ast.Paragraph:
			text := textOf(n, src)
			if m := boldLine.FindStringSubmatch(text); m != nil {
				parts, text = append(parts, part{name: m[1]}), strings.TrimSpace(text[len(m[0]):])
				last = &parts[len(parts)-1]
			}
			if text == "" {
				continue
			}
			said := paragraph(text)
			if last.text == "" {
				last.text = said[0].text
			} else if said[0].text != "" {
				last.blocks = append(last.blocks, oneLine(said[0].text))
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
				if len(said) == 1 {
					items = append(items, itemOf(item, src).whole())
				}
			}
			if last := &parts[len(parts)-1]; len(last.items) == 0 {
				last.items = items
			}
		case *ast.ThematicBreak:
		default:
			last.blocks = append(last.blocks, blockOf(n, src))
		}
	}
	return parts
}

// itemOf returns the blocks of a list item.
func itemOf(item ast.Node, src []byte) part {
	out := part{text: textOf(item.FirstChild(), src)}
	for n := item.FirstChild().NextSibling(); n != nil; n = n.NextSibling() {
		out.blocks = append(out.blocks, blockOf(n, src))
	}
	return out
}

// blockOf returns a block as Markdown that stands for itself. It is empty for kinds that a brief does not show, such as tables.
func blockOf(n ast.Node, src []byte) string {
	switch n := n.(type) {
	case *ast.Paragraph, *ast.TextBlock:
		return oneLine(textOf(n, src))
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		return markdown.Fenced(strings.TrimRight(string(n.Lines().Value(src)), "\n"))
	case *ast.List:
		var items []string
		for item := n.FirstChild(); item != nil; item = item.NextSibling() {
			if item.FirstChild() == nil || item.ChildCount() > 1 {
				return "" // deeper than a step goes
			}
			items = append(items, "- "+oneLine(textOf(item.FirstChild(), src)))
		}
		return strings.Join(items, "\n")
	}
	return ""
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
