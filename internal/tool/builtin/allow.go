package builtin

import (
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// guard precedes a checked command line. If sh is bash, its own printf and test run commands hidden in the name of a
// variable (test -v 'a[$(id)]'); the programs with these names do not. PATH is made read-only so that a name always
// means the same program.
const guard = `if [ -n "${BASH_VERSION-}" ]; then enable -n printf test [; fi; readonly PATH; `

// maxChecked limits a checked line, in bytes: the parser's stack grows with the nesting depth, by kilobytes for every
// parenthesis.
const maxChecked = 8 << 10

// list is an allow-list.
type list struct {
	names []string
	all   bool // options are not checked
}

// allowed parses a command line like a POSIX shell. It refuses the line unless every command in it, however deeply
// nested, is one of the names, with options that do no more than the name says. Anything not known to be harmless is
// refused. It returns the parsed line, printed again and checked again, so that the line that was checked is the line
// that runs even if shells interpret a spelling differently ("((x))" is a subshell in one and arithmetic in another).
func (l list) allowed(command string) (string, error) {
	if len(command) > maxChecked {
		return "", fmt.Errorf("it is longer than %d bytes", maxChecked)
	}
	file, err := l.check(command)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	if err := syntax.NewPrinter().Print(&out, file); err != nil {
		return "", fmt.Errorf("it cannot be printed: %w", err)
	}
	_, err = l.check(out.String())
	return out.String(), err
}

func (l list) check(command string) (*syntax.File, error) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(command), "")
	if err != nil {
		return nil, fmt.Errorf("it cannot be parsed: %w", err)
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		if err == nil {
			err = l.checkNode(node)
		}
		return err == nil
	})
	return file, err
}

func (l list) checkNode(node syntax.Node) error {
	switch n := node.(type) {
	case nil, *syntax.File, *syntax.Stmt, *syntax.BinaryCmd, *syntax.Block, *syntax.Subshell, *syntax.IfClause,
		*syntax.WhileClause, *syntax.CaseClause, *syntax.CaseItem, *syntax.CmdSubst, *syntax.WordIter,
		*syntax.Lit, *syntax.SglQuoted, *syntax.Comment:
		return nil // only the contents matter, and they are visited too
	case *syntax.CallExpr:
		return l.checkCall(n)
	case *syntax.ForClause:
		return checkLoop(n)
	case *syntax.Redirect:
		return checkRedirect(n)
	case *syntax.Word:
		return errors.Join(checkQuotes(n.Parts), checkArithmetic(n.Parts))
	case *syntax.DblQuoted:
		return checkArithmetic(n.Parts)
	case *syntax.ParamExp:
		return checkParameter(n)
	case *syntax.FuncDecl:
		return errors.New("function declarations are not allowed")
	case *syntax.ArithmExp:
		return errors.New("arithmetic is not allowed: some shells run commands in it")
	}
	return fmt.Errorf("%s is not allowed", strings.TrimPrefix(fmt.Sprintf("%T", node), "*syntax."))
}
