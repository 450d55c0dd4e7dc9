package mask_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/kit/goldentest"
	"github.com/inquest-dev/inquest/internal/trust/mask"
)

// The corpus is in testdata/corpus, with one case on each line. It contains no real secrets, and no line looks like a secret to
// repository scanners:
//
//	«x»               x must not survive masking
//	⏎                 a line end
//	{a36}             36 random letters and digits; A upper case and digits, l lower case
//	                  and digits, d digits, x and X hexadecimal, b base64, B upper-case letters
//	{esc} {zwsp} …    an invisible character
//	⟦base64:x⟧        x in an encoding
type sample struct{ written, text, secret string }

var alphabets = map[string]string{
	"a": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", "A": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
	"l": "abcdefghijklmnopqrstuvwxyz0123456789",
	"b": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", "B": "023456789ACDEFGHJKLMNPQRSTUVWXYZ", "d": "0123456789",
	"x": "0123456789abcdef", "X": "0123456789ABCDEF",
}

var hidden = strings.NewReplacer("⏎", "\n", "{esc}", "\x1b", "{zwsp}", "\u200b", "{zwj}", "\u200d", "{bom}", "\ufeff", "{shy}", "\u00ad",
	"{nbsp}", "\u00a0", "{nul}", "\x00")

var encodings = map[string]func(string) string{
	"base64":    func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64url": func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	"wrapped": func(s string) string {
		return strings.Join(regexp.MustCompile(`.{1,76}`).FindAllString(base64.StdEncoding.EncodeToString([]byte(s)), -1), "\n")
	},
	"url":   url.QueryEscape,
	"hex":   func(s string) string { return hex.EncodeToString([]byte(s)) },
	"utf16": func(s string) string { return strings.Join(strings.Split(s, ""), "\x00") + "\x00" },
}

var (
	randomText = regexp.MustCompile(`\{([aAlbBdxX])(\d+)\}`)
	encoded    = regexp.MustCompile(`⟦(\w+):([^⟦⟧]*)⟧`)
	secretText = regexp.MustCompile(`(?s)«(.*?)»`)
)

// samples reads a file of the corpus. A line with several secrets becomes several samples.
func samples(t *testing.T, path string) (out []sample) {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(body)) {
		if line = strings.TrimSuffix(line, "\n"); line == "" || strings.HasPrefix(line, "## ") {
			continue
		}
		text := expand(line)
		plain := strings.NewReplacer("«", "", "»", "").Replace(text)
		secrets := secretText.FindAllStringSubmatch(text, -1)
		if len(secrets) == 0 {
			out = append(out, sample{line, plain, ""})
		}
		for _, s := range secrets {
			out = append(out, sample{line, plain, s[1]})
		}
	}
	return out
}

func expand(line string) string {
	seed := fnv.New64()
	seed.Write([]byte(line))
	source := rand.New(rand.NewPCG(seed.Sum64(), 1))
	text := randomText.ReplaceAllStringFunc(line, func(s string) string {
		alphabet := alphabets[s[1:2]]
		n, _ := strconv.Atoi(s[2 : len(s)-1])
		var out strings.Builder
		for range n {
			out.WriteByte(alphabet[source.IntN(len(alphabet))])
		}
		return out.String()
	})
	for text = hidden.Replace(text); encoded.MatchString(text); {
		text = encoded.ReplaceAllStringFunc(text, func(s string) string {
			part := encoded.FindStringSubmatch(s)
			return encodings[part[1]](part[2])
		})
	}
	return text
}

// TestCorpus masks the corpus, and writes the results for every form to docs/reference/masking.md. The default group must find 97
// of 100 secrets, including disguised ones. Neither it nor the group "all" may mask harmless text.
func TestCorpus(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/corpus/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	groups := []string{"security", "all"}
	var table strings.Builder
	table.WriteString("| form | secrets | `security` finds | `all` finds |\n|---|---|---|---|\n")
	var total [2]int
	var found [2][2]int // of the undisguised ones, and of all; by group
	row := func(title string, n int, found [2]int) {
		fmt.Fprintf(&table, "| %s | %d | %d (%d %%) | %d (%d %%) |\n", title, n, found[0], 100*found[0]/n, found[1], 100*found[1]/n)
	}
	var innocent []sample
	for _, path := range paths {
		all := samples(t, path)
		title := heading(t, path)
		if filepath.Base(path) == "innocent.txt" {
			innocent = all
			continue
		}
		disguised := filepath.Base(path) == "disguised.txt"
		var here [2]int
		for g, group := range groups {
			m := newMasker(t, mask.Groups()[group]...)
			for _, s := range all {
				if masked := text(t, m, s.text); strings.Contains(masked, s.secret) {
					t.Logf("%s misses %s: %q", group, s.written, masked)
					continue
				}
				here[g]++
				if found[1][g]++; !disguised {
					found[0][g]++
				}
			}
		}
		row(title, len(all), here)
		if total[1] += len(all); !disguised {
			total[0] += len(all)
		}
	}
	row("**all but the disguised**", total[0], found[0])
	row("**all**", total[1], found[1])
	var alarms [2]int
	for g, group := range groups {
		m := newMasker(t, mask.Groups()[group]...)
		for _, s := range innocent {
			if masked := text(t, m, s.text); masked != s.text {
				t.Logf("%s alarm: %s: %q", group, s.written, masked)
				alarms[g]++
			}
		}
	}
	row("*false alarms, of innocent texts*", len(innocent), alarms)
	t.Logf("recall: %d of %d (%.1f %%); false alarms: %d and %d of %d", found[1][0], total[1], 100*float64(found[1][0])/float64(total[1]),
		alarms[0], alarms[1], len(innocent))
	if total[1] < 840 || found[1][0]*100 < total[1]*97 || found[0][0]*100 < total[0]*97 {
		t.Errorf("found %d of %d, and %d of %d without the disguised", found[1][0], total[1], found[0][0], total[0])
	}
	if len(innocent) < 720 || alarms != [2]int{} {
		t.Errorf("false alarms: %d and %d of %d", alarms[0], alarms[1], len(innocent))
	}
	compareTable(t, table.String())
}

// heading returns the first line of a file of the corpus.
func heading(t *testing.T, path string) string {
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(body), "\n")
	return strings.TrimSuffix(strings.TrimPrefix(line, "## "), ".")
}

// compareTable compares a table with the one in docs/reference/masking.md, or writes it there with -update.
func compareTable(t *testing.T, table string) {
	const path, begin, end = "../../../docs/reference/masking.md", "<!-- corpus -->\n", "<!-- end -->"
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := bytes.Cut(doc, []byte(begin))
	was, after, closed := bytes.Cut(rest, []byte(end))
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", path)
	}
	if goldentest.Updating() {
		if err := os.WriteFile(path, slices.Concat(before, []byte(begin+table+end), after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(string(was), table); diff != "" {
		t.Errorf("%s (-update writes it), -was +is:\n%s", path, diff)
	}
}
