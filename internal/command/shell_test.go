package command

import "testing"

func TestShellWord(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"dig/Alpha/c1_0": "dig/Alpha/c1_0", "@alert.json": "@alert.json", "a b": "'a b'", "": "''", "$(id)": "'$(id)'", "=ls": "'=ls'",
		"it's": `'it'\''s'`, "a\n": "'a\n'",
	} {
		if got := ShellWord(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}
