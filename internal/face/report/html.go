package report

import (
	_ "embed"
	"html/template"
	"io"

	"github.com/inquest-dev/inquest/internal/kit/markdown"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
)

//go:embed page.html
var page string

// HTML writes the report as one self-contained page. Text from models is treated as data: it cannot add HTML, and the page may neither
// load nor run anything.
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
