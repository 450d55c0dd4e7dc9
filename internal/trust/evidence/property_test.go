package evidence

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestWhatIsNotThereIsNeverVerified: a single fact that is missing in the cited evidence is enough to fail a sentence, whatever
// else it says.
func TestWhatIsNotThereIsNeverVerified(t *testing.T) {
	t.Parallel()
	facts := map[string]*rapid.Generator[string]{
		"number": rapid.Map(rapid.IntRange(100, 99999), func(n int) string { return fmt.Sprint(n) }),
		"unit":   rapid.Map(rapid.IntRange(100, 999), func(n int) string { return fmt.Sprintf("%d ms", n) }),
		"clock":  rapid.Map(rapid.IntRange(0, 1439), func(n int) string { return fmt.Sprintf("%02d:%02d", n/60, n%60) }),
		"pod":    rapid.StringMatching(`[a-z]{4,8}-[0-9a-f]{6,9}-[a-z0-9]{5}`),
		"host":   rapid.StringMatching(`[a-z]{2,6}[0-9]{1,3}\.[a-z]{3,6}\.example`),
		"path":   rapid.StringMatching(`/[a-z]{3,6}/[a-z]{3,6}\.log`),
		"words":  rapid.StringMatching(`"[a-z]{5,8} [a-z]{5,8}"`),
	}
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{"number", "unit", "clock", "pod", "host", "path", "words"}).Draw(t, "kind")
		is, other := facts[kind].Draw(t, "is"), facts[kind].Draw(t, "other")
		frame := rapid.SampledFrom([]string{
			"It was %s [1].", "- web-1: **%s** [1]", "| web-1 | %s | [1] |", "web-1 says %s. [1] More.", "[1]: web-1, %s",
		}).Draw(t, "frame")
		text := fmt.Sprintf(rapid.SampledFrom([]string{"web-1 %s", "web-1: %s, and so on", "at %s web-1"}).Draw(t, "evidence"), is)
		for said, want := range map[string]Verdict{is: Verified, other: Unverified} {
			if said == other && (is == other || strings.Contains(is, other)) {
				continue
			}
			e := of(text)
			e.Check(fmt.Sprintf(frame, said))
			if len(e.Claims) != 1 || e.Claims[0].Verdict != want {
				t.Fatalf("%s\nof %s: %+v, want %s", fmt.Sprintf(frame, said), text, e.Claims, want)
			}
		}
	})
}

// FuzzCheck: a check only adds marks, and a verified claim has nothing missing.
func FuzzCheck(f *testing.F) {
	for _, report := range []string{
		"It restarted 8 times [1].", "x [1][2] y [1-9] 【3】`[1]`", "```\n[1]", "| 7 | [1] |", "[1](x) 14:02–14:09 UTC [2]",
		"1,2,3 \"a\\u00", "[0]",
	} {
		f.Add(report, "checkout restarted 7 times at 2026-11-22T14:02:05+01:00")
	}
	f.Fuzz(func(t *testing.T, report, text string) {
		e := of(text, "p99 latency 250 ms")
		marked := e.Check(report)
		for _, c := range e.Claims {
			if c.Verdict == Unverified {
				marked = strings.Replace(marked, mark(c), "", 1)
			}
			if (c.Verdict == Unverified) != (len(c.Missing) > 0) {
				t.Errorf("%+v", c)
			}
		}
		if utf8.ValidString(report) && !strings.Contains(report, "✗") && marked != report {
			t.Errorf("%q became %q", report, marked)
		}
		if folded := fold(text); len(folded.at) != len(folded.text)+1 {
			t.Errorf("%q is folded to %q with %d places", text, folded.text, len(folded.at))
		}
	})
}
