// Package cmdline reads command lines as a POSIX shell does: which programs they run with which words, and whether a line fits one that a
// person has allowed. It runs nothing.
package cmdline

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/inquest-dev/inquest/internal/trust/programs"
)

// Arguments returns the words as the program receives them, as far as the command line determines them.
func Arguments(words []*syntax.Word) (args []programs.Arg) {
	for _, word := range words {
		args = append(args, argument(word))
	}
	return args
}

// argument unquotes a word. If the word has expansions, argument keeps the part before the first. A word that may expand to any words has
// no text.
func argument(word *syntax.Word) programs.Arg {
	arg, quoted := programs.Arg{Known: true}, false
	for _, part := range word.Parts {
		text, known, single := unquote(part)
		if !single {
			return programs.Arg{}
		}
		if arg.Known {
			arg.Text, arg.Known = arg.Text+text, known
		}
		_, lit := part.(*syntax.Lit)
		quoted = quoted || !lit
		arg.Many = arg.Many || lit && !known
	}
	if !quoted && strings.HasPrefix(arg.Text, "~") {
		return programs.Arg{Text: "~", Many: arg.Many} // a folder
	}
	return arg
}

// unquote returns the literal text of a part up to its first expansion. single means that the part cannot expand to several words.
func unquote(part syntax.WordPart) (text string, known, single bool) {
	switch part := part.(type) {
	case *syntax.Lit:
		text, known = literal(part.Value)
		return text, known, true
	case *syntax.SglQuoted:
		return part.Value, true, true
	case *syntax.DblQuoted:
		for _, inner := range part.Parts {
			lit, ok := inner.(*syntax.Lit)
			if !ok {
				return text, false, !all(inner)
			}
			text += inQuotes.Replace(lit.Value)
		}
		return text, true, true
	}
	return "", false, false
}

// all reports whether an expansion can be several words even in quotes ("$@").
func all(part syntax.WordPart) bool {
	p, ok := part.(*syntax.ParamExp)
	return ok && p.Param.Value == "@"
}

// inQuotes removes the backslashes that are special between double quotes.
var inQuotes = strings.NewReplacer(`\$`, "$", "\\`", "`", `\"`, `"`, `\\`, `\`, "\\\n", "")

// literal removes the backslashes of unquoted text, up to anything that may expand: patterns, and the braces of some shells.
func literal(value string) (text string, known bool) {
	var out strings.Builder
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '*', '?', '[', '{':
			return out.String(), false
		case '\\':
			if i++; i < len(value) && value[i] != '\n' {
				out.WriteByte(value[i])
			}
		default:
			out.WriteByte(value[i])
		}
	}
	return out.String(), true
}
