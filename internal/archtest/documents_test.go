package archtest

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// generatedTable matches a part of a document that a test or a benchmark writes or compares with the code.
var generatedTable = regexp.MustCompile(`(?s)<!-- (bench|injections|corpus|programs)\b.*?<!-- (/bench|end\b)`)

// TestDocumentSizes keeps the documents short enough to be read. Decision records and generated documents do not count.
func TestDocumentSizes(t *testing.T) {
	t.Parallel()
	var total int
	for file, text := range textFiles(t, os.DirFS("../.."), ".md") {
		if !strings.HasPrefix(file, "docs/") || path.Dir(file) == "docs/adr" {
			continue
		}
		words := len(strings.Fields(generatedTable.ReplaceAllString(text, "")))
		switch {
		case path.Base(file) == "config.md" || path.Base(file) == "measurements.md":
			continue
		case path.Dir(file) == "docs/how-to" && words >= 500:
			t.Errorf("%s has %d words; a how-to has fewer than 500", file, words)
		case path.Base(file) == "limitations.md":
			if rows := strings.Count(text, "\n| ") - strings.Count(text, "\n| limitation |"); rows > 60 || words > 1500 {
				t.Errorf("%s has %d entries and %d words; at most 60 and 1,500 are allowed", file, rows, words)
			}
		}
		total += words
	}
	t.Logf("%d words", total)
	if total > 25000 {
		t.Errorf("the documents have %d words; at most 25,000 are allowed", total)
	}
}
