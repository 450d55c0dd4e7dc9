package command

import (
	"strings"

	"github.com/spf13/cobra"
)

const helpWidth = 80

// FitHelp fits the help of a program and its commands into a terminal of 80 columns. It wraps the paragraphs of long texts. Flags that
// all commands share appear only in the program's own help.
func FitHelp(root *cobra.Command) {
	root.SetUsageTemplate(usage)
	fitLong(root)
}

// usage is cobra's template except for the flags.
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

// flows reports whether a line is text, as opposed to an example.
func flows(line string) bool { return line != "" && line[0] != ' ' && line[0] != '\t' }

// wrap wraps a line of ASCII between words.
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
