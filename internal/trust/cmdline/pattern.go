package cmdline

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/inquest-dev/inquest/internal/trust/programs"
)

// Never lists commands that would change the meaning of an allowed name or run a command that is not visible in the line. No list of
// allowed commands has them.
var Never = []string{
	".", "alias", "bind", "builtin", "command", "compgen", "complete", "coproc", "declare", "enable", "eval", "exec",
	"export", "fc", "function", "getopts", "hash", "let", "local", "mapfile", "read", "readarray", "readonly", "set",
	"shopt", "source", "trap", "typeset", "unalias", "unset", "wait", "[[", "time",
}

// maxLine is the maximum length of a line in bytes. The parser's stack grows with the depth of nesting.
const maxLine = 8 << 10

// Pattern is a command line in which * stands for a part of a name: one or more letters, digits, "_", "-" and ".".
type Pattern struct{ parts []part }

// Parse parses a pattern. It refuses everything that Check refuses.
func Parse(text string) (Pattern, error) {
	if err := Check(text); err != nil {
		return Pattern{}, err
	}
	parts, err := partsOf(text)
	return Pattern{parts}, err
}

// Fits reports whether a line runs the same commands in the same way as the pattern: equally many, joined, redirected and nested alike,
// each with the same number of words. A word with an expansion fits only if the pattern has the same expansion literally.
func (p Pattern) Fits(line string) bool {
	parts, err := partsOf(line)
	return err == nil && Check(line) == nil && slices.EqualFunc(p.parts, parts, part.fits)
}

// Check refuses a line whose effect is unpredictable, because it starts programs that start others or redefines names.
func Check(line string) error {
	file, err := parse(line)
	if err != nil {
		return err
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.FuncDecl:
			err = errors.New("it declares a function")
		case *syntax.CallExpr:
			err = checkCall(n)
		}
		return err == nil
	})
	return err
}

func checkCall(call *syntax.CallExpr) error {
	if len(call.Assigns) > 0 {
		return fmt.Errorf("it sets the variable %q", call.Assigns[0].Name.Value)
	}
	name := call.Args[0].Lit()
	switch {
	case name == "" || strings.ContainsAny(name, `/\*?[{~`):
		return errors.New("each command must begin with the literal name of a program")
	case slices.Contains(Never, name):
		return fmt.Errorf("%s can change the meaning of the line", name)
	}
	return programs.Check(name, Arguments(call.Args[1:]))
}

func parse(line string) (*syntax.File, error) {
	if len(line) > maxLine {
		return nil, fmt.Errorf("it is longer than %d bytes", maxLine)
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, fmt.Errorf("it cannot be parsed: %w", err)
	}
	if len(file.Stmts) == 0 {
		return nil, errors.New("it has no command")
	}
	return file, nil
}

// part is an element of a line: a word, or the structure between words.
type part struct {
	// text is the word without quotes, or as written.
	text string
	// plain means that the program receives the word unchanged.
	plain bool
	// names matches the words that fit a plain word with *; nil means that only the word itself fits.
	names *regexp.Regexp
}

func (p part) fits(other part) bool {
	if p.names == nil {
		return p.text == other.text && p.plain == other.plain
	}
	option := strings.HasPrefix(other.text, "-") && !strings.HasPrefix(p.text, "-")
	return other.plain && !option && Stays(p.text, other.text) && p.names.MatchString(other.text)
}

// Name is a regular expression for what * may stand for.
const Name = `[A-Za-z0-9._-]+`

// Stays reports whether a text that fits a pattern stays within the pattern's path. * must not create a path element ".." or ".", since
// /srv/cache/. is the folder itself.
func Stays(pattern, text string) bool {
	return !strings.Contains(text, "..") && dots(text) <= dots(pattern)
}

// dots counts the path elements that are ".".
func dots(path string) (n int) {
	if !strings.Contains(path, ".") {
		return 0
	}
	for _, element := range strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' }) {
		if element == "." {
			n++
		}
	}
	return n
}

// partsOf splits a line into parts.
func partsOf(line string) (parts []part, err error) {
	file, err := parse(line)
	if err == nil {
		r := reader{printer: syntax.NewPrinter(syntax.SingleLine(true))}
		for _, stmt := range file.Stmts {
			r.statement(stmt)
		}
		parts, err = r.parts, r.err
	}
	return parts, err
}

type reader struct {
	printer *syntax.Printer
	parts   []part
	err     error
}

// mark adds the structure between words. The NUL byte distinguishes it from every word.
func (r *reader) mark(text string) { r.parts = append(r.parts, part{text: "\x00" + text}) }

// literally adds a node as written.
func (r *reader) literally(node syntax.Node) {
	var out strings.Builder
	r.err = errors.Join(r.err, r.printer.Print(&out, node))
	r.parts = append(r.parts, part{text: out.String()})
}

func (r *reader) statement(s *syntax.Stmt) {
	r.mark(fmt.Sprintf("statement %t %t", s.Negated, s.Background))
	switch command := s.Cmd.(type) {
	case *syntax.CallExpr:
		for _, word := range command.Args {
			r.word(word)
		}
	case *syntax.BinaryCmd:
		r.mark(command.Op.String())
		r.statement(command.X)
		r.statement(command.Y)
	case nil:
	default:
		r.literally(command)
	}
	for _, redirect := range s.Redirs {
		fd := ""
		if redirect.N != nil {
			fd = redirect.N.Value
		}
		r.mark(fmt.Sprintf("redirect %s%s", fd, redirect.Op))
		r.word(redirect.Word)
		if redirect.Hdoc != nil {
			r.literally(redirect.Hdoc)
		}
	}
	r.mark("end")
}

func (r *reader) word(word *syntax.Word) {
	if arg := argument(word); arg.Known {
		r.parts = append(r.parts, part{text: arg.Text, plain: true})
		return
	}
	if text, names := wildcard(word); names != nil {
		r.parts = append(r.parts, part{text: text, names: names})
		return
	}
	r.literally(word)
}

// wildcard parses a word whose only expansion is *. It returns nil names for any other word.
func wildcard(word *syntax.Word) (text string, names *regexp.Regexp) {
	var expression strings.Builder
	for _, piece := range word.Parts {
		lit, unquoted := piece.(*syntax.Lit)
		if !unquoted {
			quoted, known, single := unquote(piece)
			if !known || !single {
				return "", nil
			}
			expression.WriteString(regexp.QuoteMeta(quoted))
			text += quoted
			continue
		}
		if strings.ContainsAny(lit.Value, `\?[{~`) {
			return "", nil
		}
		expression.WriteString(strings.ReplaceAll(regexp.QuoteMeta(lit.Value), `\*`, Name))
		text += lit.Value
	}
	return text, regexp.MustCompile(`^` + expression.String() + `$`)
}
