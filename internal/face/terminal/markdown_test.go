package terminal_test

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/face/terminal"
)

func TestMarkdown(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, source, want string
		width              int
		color              bool
	}{
		{"heading", "## Root cause\n\nThe **pool** is *too small*.", "## Root cause\n\nThe pool is too small.\n", 40, false},
		{"heading in colour", "# Cause\nthe **pool** `max`", "\x1b[1mCause\x1b[0m\n\nthe \x1b[1mpool\x1b[0m \x1b[36mmax\x1b[0m\n", 40, true},
		{
			"words are kept whole", "- checkout.payments.svc, e.g. restart-pods in turn",
			"• checkout.payments.svc,\n  e.g. restart-pods in\n  turn\n", 24, false,
		},
		{"lines of a paragraph", "Cause: the pool\nConfidence: high", "Cause: the pool\nConfidence: high\n", 40, false},
		{"lists", "1. one\n2. two\n   - a\n   - b", "1. one\n2. two\n   • a\n   • b\n", 40, false},
		{"a loose list", "- one\n\n- two\n\n  more", "• one\n\n• two\n\n  more\n", 40, false},
		{
			"code is not broken", "Run:\n\n```sh\nkubectl -n shop get pods --selector app=checkout \\\n\t--watch\n```",
			"Run:\n\n    kubectl -n shop get pods --selector app=checkout \\\n        --watch\n", 24, false,
		},
		{"a command in a line stays whole", "then run `kubectl get po`, at last", "then run\n`kubectl get po`, at\nlast\n", 24, false},
		{"wide characters", "日本語日本語日本語日本語", "日本語日本語日本語日\n本語\n", 20, false},
		{"quote", "> it **is** the pool that is small", "│ it is the pool that\n│ is small\n", 22, false},
		{"link", "[run book](https://x.example/a-b?c=1&d=2)", "run book\n(https://x.example/a-b?c=1&d=2)\n", 24, false},
		{"a link that deceives", "[bank](https://b\u0430nk.example)", "bank (https://b\\u0430nk.example)\n", 60, false},
		{"an image is its description", "![a graph](https://x.example/p.png)", "a graph\n", 60, false},
		{"a definition of a link is text", "see [1]\n\n[1]: https://x.example", "see [1]\n\n[1]: https://x.example\n", 60, false},
		{"table", "| pod | state |\n|---|---|\n| `db-1` | **down** |\n| web | up |", "pod     state\n`db-1`  down\nweb     up\n", 40, false},
		{
			"a table without room", "| pod | state |\n|---|---|\n| checkout-1 | restarts all the time |",
			"pod: checkout-1\nstate: restarts all the\n  time\n", 24, false,
		},
		{"rule", "a\n\n***\n\nb", "a\n\n──────────────────────\n\nb\n", 22, false},
		{
			"HTML is text", "restart <pod-name> <script>alert(1)</script>\n\n<div>\nx\n</div>",
			"restart <pod-name> <script>alert(1)</script>\n\n<div>\nx\n</div>\n", 60, false,
		},
		{"escapes", "\x1b]0;owned\a \x1b[8mhidden", "␛]0;owned␇ ␛[8mhidden\n", 60, false},
		{
			"escapes that are encoded", "&#27;]0;owned&#7; &#x1b;[8m &lt;b&gt; `&#27;[8m` &#8238;",
			"␛]0;owned␇ ␛[8m <b> `&#27;[8m` \\u202e\n", 60, false,
		},
		{"deep", strings.Repeat("> ", 40) + "deep", "│ │ deep\n", 24, false},
		{"nothing", "", "", 40, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, terminal.Markdown(test.source, test.width, test.color)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzMarkdown checks that no text adds an escape sequence, and that only code and addresses are wider than the terminal.
func FuzzMarkdown(f *testing.F) {
	f.Add("# a\n- b `c`\n\n| a | b |\n|--|--|\n| 日本 | x |\n> > 1. x\n![a](b) **x *y* &#27;**", 30)
	f.Fuzz(func(t *testing.T, source string, width int) {
		if width < 30 || width > 300 {
			return
		}
		out := terminal.Markdown(source, width, false)
		if strings.ContainsAny(out, "\x1b\a\r") {
			t.Errorf("%q", out)
		}
		if strings.ContainsAny(source, "`~([<\t ") {
			return // code, links, deep nesting
		}
		for line := range strings.Lines(out) {
			if got := ansi.StringWidth(line); got > width {
				t.Errorf("%d columns: %q", got, line)
			}
		}
	})
}
