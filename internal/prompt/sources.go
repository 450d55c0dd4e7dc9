package prompt

import (
	"net/url"
	"strings"

	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/llm"
)

// maxTitle is the maximum length of a page's title, in characters.
const maxTitle = 200

// WithSources returns an agent's text, followed by the pages that its provider has read for it. Titles come from third
// parties, so all Markdown is removed from them. Invalid addresses are left out.
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
