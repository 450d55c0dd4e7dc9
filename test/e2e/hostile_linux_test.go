package e2e

import (
	"encoding/json"
	"fmt"

	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

// hostile is a text that would change the terminal's state if it were printed unchanged.
var hostile = strings.Join([]string{
	"\x1b]0;owned\x07", "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\", "\x1b]52;c;ZXZpbA==\x07", // title, link, clipboard
	"\x1b[?1049h\x1b[2J\x1b[1;1H", "\x1b[8mhidden\x1b[0m", "\x1bP$qm\x1b\\", "\x1bc", // another screen, invisible text, a query, a reset
	"\u009b31m\u009d0;owned\u009c", "rm -rf\rls\b\b\x7f\x00\x05\x0e", // the same in one character each; overwriting earlier text
	"a\u202eb\u2066c\u200bd\u2060e\U000e0041f\u2028g\ufeff", endless(), // reversed, invisible, very long
}, " ")

// endless is a line without repetition, because an agent that repeats itself is cut off.
func endless() string {
	var line strings.Builder
	for n := range 1000 {
		fmt.Fprint(&line, n*n)
	}
	return line.String()
}

// harmless matches the sequences that our own programs send to a terminal: colours, and the rewritten last
// line.
var harmless = regexp.MustCompile(`\x1b\[[0-9;]*m|\r\x1b\[K|\r+\n`)

// Whatever text comes from an alert, a model, a tool server or a provider, a watcher's terminal receives only
// text and our own sequences.
func TestHostileTextOnATerminal(t *testing.T) {
	t.Parallel()
	args, err := json.Marshal(map[string]string{"text": hostile, hostile: hostile})
	if err != nil {
		t.Fatal(err)
	}
	refusal, err := json.Marshal(map[string]any{"error": map[string]string{"message": hostile}})
	if err != nil {
		t.Fatal(err)
	}
	plain, _ := newLab(t, func(l *lab) {
		l.replace["Alpha 1"] = llmtest.Calls(
			llmtest.Call{Name: "lab__echo", Args: string(args)}, llmtest.Call{Name: "lab__" + hostile, Args: hostile},
		).Thinking(hostile)
		l.replace["Alpha 2"] = llmtest.Text("alpha knows " + hostile)
		l.replace["Beta 1"] = llmtest.Status(400, string(refusal))
		l.replace["Gamma 2"] = llmtest.Text("the report of " + hostile)
	})
	w := plain.with("NO_COLOR=", "TERM=xterm-256color", "PAGER=cat")
	w.dev()
	alert := filepath.Join(w.data, "alert.txt")
	if err := os.WriteFile(alert, []byte(hostile), 0o600); err != nil {
		t.Fatal(err)
	}
	last := func(text string) string { return text[max(0, len(text)-2000):] }
	for _, command := range [][]string{
		{"run", "--plain", "--alert-type", "lab", "--data", "@" + alert, "--workflow-id", "lab"},
		{"watch", "lab"}, {"watch", "lab", "--verbose"}, {"show", "lab"}, {"status", "lab"}, {"list"},
		{"chat", "--agent", "Alpha", "--thread", "talk", "--message", "@" + alert}, {"chat", "--list"},
	} {
		p := w.terminal(command...)
		if code := p.wait(); code != 0 {
			t.Errorf("starter %q ends with %d:\n%q", command, code, last(p.log.String()))
		}
		shown := p.log.String()
		rest := harmless.ReplaceAllString(shown, "\n")
		if at := strings.IndexFunc(rest, func(r rune) bool { return reveal.Hidden(r) || r == '\x1b' }); at >= 0 {
			t.Errorf("starter %q sends the terminal %q", command, rest[max(0, at-40):min(len(rest), at+40)])
		}
		if command[0] != "status" && command[0] != "list" && command[1] != "--list" && !strings.Contains(shown, "␛]52;c;") {
			t.Errorf("starter %q does not show what was said:\n%q", command, last(shown))
		}
	}
}
