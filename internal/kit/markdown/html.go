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

// HTML renders a Markdown text as HTML that loads nothing and runs nothing, whatever the text is: HTML in it is
// shown as text, images become their descriptions, and only http and https addresses become links.
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

// harmless renders images and links.
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

// anchor writes the start or the end of a link, if target allows the address.
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

// target returns the address of a link, or an empty string if it is not http or https.
func target(address string) string {
	to, err := url.Parse(address)
	if err != nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == "" {
		return ""
	}
	return to.String()
}

// plainText returns the text of a link, or an empty string if the link contains anything else.
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
