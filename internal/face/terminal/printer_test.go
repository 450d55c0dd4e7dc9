package terminal

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

// However a text arrives, nothing is lost or doubled, no line is too long, and every line begins with its agent's name.
func TestTextInPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([a-zé☃日本🚀]{1,30}|[ \n]{1,3}){0,30}`).Draw(t, "text")
		width := rapid.SampledFrom([]int{0, 33, 40, 80}).Draw(t, "width")
		var out strings.Builder
		p := &printer{out: &out, width: width}
		a, b := &lane{name: "a"}, &lane{name: "b"}
		p.startBlock(a, replyBlock)
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len([]rune(rest))).Draw(t, "piece")
			p.add(a, string([]rune(rest)[:n]))
			rest = string([]rune(rest)[n:])
			if rapid.Bool().Draw(t, "peek") {
				p.peek(a)
			}
			if rapid.Bool().Draw(t, "interrupted") {
				p.print(b, noticeBlock, "interruption")
			}
		}
		p.endBlock(a)
		var got strings.Builder
		for line := range strings.Lines(out.String()) {
			if width > 0 && ansi.StringWidth(line) > width {
				t.Errorf("line is longer than %d: %q", width, line)
			}
			switch words, mine := strings.CutPrefix(line, "a │"); {
			case mine:
				got.WriteString(words)
			case !strings.HasPrefix(line, "b │ ! interruption"):
				t.Errorf("whose line is this: %q", line)
			}
		}
		if squeeze(got.String()) != squeeze(text) {
			t.Errorf("printed %q\nof      %q", got.String(), text)
		}
	})
}

func squeeze(text string) string { return strings.Join(strings.Fields(text), "") }

func TestClean(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		got := Clean(text)
		for _, r := range got {
			if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
				t.Errorf("%q has the control character %U", got, r)
			}
		}
		if !utf8.ValidString(got) || Clean(got) != got {
			t.Errorf("%q is not clean", got)
		}
		cut := rapid.IntRange(0, len(text)).Draw(t, "cut")
		if head := Clean(stablePrefix(text[:cut])); !strings.HasPrefix(got, head) {
			t.Errorf("%q does not begin with what was shown of it before: %q", got, head)
		}
	})
}
