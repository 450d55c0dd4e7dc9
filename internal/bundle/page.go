package bundle

import (
	"bytes"
	_ "embed"
	"html/template"
	"time"

	"github.com/inquest-dev/inquest/internal/kit/markdown"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("bundle").Funcs(template.FuncMap{
	"unseen":   reveal.Unseen,
	"markdown": func(text string) (template.HTML, error) { return markdown.HTML([]byte(reveal.Unseen(text))) },
	"utc":      utc,
}).Parse(pageText))

// page returns a page that a browser opens from the file system. Text from models and tools is treated as data: it cannot add HTML,
// and the page may neither load nor run anything.
func (c Content) page() ([]byte, error) {
	var out bytes.Buffer
	err := pageTemplate.Execute(&out, c)
	return out.Bytes(), err
}

// utc writes a time so that readers in different places mean the same.
func utc(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
