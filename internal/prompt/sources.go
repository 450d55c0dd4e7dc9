package prompt

import (
	"net/url"
	"strings"

	"github.com/inquest-dev/inquest/internal/clip"
	"github.com/inquest-dev/inquest/internal/llm"
)

// maxTitle is how much of a page's title is shown, in characters.
const maxTitle = 200

// WithSources is what an agent has said, and below it the pages that its provider has read for it. Titles are whatever
// somebody has written: no mark of Markdown is left of them. What is no address of a page is left out.
func WithSources(text string, sources []llm.Source) string {
	var lines []string
	for _, s := range sources {
		at, err := url.Parse(s.URL)
		if err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Host == "" || strings.ContainsAny(s.URL, "<> \"") {
			continue
		}
		title := strings.Join(strings.Fields(unmarked.Replace(s.Title)), " ")
		lines = append(lines, "- "+strings.TrimPrefix(clip.Line(title, maxTitle)+": ", ": ")+"<"+s.URL+">")
	}
	if len(lines) == 0 || strings.TrimSpace(text) == "" {
		return text
	}
	return text + "\n\nSources:\n\n" + strings.Join(lines, "\n")
}

var unmarked = strings.NewReplacer("[", "(", "]", ")", "<", "‹", ">", "›", "`", "'", "*", "", "|", "¦")
