package builtin

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/inquest-dev/inquest/internal/trust/cmdline"
	"github.com/inquest-dev/inquest/internal/trust/programs"
)

func (l list) checkCall(call *syntax.CallExpr) error {
	if len(call.Assigns) > 0 {
		return fmt.Errorf("the assignment to %q is not allowed", call.Assigns[0].Name.Value)
	}
	name := call.Args[0].Lit()
	switch {
	case name == "":
		return errors.New("a command's name must be written out, without quotes or expansions")
	case strings.ContainsAny(name, `/\`):
		return fmt.Errorf("%q: a command's name must not contain a slash or a backslash", name)
	case slices.Contains(cmdline.Never, name) || !slices.Contains(l.names, name):
		return fmt.Errorf("%q is not an allowed command", name)
	case l.all:
		return nil
	}
	return programs.Check(name, cmdline.Arguments(call.Args[1:]))
}

// checkLoop refuses loops over a variable with a meaning for the shell.
func checkLoop(loop *syntax.ForClause) error {
	words, ok := loop.Loop.(*syntax.WordIter)
	if !ok || loop.Select {
		return errors.New("only loops of the form \"for NAME in WORDS\" are allowed")
	}
	if name := words.Name.Value; name != strings.ToLower(name) {
		return fmt.Errorf("the loop variable %q must be in lower case", name)
	}
	return nil
}

// checkRedirect allows reading files, and dropping or joining output, and nothing else: bash opens network connections
// by name (/dev/tcp/host/port), even after expanding the name (/de{v..v}/tcp, ~+/tcp).
func checkRedirect(r *syntax.Redirect) error {
	target := r.Word.Lit()
	switch r.Op {
	case syntax.DplOut, syntax.DplIn:
		if target == "-" || target != "" && strings.Trim(target, "0123456789") == "" {
			return nil
		}
	case syntax.RdrOut, syntax.AppOut, syntax.ClbOut:
		if target == "/dev/null" {
			return nil
		}
	case syntax.RdrIn:
		if target == "/dev/null" || target != "" && !strings.ContainsAny(target, `\{*?[~`) && !strings.Contains(target, "/dev/") {
			return nil
		}
	}
	return fmt.Errorf("the redirection %s%s is not allowed", r.Op, target)
}

// checkQuotes refuses $'…' and $"…", because the end of such a word depends on the shell.
func checkQuotes(parts []syntax.WordPart) error {
	dollar := false
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			dollar = strings.HasSuffix(part.Value, "$")
			continue
		case *syntax.SglQuoted, *syntax.DblQuoted:
			if dollar {
				return errors.New(`a dollar sign before a quote is not allowed`)
			}
		}
		dollar = false
	}
	return nil
}

// checkArithmetic refuses $[…], which bash evaluates as arithmetic.
func checkArithmetic(parts []syntax.WordPart) error {
	var text strings.Builder
	for _, part := range parts {
		if lit, ok := part.(*syntax.Lit); ok {
			text.WriteString(lit.Value)
		} else {
			text.WriteByte(' ')
		}
	}
	if strings.Contains(escaped.ReplaceAllString(text.String(), ""), "$[") {
		return errors.New(`$[ is not allowed; write \$[ for a literal $[`)
	}
	return nil
}

var escaped = regexp.MustCompile(`(?s)\\.`)

// checkParameter allows reading values, with a default or without a prefix or suffix, but not setting them. Inside
// double quotes, single quotes in a parameter quote nothing, so a shell runs their contents ("${x:-'$(id)'}").
func checkParameter(p *syntax.ParamExp) error {
	plain := !p.Excl && !p.Width && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Names == 0
	if plain && (p.Exp == nil || slices.Contains(harmless, p.Exp.Op) && !singleQuotes(p.Exp.Word)) {
		return nil
	}
	return fmt.Errorf("this expansion of %q is not allowed", p.Param.Value)
}

func singleQuotes(word *syntax.Word) bool {
	return word != nil && slices.ContainsFunc(word.Parts, func(part syntax.WordPart) bool {
		_, quoted := part.(*syntax.SglQuoted)
		return quoted
	})
}

var harmless = []syntax.ParExpOperator{
	syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull,
	syntax.ErrorUnset, syntax.ErrorUnsetOrNull, syntax.RemSmallPrefix, syntax.RemLargePrefix,
	syntax.RemSmallSuffix, syntax.RemLargeSuffix,
}
