package llm_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/internal/llm"
)

func TestTextNoticesRepetition(t *testing.T) {
	t.Parallel()
	const thirty = "The pod restarts again, then; "
	long := varied(500)
	tests := []struct {
		name, text, want string
		stuck            bool
	}{
		{name: "five times thirty", text: thirty + thirty + thirty + thirty + thirty, want: thirty, stuck: true},
		{name: "four times thirty", text: strings.Repeat(thirty, 4), want: strings.Repeat(thirty, 4)},
		{name: "five times five hundred", text: "So. " + strings.Repeat(long, 5), want: "So. " + long, stuck: true},
		{name: "five times five hundred and one", text: strings.Repeat(long+"§", 5), want: strings.Repeat(long+"§", 5)},
		{name: "then something else", text: "Well:\n" + strings.Repeat(thirty, 5) + varied(3000), want: "Well:\n" + thirty, stuck: true},
		{name: "after a long text", text: varied(20000) + strings.Repeat(thirty, 5), want: varied(20000) + thirty, stuck: true},
		{name: "not in a row", text: strings.Repeat(thirty+"x", 4) + strings.Repeat(thirty, 3),
			want: strings.Repeat(thirty+"x", 4) + strings.Repeat(thirty, 3)},
		{name: "a short word, often", text: strings.Repeat("no ", 50), want: strings.Repeat("no ", 10), stuck: true},
		{name: "characters are not bytes", text: strings.Repeat("十二三四五六七八九十", 5), want: strings.Repeat("十二三四五六七八九十", 5)},
		{name: "characters of several bytes", text: "前" + strings.Repeat(strings.Repeat("长", 29)+"短", 5),
			want: "前" + strings.Repeat("长", 29) + "短", stuck: true},
		{name: "a table's rule", text: "|" + strings.Repeat("-", 1000) + "|", want: "|" + strings.Repeat("-", 1000) + "|"},
		{name: "rows of a table", text: strings.Repeat(strings.Repeat("-", 200)+"ab", 5), want: strings.Repeat("-", 200) + "ab", stuck: true},
		{name: "a rule without end", text: strings.Repeat("-", 6000), want: strings.Repeat("-", 30), stuck: true},
	}
	for _, tt := range tests {
		for _, size := range []int{1, 7, 1 << 20} {
			t.Run(fmt.Sprintf("%s by %d", tt.name, size), func(t *testing.T) {
				t.Parallel()
				got, stuck := collect(tt.text, size)
				if stuck != tt.stuck {
					t.Errorf("repeating = %v, want %v", stuck, tt.stuck)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("kept text (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestTextAgreesWithTheDefinition compares Text with a direct implementation of the definition.
func TestTextAgreesWithTheDefinition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.StringMatching(`[ab-]{1,80}`).Draw(t, "unit")
		text := rapid.StringMatching(`[ab-]{0,90}`).Draw(t, "before") +
			strings.Repeat(unit, rapid.IntRange(1, 9).Draw(t, "times")) +
			rapid.StringMatching(`[ab-]{0,90}`).Draw(t, "after")
		_, stuck := collect(text, rapid.IntRange(1, 200).Draw(t, "size"))
		if want := repeats(text); stuck != want {
			t.Fatalf("repeating = %v, want %v: %q", stuck, want, text)
		}
	})
}

func repeats(text string) bool {
	for at := range text {
		for unit := 30; unit <= 500 && at+5*unit <= len(text); unit++ {
			words := strings.ContainsAny(text[at:at+unit], "ab")
			if words && text[at:at+5*unit] == strings.Repeat(text[at:at+unit], 5) {
				return true
			}
		}
	}
	return false
}

func collect(text string, size int) (kept string, stuck bool) {
	var got llm.Text
	runes := []rune(text)
	for len(runes) > 0 && !stuck {
		n := min(size, len(runes))
		stuck = got.Add(string(runes[:n]))
		runes = runes[n:]
	}
	return got.String(), stuck
}

// varied returns n characters without repetition.
func varied(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%x ", i*i*2654435761)
	}
	return b.String()[:n]
}

func BenchmarkText(b *testing.B) {
	texts := map[string]string{
		"varied": varied(100_000),
		"rules":  strings.Repeat(strings.Repeat("-", 5000)+"\n"+varied(999), 17)[:100_000],
		"nearly": strings.Repeat(strings.Repeat("a", 149)+"\n", 4) + varied(99_400),
	}
	for name, text := range texts {
		for _, size := range []int{1, 4, 4096} {
			b.Run(fmt.Sprintf("%s by %d", name, size), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					collect(text, size)
				}
			})
		}
	}
}
