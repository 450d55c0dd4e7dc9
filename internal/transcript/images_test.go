package transcript_test

import (
	"testing"

	"github.com/inquest-dev/inquest/internal/transcript"
)

// TestImageNotes: the notes are removed, and nothing else.
func TestImageNotes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "plain", "[image of old]", "before\n[image, image/png, 70 bytes: kept as an artifact]", "two\n[image of a cat]\nlines",
	} {
		noted := text + transcript.ImageNote("image of 1×1 pixels, as image/png") + transcript.ImageNote("image of 1×1 pixels, as image/png") +
			transcript.ImageNote("image: not shown, too large")
		if got := transcript.WithoutImageNotes(noted); got != text {
			t.Errorf("%q became %q", noted, got)
		}
		if got := transcript.WithoutImageNotes(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
