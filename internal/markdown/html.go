package markdown

import (
	"bytes"
	"html/template"
	"net/url"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// HTML returns a text as HTML that loads nothing and runs nothing, whatever the text is: what
// looks like HTML in it is shown, an image is its description, and links go to http and https.
func HTML(source []byte) (template.HTML, error) {
	r := renderer.NewRenderer(renderer.WithNodeRenderers(
		util.Prioritized(harmless{}, 1),
		util.Prioritized(extension.NewTableHTMLRenderer(), 500),
		util.Prioritized(html.NewRenderer(html.WithHardWraps()), 1000),
	))
	var out bytes.Buffer
	err := r.Render(&out, source, Parse(source))
	return template.HTML(out.String()), err
}

// harmless renders what could lead elsewhere.
type harmless struct{}

func (harmless) RegisterFuncs(to renderer.NodeRendererFuncRegisterer) {
	to.Register(ast.KindImage, func(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) { return ast.WalkContinue, nil })
	to.Register(ast.KindLink, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		address := string(n.(*ast.Link).Destination)
		err := anchor(w, address, entering)
		if to := target(address); !entering && err == nil && to != "" && to != plainText(n, source) {
			_, err = w.WriteString(" (" + template.HTMLEscapeString(to) + ")") // the text may name another address
		}
		return ast.WalkContinue, err
	})
	to.Register(ast.KindAutoLink, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		link := n.(*ast.AutoLink)
		err := anchor(w, string(link.URL(source)), entering)
		if entering && err == nil {
			_, err = w.Write(util.EscapeHTML(link.Label(source)))
		}
		return ast.WalkContinue, err
	})
}

// anchor begins or ends a link, if the address may be followed.
func anchor(w util.BufWriter, address string, begin bool) (err error) {
	to := target(address)
	if to == "" {
		return nil
	}
	text := "</a>"
	if begin {
		text = `<a rel="noopener noreferrer nofollow" href="` + template.HTMLEscapeString(to) + `">`
	}
	_, err = w.WriteString(text)
	return err
}

// target is where a link leads, or "" if it may not be followed.
func target(address string) string {
	to, err := url.Parse(address)
	if err != nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == "" {
		return ""
	}
	return to.String()
}

// plainText is the text of a link, or "" if it is not text alone.
func plainText(link ast.Node, source []byte) (text string) {
	for n := link.FirstChild(); n != nil; n = n.NextSibling() {
		part, ok := n.(*ast.Text)
		if !ok {
			return ""
		}
		text += string(part.Value(source))
	}
	return text
}
