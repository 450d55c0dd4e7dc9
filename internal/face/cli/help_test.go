package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
	"mvdan.cc/sh/v3/syntax"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/cli/local"
)

// Every command's help fits a terminal of 80 columns and has an example, and each example is a valid command line.
func TestHelp(t *testing.T) {
	t.Parallel()
	walk(root(helpless()), func(cmd *cobra.Command) {
		var help bytes.Buffer
		cmd.SetOut(&help)
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(help.String()) {
			if width := ansi.StringWidth(line); width > 80 {
				t.Errorf("%s: a line of its help has %d columns: %s", cmd.CommandPath(), width, line)
			}
		}
		if cmd.HasParent() && !strings.Contains(cmd.Example, "starter ") {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		for _, words := range commandsIn(t, cmd.Example) {
			if err := taken(words); err != nil {
				t.Errorf("%s: its example starter %s: %v", cmd.CommandPath(), strings.Join(words, " "), err)
			}
		}
	})
}

// Every command with output also supports JSON output.
func TestJSONEverywhere(t *testing.T) {
	t.Parallel()
	others := []string{
		"starter agent export", "starter memory export", // always print JSON
		"starter agent import", "starter memory import", "starter memory set", "starter memory delete",
		"starter init",                                              // print only a remark
		"starter codec", "starter ui", "starter man", "starter mcp", // serve, open, write
	}
	walk(root(helpless()), func(cmd *cobra.Command) {
		if has := cmd.Flag("json") != nil; !cmd.HasSubCommands() && cmd.Parent().Name() != "completion" &&
			has == slices.Contains(others, cmd.CommandPath()) {
			t.Errorf("%s: --json: %t", cmd.CommandPath(), has)
		}
	})
}

// helpless is a command line without a system.
func helpless() *base.CLI {
	return &base.CLI{
		In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, Getenv: func(string) string { return "" }, Full: local.Full(),
	}
}

// walk calls fn with every command that is visible or used for packaging.
func walk(cmd *cobra.Command, fn func(*cobra.Command)) {
	fn(cmd)
	for _, one := range cmd.Commands() {
		if one.IsAvailableCommand() || one.Name() == "man" {
			walk(one, fn)
		}
	}
}

// commandsIn returns the words of each call of starter in shell lines.
func commandsIn(t *testing.T, lines string) (calls [][]string) {
	t.Helper()
	script, err := syntax.NewParser().Parse(strings.NewReader(lines), "")
	if err != nil {
		t.Fatalf("%s: %v", lines, err)
	}
	syntax.Walk(script, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 || call.Args[0].Lit() != "starter" {
			return true
		}
		var words []string
		for _, arg := range call.Args[1:] {
			var word strings.Builder
			for _, part := range arg.Parts {
				switch part := part.(type) {
				case *syntax.Lit:
					word.WriteString(part.Value)
				case *syntax.SglQuoted:
					word.WriteString(part.Value)
				case *syntax.DblQuoted:
					word.WriteString(part.Parts[0].(*syntax.Lit).Value)
				}
			}
			words = append(words, word.String())
		}
		calls = append(calls, words)
		return true
	})
	return calls
}

// taken parses a command line and runs nothing.
func taken(words []string) error {
	cmd, rest, err := root(helpless()).Find(words)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err == nil {
		err = cmd.ValidateRequiredFlags()
	}
	return err
}
