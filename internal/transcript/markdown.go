package transcript

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Markdown writes entries for people: messages, replies, tool calls with their results, and notices. The texts are quoted in full.
func Markdown(out *strings.Builder, entries []Entry) {
	for _, e := range entries {
		at := e.At.UTC().Format(time.RFC3339)
		switch e.Kind {
		case KindSystem:
			fmt.Fprintf(out, "\n<details><summary>System prompt</summary>\n\n%s\n\n</details>\n", fenced(e.Text))
		case KindUser:
			fmt.Fprintf(out, "\n## %s · %s\n\n%s\n", cmp.Or(e.By, "Inquest"), at, e.Text)
		case KindReply:
			fmt.Fprintf(out, "\n## Agent · %s\n\n%s\n", at, e.Text)
			for _, call := range e.Calls {
				fmt.Fprintf(out, "\nCall to `%s`:\n\n%s\n", call.Name, fenced(call.Arguments))
			}
		case KindResult:
			fmt.Fprintf(out, "\nResult of `%s`:\n\n%s\n", e.Call.Name, fenced(e.Text))
		case KindNotice:
			fmt.Fprintf(out, "\n> %s\n", strings.ReplaceAll(e.Text, "\n", "\n> "))
		}
	}
}

// fenced returns a text as a code block. The fence is longer than any in the text.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence
}
