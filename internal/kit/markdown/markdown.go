// Package markdown reads the Markdown that models write.
package markdown

import (
	"slices"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Parse returns the blocks of a text. Nothing of the text is lost: HTML and the definitions of
// links, which Markdown does not show, are text like other.
func Parse(source []byte) ast.Node {
	return goldmark.New(goldmark.WithParser(newParser()), goldmark.WithExtensions(extension.Table)).Parser().Parse(text.NewReader(source))
}

func newParser() parser.Parser {
	hides := func(v util.PrioritizedValue) bool {
		return v.Value == parser.NewHTMLBlockParser() || v.Value == parser.NewRawHTMLParser()
	}
	return parser.NewParser(
		parser.WithBlockParsers(slices.DeleteFunc(parser.DefaultBlockParsers(), hides)...),
		parser.WithInlineParsers(slices.DeleteFunc(parser.DefaultInlineParsers(), hides)...),
	)
}
