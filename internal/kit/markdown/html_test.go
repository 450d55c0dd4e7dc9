package markdown_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/kit/markdown"
)

func TestHTML(t *testing.T) {
	t.Parallel()
	const rel = `rel="noopener noreferrer nofollow" `
	for _, test := range []struct{ name, source, want string }{
		{"text", "# A\n**b** `c`\nd", "<h1>A</h1>\n<p><strong>b</strong> <code>c</code><br>\nd</p>\n"},
		{
			"HTML", "<script>alert(1)</script>\n\na <b onclick=x>b</b>",
			"<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n<p>a &lt;b onclick=x&gt;b&lt;/b&gt;</p>\n",
		},
		{"entities", "&lt;script&gt; &#60;b", "<p>&lt;script&gt; &lt;b</p>\n"},
		{
			"code", "```\"><script>\n</code><b>\n```",
			"<pre><code class=\"language-&quot;&gt;&lt;script&gt;\">&lt;/code&gt;&lt;b&gt;\n</code></pre>\n",
		},
		{
			"link", "[a](https://x.example/?b=1&c=\"2)",
			"<p><a " + rel + "href=\"https://x.example/?b=1&amp;c=&#34;2\">a</a> (https://x.example/?b=1&amp;c=&#34;2)</p>\n",
		},
		{
			"a link whose text is its address", "[http://x_y.example](http://x_y.example)",
			"<p><a " + rel + "href=\"http://x_y.example\">http://x_y.example</a></p>\n",
		},
		{"address", "<http://x.example>", "<p><a " + rel + "href=\"http://x.example\">http://x.example</a></p>\n"},
		{
			"a link that runs", "[a](javascript:alert(1)) [b](JaVaScRiPt&colon;alert(1)) <javascript:alert(1)>",
			"<p>a b javascript:alert(1)</p>\n",
		},
		{"links to elsewhere", "[a](data:text/html,x) [b](//x.example) [c](file:///etc/passwd) [d](mailto:x@x.example)", "<p>a b c d</p>\n"},
		{"an image", "![a <b>](https://x.example/p.png)", "<p>a &lt;b&gt;</p>\n"},
		{
			"table", "|a|\n|-|\n|<i>|",
			"<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>&lt;i&gt;</td>\n</tr>\n</tbody>\n</table>\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := markdown.HTML([]byte(test.source))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
