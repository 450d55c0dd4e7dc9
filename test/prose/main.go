// Command prose counts sentences in Go comments and Markdown that read as translated or are too long, and fails if there are
// more than the limits allow. It looks for constructions that native technical writers almost never use, so its count is a
// lower bound.
//
//	go run ./test/prose            checks the files that git knows
//	go run ./test/prose FILE...    lists the sentences that it finds in these files
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Limits, in percent of all sentences.
const (
	goLimit       = 1.5
	markdownLimit = 2.0
	longLimit     = 3.0
	longWords     = 30 // a sentence with more words is long
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(out io.Writer, files []string) error {
	if len(files) > 0 {
		return list(out, files)
	}
	tracked, err := exec.Command("git", "ls-files", "-z", "*.go", "*.md").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	var code, text []string
	for _, file := range strings.Split(strings.TrimRight(string(tracked), "\x00"), "\x00") {
		if strings.Contains(file, "testdata/") || filepath.Base(file) == "config.md" { // config.md is generated
			continue
		}
		sentences, err := sentencesOf(file)
		if errors.Is(err, os.ErrNotExist) { // deleted, and not committed yet
			continue
		}
		if err != nil {
			return err
		}
		if strings.HasSuffix(file, ".go") {
			code = append(code, sentences...)
		} else {
			text = append(text, sentences...)
		}
	}
	return errors.Join(
		check(out, "Go comments that read as translated", code, translated, goLimit),
		check(out, "Markdown that reads as translated", text, translated, markdownLimit),
		check(out, fmt.Sprintf("Markdown sentences of more than %d words", longWords), text, long, longLimit),
	)
}

func list(out io.Writer, files []string) error {
	for _, file := range files {
		sentences, err := sentencesOf(file)
		if err != nil {
			return err
		}
		for _, s := range sentences {
			if translated(s) || long(s) && strings.HasSuffix(file, ".md") {
				fmt.Fprintf(out, "%s: %s\n", file, s)
			}
		}
	}
	return nil
}

// check prints how many sentences match, and returns an error if they are more than limit percent.
func check(out io.Writer, what string, sentences []string, match func(string) bool, limit float64) error {
	found := 0
	for _, s := range sentences {
		if match(s) {
			found++
		}
	}
	percent := 100 * float64(found) / float64(max(len(sentences), 1))
	fmt.Fprintf(out, "%s: %d of %d sentences (%.1f %%, limit %.1f %%)\n", what, found, len(sentences), percent, limit)
	if percent > limit {
		return fmt.Errorf("%s: %.1f %%, over the limit of %.1f %%; list them with: go run ./test/prose FILE", what, percent, limit)
	}
	return nil
}

func sentencesOf(file string) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(file, ".go") {
		return goSentences(string(text)), nil
	}
	return markdownSentences(string(text)), nil
}

var comment = regexp.MustCompile(`^\s*// ?(.*)`)

// goSentences returns the sentences of line comments. Consecutive lines are one text.
func goSentences(source string) (all []string) {
	var current []string
	flush := func() {
		all = append(all, sentences(strings.Join(current, " "))...)
		current = nil
	}
	for line := range strings.Lines(source) {
		if m := comment.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
			current = append(current, m[1])
		} else {
			flush()
		}
	}
	flush()
	return all
}

var (
	fenced    = regexp.MustCompile("(?s)```.*?```|<!--.*?-->")
	paragraph = regexp.MustCompile(`\n\s*\n|\n[-*] `)
	link      = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)
	markup    = strings.NewReplacer("`", "", "*", "", "_", "", "\n", " ")
)

// markdownSentences returns the sentences of paragraphs, list items and table rows, without code blocks.
func markdownSentences(text string) (all []string) {
	for _, block := range paragraph.Split(fenced.ReplaceAllString(text, ""), -1) {
		parts := []string{block}
		if strings.HasPrefix(strings.TrimSpace(block), "|") {
			parts = strings.Split(block, "\n")
		}
		for _, part := range parts {
			all = append(all, sentences(markup.Replace(link.ReplaceAllString(part, "$1")))...)
		}
	}
	return all
}

var sentenceEnd = regexp.MustCompile(`[.:;!?]\s+`)

// sentences splits a text after punctuation. Fragments of up to three words are left out.
func sentences(text string) (all []string) {
	text = sentenceEnd.ReplaceAllStringFunc(text, func(end string) string { return end[:1] + "\n" })
	for s := range strings.SplitSeq(text, "\n") {
		if s = strings.TrimSpace(s); len(strings.Fields(s)) > 3 {
			all = append(all, s)
		}
	}
	return all
}

func long(sentence string) bool { return len(strings.Fields(sentence)) > longWords }

func translated(sentence string) bool {
	for _, r := range constructions {
		if r.MatchString(sentence) {
			return true
		}
	}
	return false
}

// constructions mark a sentence as translated. Add one when a reviewer sees a construction come back.
var constructions = []*regexp.Regexp{
	regexp.MustCompile(`^(What|Who|Whoever|Whom|Whose|Of (what|those|these|them|a|an|the|its)\b|That which|Those (who|that|of)` +
		`|One (that|who|of which)|Where (nothing|somebody|nobody|something|it|one)|By (what|which|whom)|As (what|whom)|Nobody|Somebody)\b`),
	regexp.MustCompile(`(?i)\b(somebody|nobody) (has|is|was|says|knows|said|asks?|had)\b`),
	regexp.MustCompile(`(?i)\b(of which|by which|to whom|for want of|so does)\b`),
	regexp.MustCompile(`(?i)\bas it (is|was|has|came)\b`),
	regexp.MustCompile(`(?i)\bwhat (is|has|was|had|came|waits|runs|stands|ended|failed|comes` +
		`|it|they|he|somebody|nobody|a|an|the|this|that|there)\b`),
	regexp.MustCompile(`(?i)\bwho(ever)? (is|has|was|asks?|watch(es)?|decides?|waits?|comes?|reads?|starts?|runs?)\b`),
	regexp.MustCompile(`; "" =`),
	regexp.MustCompile(`(?i)\bhas (it|them|him|one|its|what)\b [a-z]+(ed|d|en)?\b`),
	regexp.MustCompile(`(?i)\bthan a\b.*\bof its own\b`),
	regexp.MustCompile(`(?i)\bof (one's|its|their|our) own\b`),
	regexp.MustCompile(`(?i)\bat (the )?most\b$`),
}
