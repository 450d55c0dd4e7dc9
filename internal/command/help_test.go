package command

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Help fits into 80 columns: paragraphs are wrapped and examples are left as they are.
func TestFitHelp(t *testing.T) {
	t.Parallel()
	const example = "  program run --with something\n"
	root := &cobra.Command{Use: "program", Long: strings.Repeat("one line goes on\n", 20) + "\n" + example}
	root.Flags().String("flag", "", strings.Repeat("what it is for, ", 20))
	root.Run = func(*cobra.Command, []string) {}
	FitHelp(root)
	var help bytes.Buffer
	root.SetOut(&help)
	if err := root.Help(); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(help.String()) {
		if len(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	if !strings.Contains(help.String(), "one line goes on one line goes on") || !strings.Contains(help.String(), "\n"+example) {
		t.Errorf("%s", help.String())
	}
}
