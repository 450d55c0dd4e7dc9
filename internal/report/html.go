package report

import (
	_ "embed"
	"html/template"
	"io"

	"github.com/inquest-dev/inquest/internal/markdown"
	"github.com/inquest-dev/inquest/internal/reveal"
)

//go:embed page.html
var page string

// HTML writes the report as one page that needs nothing else. What models wrote is data: it
// brings no HTML of its own, and the page may load and run nothing.
func (r Report) HTML(w io.Writer) error {
	t, err := template.New("report").Funcs(template.FuncMap{"unseen": reveal.Unseen, "markdown": func(text string) (template.HTML, error) {
		return markdown.HTML([]byte(reveal.Unseen(text)))
	}}).Parse(page)
	if err != nil {
		return err
	}
	return t.Execute(w, struct {
		Report
		Wrong []string
	}{r, r.wrong()})
}
