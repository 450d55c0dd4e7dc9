package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTranslated(t *testing.T) {
	for sentence, want := range map[string]bool{
		"What must not run twice is called again only if somebody said that it may.": true,
		"Of a place where a call is made, nothing is known.":                         true,
		"Those that failed are kept.":                                                true,
		"A store of its own is made.":                                                true,
		"again has it looked at later.":                                              true,
		`Reason is why it ended; "" = unknown.`:                                      true,
		"Calls that are unsafe to repeat are never retried unless you allow it.":     false,
		"requestPass schedules another pass.":                                        false,
		"Whatever happens, the lease is released.":                                   false,
	} {
		if got := translated(sentence); got != want {
			t.Errorf("%q: translated = %t, want %t", sentence, got, want)
		}
	}
}

func TestSentences(t *testing.T) {
	source := "package p\n\n// First has four words. Second is on\n// two lines: third has four words\nvar x int // no line comment\n"
	want := []string{"First has four words.", "Second is on two lines:", "third has four words"}
	if got := goSentences(source); !slices.Equal(got, want) {
		t.Errorf("Go: got %q, want %q", got, want)
	}
	text := "# A title of four words\n\nSee [the *other* page](x.md) for more. Short one.\n- an item of four words\n\n" +
		"```\ncode is not a sentence here\n```\n\n| a row of cells |\n| another row of cells |\n"
	want = []string{
		"# A title of four words", "See the other page for more.", "an item of four words", "| a row of cells |", "| another row of cells |",
	}
	if got := markdownSentences(text); !slices.Equal(got, want) {
		t.Errorf("Markdown: got %q, want %q", got, want)
	}
}

func TestCheck(t *testing.T) {
	sentences := slices.Repeat([]string{"The worker retries the call."}, 98)
	sentences = append(sentences, "What failed is called again.", "Nobody knows the outcome.")
	var out bytes.Buffer
	if err := check(&out, "sentences", sentences, translated, 2); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	err := check(&out, "sentences", sentences, translated, 1.9)
	if err == nil || !strings.Contains(out.String(), "2 of 100 sentences (2.0 %") {
		t.Errorf("over the limit: %v\n%s", err, &out)
	}
}

func TestList(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.md")
	long := strings.Repeat("word ", longWords+1)
	if err := os.WriteFile(file, []byte("A plain sentence of words.\n\nNobody knows this sentence.\n\n"+long+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(&out, []string{file}); err != nil {
		t.Fatal(err)
	}
	if want := file + ": Nobody knows this sentence.\n" + file + ": " + strings.TrimSpace(long) + "\n"; out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", &out, want)
	}
}
