package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// checkShape returns what breaks the rules that every package keeps.
func checkShape(t tree, l limits) []string {
	var problems []string
	for _, pkg := range t.packages() {
		if files := t.code(pkg); len(files) > 0 && !hasComment(files) {
			problems = append(problems, fmt.Sprintf("%s: has no package comment", pkg))
		}
		for _, f := range t[pkg] {
			problems = append(problems, checkSize(f, l)...)
			problems = append(problems, checkInit(f)...)
			problems = append(problems, checkWidth(f, l)...)
			if !f.test() && f.Name.Name != "main" && !matchAny(testHelpers, pkg) && backgrounds[f.path] == "" {
				problems = append(problems, checkContext(f)...)
			}
			if !f.test() && matchAny(nameless, pkg) {
				problems = append(problems, checkProviders(f)...)
			}
		}
	}
	return problems
}

// hasComment reports whether a package comment exists: "Package x …" for a library, the program's purpose for a program.
func hasComment(files []file) bool {
	for _, f := range files {
		text := f.Doc.Text()
		if f.Name.Name == "main" && text != "" || strings.HasPrefix(text, "Package "+f.Name.Name+" ") {
			return true
		}
	}
	return false
}

func checkSize(f file, l limits) []string {
	if f.test() || ast.IsGenerated(f.File) {
		return nil
	}
	var problems []string
	if n := len(f.lines); n > l.file {
		problems = append(problems, fmt.Sprintf("%s: has %d lines, more than %d", f.path, n, l.file))
	}
	for _, decl := range f.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if n := f.line(fn.End()) - f.line(fn.Pos()) + 1; n > l.function {
			problems = append(problems, fmt.Sprintf("%s:%d: %s has %d lines, more than %d", f.path, f.line(fn.Pos()), fn.Name.Name, n, l.function))
		}
	}
	return problems
}

// checkWidth finds wide lines, in tests too.
func checkWidth(f file, l limits) []string {
	var problems []string
	for n, line := range f.lines {
		if columns := utf8.RuneCountInString(line); columns > l.width {
			problems = append(problems, fmt.Sprintf("%s:%d: has %d columns, more than %d", f.path, n+1, columns, l.width))
		}
	}
	return problems
}

func checkInit(f file) []string {
	var problems []string
	for _, decl := range f.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			problems = append(problems, fmt.Sprintf("%s:%d: has an init function", f.path, f.line(fn.Pos())))
		}
	}
	return problems
}

// checkProviders finds names of providers and their drivers in code that should depend on a server's capabilities instead.
func checkProviders(f file) []string {
	var problems []string
	ast.Inspect(f.File, func(n ast.Node) bool {
		if text, ok := n.(*ast.BasicLit); ok && slices.Contains(providerNames, strings.Trim(text.Value, `"`)) {
			problems = append(problems, fmt.Sprintf("%s:%d: names the provider %s: use the plan's dialect", f.path, f.line(text.Pos()), text.Value))
		}
		return true
	})
	return problems
}

// checkContext finds contexts that come from nowhere, by whatever name the package is imported.
func checkContext(f file) []string {
	name := ""
	for _, spec := range f.Imports {
		if spec.Path.Value == `"context"` {
			name = "context"
			if spec.Name != nil {
				name = spec.Name.Name
			}
		}
	}
	var problems []string
	ast.Inspect(f.File, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		from, ok := selector.X.(*ast.Ident)
		if ok && name != "" && from.Name == name && (selector.Sel.Name == "Background" || selector.Sel.Name == "TODO") {
			problems = append(problems, fmt.Sprintf("%s:%d: makes a context of its own", f.path, f.line(n.Pos())))
		}
		return true
	})
	return problems
}

// advise returns the files that are longer than the style asks for.
func advise(t tree, l limits) []string {
	var out []string
	for _, pkg := range t.packages() {
		for _, f := range t.code(pkg) {
			if len(f.lines) > l.advised {
				out = append(out, fmt.Sprintf("%s: %d lines", path.Clean(f.path), len(f.lines)))
			}
		}
	}
	return out
}
