package clip_test

import (
	"testing"

	"github.com/inquest-dev/inquest/internal/kit/clip"
)

func TestClip(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		cut  func(string, int) string
		text string
		n    int
		want string
	}{
		{"bytes, all", clip.Bytes, "añb", 4, "añb"},
		{"bytes, at a character", clip.Bytes, "añb", 3, "añ"},
		{"bytes, within a character", clip.Bytes, "añb", 2, "a"},
		{"bytes, none", clip.Bytes, "ñ", 0, ""},
		{"bytes that are no text", clip.Bytes, "\x80\x80\x80", 2, ""},
		{"runes, all", clip.Runes, "añb", 3, "añb"},
		{"runes", clip.Runes, "añb", 2, "añ"},
		{"runes, none", clip.Runes, "añb", 0, ""},
		{"text, all", clip.Text, "añb", 4, "añb"},
		{"text", clip.Text, "añb", 2, "a…"},
		{"line, all", clip.Line, "añb", 3, "añb"},
		{"line", clip.Line, "añb", 2, "añ…"},
		{"fit, all", clip.Fit, "añb", 3, "añb"},
		{"fit", clip.Fit, "añb", 2, "a…"},
		{"ends, all", clip.Ends, "añb", 3, "añb"},
		{"ends", clip.Ends, "abcdefñh", 6, "ab … efñh"},
	} {
		if got := test.cut(test.text, test.n); got != test.want {
			t.Errorf("%s: %q", test.name, got)
		}
	}
}
