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
	to.Register(ast.KindLink, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		return ast.WalkContinue, anchor(w, string(n.(*ast.Link).Destination), entering)
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
	to, wrong := url.Parse(address)
	if wrong != nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == "" {
		return nil
	}
	text := "</a>"
	if begin {
		text = `<a rel="noopener noreferrer nofollow" href="` + template.HTMLEscapeString(to.String()) + `">`
	}
	_, err = w.WriteString(text)
	return err
}
