package command

import (
	"strings"

	"github.com/spf13/cobra"
)

const helpWidth = 80

// FitHelp has the help of a program and of its commands fit a terminal of 80 columns. The paragraphs
// of long texts are broken anew; the flags that all commands have stand in the program's own help.
func FitHelp(root *cobra.Command) {
	root.SetUsageTemplate(usage)
	fitLong(root)
}

// usage is cobra's, but for the flags.
var usage = strings.NewReplacer(
	".LocalFlags.FlagUsages", ".LocalFlags.FlagUsagesWrapped 80",
	"{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}", "  see {{.Root.Name}} --help",
).Replace((&cobra.Command{}).UsageTemplate())

func fitLong(cmd *cobra.Command) {
	var out []string
	for line := range strings.SplitSeq(cmd.Long, "\n") {
		if last := len(out) - 1; last >= 0 && flows(line) && flows(out[last]) {
			out[last] += " " + line
		} else {
			out = append(out, line)
		}
	}
	for n, line := range out {
		if flows(line) {
			out[n] = wrap(line)
		}
	}
	cmd.Long = strings.Join(out, "\n")
	for _, one := range cmd.Commands() {
		fitLong(one)
	}
}

// flows: a line is text, no example.
func flows(line string) bool { return line != "" && line[0] != ' ' && line[0] != '\t' }

// wrap breaks a line of ASCII between words.
func wrap(line string) string {
	var out strings.Builder
	room := helpWidth
	for n, word := range strings.Fields(line) {
		switch {
		case n == 0:
		case len(word)+1 > room:
			out.WriteByte('\n')
			room = helpWidth
		default:
			out.WriteByte(' ')
			room--
		}
		out.WriteString(word)
		room -= len(word)
	}
	return out.String()
}
