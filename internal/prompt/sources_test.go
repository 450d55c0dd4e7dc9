package prompt

import (
	"testing"

	"github.com/inquest-dev/inquest/internal/llm"
)

// TestWithSources checks that the pages follow the text and that titles cannot add anything else.
func TestWithSources(t *testing.T) {
	t.Parallel()
	pages := []llm.Source{
		{Title: "Release\n\n# [notes](http://evil.example) <b>", URL: "https://go.dev/doc?a=b"}, {URL: "http://a.example/x"},
		{Title: "no page", URL: "javascript:alert(1)"}, {URL: "://"}, {URL: "https://a.example/> [x](http://evil.example)"},
	}
	const want = "It is fixed.\n\nSources:\n\n" +
		"- Release # (notes)(http://evil.example) ‹b›: <https://go.dev/doc?a=b>\n- <http://a.example/x>"
	for _, test := range []struct {
		text    string
		sources []llm.Source
		want    string
	}{
		{"It is fixed.", pages, want}, {"It is fixed.\n", pages[2:], "It is fixed.\n"}, {"", pages, ""}, {"It is fixed.", nil, "It is fixed."},
	} {
		if got := WithSources(test.text, test.sources); got != test.want {
			t.Errorf("%q", got)
		}
	}
}
