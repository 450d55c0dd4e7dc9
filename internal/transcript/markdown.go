package transcript

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/kit/markdown"
)

// Markdown writes entries for people: messages, replies, tool calls with their results, and notices. The texts are quoted in full.
func Markdown(out *strings.Builder, entries []Entry) {
	for _, e := range entries {
		at := e.At.UTC().Format(time.RFC3339)
		switch e.Kind {
		case KindSystem:
			fmt.Fprintf(out, "\n<details><summary>System prompt</summary>\n\n%s\n\n</details>\n", markdown.Fenced(e.Text))
		case KindUser:
			fmt.Fprintf(out, "\n## %s · %s\n\n%s\n", cmp.Or(e.By, "Inquest"), at, e.Text)
		case KindReply:
			fmt.Fprintf(out, "\n## Agent · %s\n\n%s\n", at, e.Text)
			for _, call := range e.Calls {
				fmt.Fprintf(out, "\nCall to `%s`:\n\n%s\n", call.Name, markdown.Fenced(call.Arguments))
			}
		case KindResult:
			fmt.Fprintf(out, "\nResult of `%s`:\n\n%s\n", e.Call.Name, markdown.Fenced(e.Text))
		case KindNotice:
			fmt.Fprintf(out, "\n> %s\n", strings.ReplaceAll(e.Text, "\n", "\n> "))
		}
	}
}
