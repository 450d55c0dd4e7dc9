package report_test

import (
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/face/report"
)

// Nothing on the page can change the reading direction, wherever it is.
func TestHTMLRevealsWhatNobodySees(t *testing.T) {
	t.Parallel()
	const hidden = "a\u202eb"
	var page strings.Builder
	r := report.Report{
		ID: hidden, Line: hidden, Text: hidden, Error: hidden + "!", Unfinished: []string{hidden}, Undelivered: []string{hidden},
	}
	if err := r.HTML(&page); err != nil {
		t.Fatal(err)
	}
	if text := page.String(); strings.Contains(text, "\u202e") || strings.Count(text, `a\u202eb`) != 6 {
		t.Error(text)
	}
}
