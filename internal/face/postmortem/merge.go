package postmortem

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// A document has a line that names the investigation and the sections that were drafted, and around each section two lines. The first of
// them has a hash of the drafted text, which tells whether a person has changed it.
const (
	header  = "<!-- inquest:postmortem %s sections: %s -->"
	opening = "<!-- inquest:begin %s %s -->"
	closing = "<!-- inquest:end %s -->"
)

var (
	headerLine  = regexp.MustCompile(`(?m)^<!-- inquest:postmortem (\S+) sections:([a-z ]*)-->[ \t\r]*$`)
	openingLine = regexp.MustCompile(`(?m)^<!-- inquest:begin ([a-z]+) ([0-9a-f]+) -->[ \t\r]*$`)
)

// ErrForeign means that a document is not a post-mortem of the investigation.
var ErrForeign = errors.New("the document is not a post-mortem of this investigation")

var errSeveral = errors.New("the document has several post-mortems: each needs a file of its own")

// New returns a document with the sections of an investigation.
func New(investigation, title string, sections []Section) string {
	var keys []string
	out := ""
	for _, s := range sections {
		keys = append(keys, s.Key)
		out += fmt.Sprintf("\n## %s\n\n%s\n", s.Title, s.marked())
	}
	return fmt.Sprintf(header, url.PathEscape(investigation), strings.Join(keys, " ")) + "\n\n# " + title + "\n" + out
}

// marked returns the text between its two lines.
func (s Section) marked() string {
	return fmt.Sprintf(opening, s.Key, hash(s.Text)) + "\n" + s.Text + "\n" + fmt.Sprintf(closing, s.Key)
}

// hash ignores what editors change by themselves: ends of lines, and blanks before them.
func hash(text string) string {
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(text)) {
		lines = append(lines, strings.TrimRight(line, " \t\r\n"))
	}
	return fmt.Sprintf("%.6x", sha256.Sum256([]byte(strings.Join(lines, "\n"))))
}

// Update replaces the sections of a document that nobody has changed, and leaves everything else as it is. A section that was removed
// stays away. kept are the titles of the sections that people have changed and whose new draft differs from the one that they saw. The
// error is ErrForeign, or says which line is missing.
func Update(document, investigation string, sections []Section) (updated string, kept []string, err error) {
	document = strings.TrimPrefix(document, "\ufeff") // from an editor
	head := headerLine.FindStringSubmatchIndex(document)
	if head == nil || document[head[2]:head[3]] != url.PathEscape(investigation) {
		return "", nil, ErrForeign
	}
	if len(headerLine.FindAllStringIndex(document, 2)) > 1 {
		return "", nil, errSeveral
	}
	known := strings.Fields(document[head[4]:head[5]])
	var out strings.Builder
	rest := document
	for {
		m := openingLine.FindStringSubmatchIndex(rest)
		if m == nil {
			break
		}
		key, was := rest[m[2]:m[3]], rest[m[4]:m[5]]
		last := fmt.Sprintf(closing, key)
		end := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(last) + `[ \t\r]*$`).FindStringIndex(rest[m[1]:])
		next := openingLine.FindStringIndex(rest[m[1]:])
		if end == nil || next != nil && next[0] < end[0] {
			return "", nil, fmt.Errorf("the section %q has no end: restore the line %s below it, or remove the line above it", key, last)
		}
		body := rest[m[1] : m[1]+end[0]]
		whole := rest[m[0] : m[1]+end[0]+len(last)]
		out.WriteString(rest[:m[0]])
		rest = rest[m[0]+len(whole):]
		n := slices.IndexFunc(sections, func(s Section) bool { return s.Key == key })
		switch {
		case n < 0 || hash(body) != was:
			if n >= 0 && hash(sections[n].Text) != was {
				kept = append(kept, sections[n].Title)
			}
			out.WriteString(whole)
		default:
			out.WriteString(sections[n].marked())
		}
	}
	out.WriteString(rest)
	updated = out.String()
	added := ""
	for _, s := range sections {
		if !slices.Contains(known, s.Key) {
			known, added = append(known, s.Key), added+fmt.Sprintf("\n## %s\n\n%s\n", s.Title, s.marked())
		}
	}
	if added != "" {
		updated = headerLine.ReplaceAllLiteralString(updated, fmt.Sprintf(header, url.PathEscape(investigation), strings.Join(known, " ")))
		updated = strings.TrimRight(updated, "\n") + "\n" + added
	}
	return updated, kept, nil
}

var ours = regexp.MustCompile(`(?m)^<!-- inquest:[^>\n]*-->[ \t\r]*$\n?`)

// Plain returns a document's first heading, and the rest without the lines that Update needs.
func Plain(document string) (title, rest string) {
	document = strings.TrimSpace(ours.ReplaceAllString(document, ""))
	if first, below, _ := strings.Cut(document, "\n"); strings.HasPrefix(first, "# ") {
		return strings.TrimSpace(first[2:]), strings.TrimSpace(below)
	}
	return "Post-mortem", document
}
