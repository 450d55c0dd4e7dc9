package markdown_test

import (
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"github.com/inquest-dev/inquest/internal/kit/markdown"
)

func TestUnlinked(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"see [the docs](https://evil.example/?x) and ![](http://x/y)": `see \[the docs](https://evil.example/?x) and !\[](http://x/y)`,
		"run `kubectl get pod -o jsonpath='{.items[0]}'` [now](x)":    "run `kubectl get pod -o jsonpath='{.items[0]}'` \\[now](x)",
		"```bash\necho ${a[0]}\n```\n[a](b)":                          "```bash\necho ${a[0]}\n```\n\\[a](b)",
		"an odd ` and [a](b) and ``c`` `x[0]`":                        "an odd ` and \\[a](b) and ``c`` `x\\[0]`",
		`\[a](b) \\[a](b)`:                                            `\[a](b) \\\[a](b)`,
		"[a][1]\n\n[1]: http://x":                                     "\\[a]\\[1]\n\n\\[1]: http://x",
		"```\n[a](b)":                                                 "```\n\\[a](b)",
	} {
		if got := markdown.Unlinked(in); got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", in, got, want)
		}
	}
}

// FuzzUnlinked looks for links and images with a parser that shows them.
func FuzzUnlinked(f *testing.F) {
	for _, seed := range []string{
		"`a`` ![x](u) ```", "> ```\n> [a](b)\n", "- ```\n  [a](b)\n  ```", "~~~\n`[a](b)", "<b>[a](b)",
		"    ```\n[a](b)\n    ```",
		"[a]: u\n\n`x` [a]", "```\n`\n```\n[a](b)`", "\\`[a](b)`", "| `a | [b](c)` |\n|---|---|\n| ` | [b](c) ` |",
		"a `\r[a](b)`", "1. a\n\n   ```\n[x](y)\n   ```", "```\n|`|\n```\n\n`[a](b)`",
	} {
		f.Add(seed)
	}
	parsers := []goldmark.Markdown{goldmark.New(), goldmark.New(goldmark.WithExtensions(extension.GFM))}
	f.Fuzz(func(t *testing.T, in string) {
		out := []byte(markdown.Unlinked(in))
		for _, p := range parsers {
			_ = ast.Walk(p.Parser().Parse(text.NewReader(out)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
				switch n.Kind() {
				case ast.KindLink, ast.KindImage:
					t.Errorf("%q became %q, which has a link", in, out)
				}
				return ast.WalkContinue, nil
			})
		}
	})
}
