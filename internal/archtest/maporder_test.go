package archtest

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestMapOrder finds loops over maps whose result depends on the order, which differs from run to run.
func TestMapOrder(t *testing.T) {
	t.Parallel()
	code := load(t, os.DirFS("../.."))
	problems, loops := mapOrder(t, code)
	for _, problem := range problems {
		t.Error(problem)
	}
	if loops < 100 {
		t.Errorf("only %d loops over maps found", loops)
	}
}

// TestMapOrderCanFail runs the check on loops that depend on the order, and on loops that do not.
func TestMapOrderCanFail(t *testing.T) {
	t.Parallel()
	const source = `package a

import "maps"

func first(all map[string]int) string {
	for name := range all {
		return name // reported
	}
	return ""
}

func last(all map[string]int) (found string) {
	for name, n := range all {
		if long := name + name; n > 1 {
			found = long // reported
		}
	}
	return found
}

func key(all map[string]int) string {
	for name := range maps.Keys(all) {
		return name // reported
	}
	// any order: the map has one entry
	for name := range all {
		return name
	}
	return ""
}

func none(all map[string]int, list []string) (most int, some bool) {
	for name, n := range all {
		most = max(most, n)
		all[name] = n
		func() int { return n }()
	}
	for _, name := range list {
		if all[name] > 0 {
			return all[name], true
		}
	}
	for _, n := range all {
		if n > 1 {
			return 0, true
		}
	}
	return most, some
}
`
	var want []string
	for n, line := range strings.Split(source, "\n") {
		if strings.Contains(line, "// reported") {
			want = append(want, fmt.Sprintf("a/a.go:%d: ", n+1))
		}
	}
	code := load(t, fstest.MapFS{"a/a.go": {Data: []byte(source)}})
	problems, loops := mapOrder(t, code)
	if loops != 6 || len(problems) != len(want) {
		t.Errorf("%d loops, %d problems: %q", loops, len(problems), problems)
	}
	for _, place := range want {
		if !slices.ContainsFunc(problems, func(problem string) bool { return strings.HasPrefix(problem, place) }) {
			t.Errorf("nothing at %s", place)
		}
	}
}

// mapOrder returns the problems of a tree, and how many loops over maps it has.
func mapOrder(t *testing.T, code tree) (problems []string, loops int) {
	t.Helper()
	c := checker{tree: code, done: map[string]*types.Package{}, info: types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
	}}
	c.std = importer.ForCompiler(token.NewFileSet(), "gc", exported(t, code))
	for _, pkg := range code.packages() {
		if strings.HasSuffix(pkg, "test") {
			continue // helpers of tests
		}
		c.check(pkg)
		for _, f := range code.code(pkg) {
			ast.Inspect(f.File, func(node ast.Node) bool {
				if loop, ok := node.(*ast.RangeStmt); ok && c.unordered(loop.X) {
					loops++
					problems = append(problems, c.dependent(f, loop)...)
				}
				return true
			})
		}
	}
	return problems, loops
}

// exported finds the compiled packages of the standard library that a tree imports.
func exported(t *testing.T, code tree) importer.Lookup {
	t.Helper()
	imported := map[string]bool{}
	for _, files := range code {
		for _, f := range files {
			for _, name := range f.imports() {
				if inStd(name) && name != "C" && name != "unsafe" && code[name] == nil {
					imported[name] = true
				}
			}
		}
	}
	args := append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}, slices.Sorted(maps.Keys(imported))...)
	out, err := exec.CommandContext(t.Context(), "go", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		names[name] = file
	}
	return func(name string) (io.ReadCloser, error) { return os.Open(names[name]) }
}

func inStd(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return !strings.Contains(first, ".")
}

// checker finds the types of a tree's expressions. It does not read the packages of other modules, so expressions with
// their types are unknown and not checked.
type checker struct {
	tree
	std  types.Importer
	done map[string]*types.Package
	info types.Info
}

func (c *checker) check(pkg string) *types.Package {
	if done := c.done[pkg]; done != nil {
		return done
	}
	var files []*ast.File
	set := token.NewFileSet()
	for _, f := range c.code(pkg) {
		files, set = append(files, f.File), f.set
	}
	config := types.Config{Importer: c, Error: func(error) {}} // an error leaves types unknown
	c.done[pkg], _ = config.Check(path.Join(module, pkg), set, files, &c.info)
	return c.done[pkg]
}

// Import implements types.Importer.
func (c *checker) Import(name string) (*types.Package, error) {
	own, ours := strings.CutPrefix(name, module+"/")
	switch {
	case ours:
		return c.check(own), nil
	case name == module:
		return c.check("."), nil
	case name != "C" && inStd(name):
		return c.std.Import(name)
	}
	unknown := types.NewPackage(name, path.Base(name))
	unknown.MarkComplete()
	return unknown, nil
}

// unordered reports whether a loop over the expression has no order: it is a map, or maps.Keys and the like.
func (c *checker) unordered(over ast.Expr) bool {
	if call, ok := over.(*ast.CallExpr); ok && (calls(call, "maps", "Keys") || calls(call, "maps", "Values") || calls(call, "maps", "All")) {
		return true
	}
	if kind := c.info.TypeOf(over); kind != nil {
		_, ok := kind.Underlying().(*types.Map)
		return ok
	}
	return false
}

// dependent returns the places in a loop that return a value of one pass, or leave it in a variable outside of the loop.
func (c *checker) dependent(f file, loop *ast.RangeStmt) (problems []string) {
	if f.anyOrder(loop) {
		return nil
	}
	report := func(node ast.Node, what string) {
		problems = append(problems, fmt.Sprintf("%s:%d: %s in a loop over a map: sort the keys, or say why \"// any order: …\"",
			f.path, f.line(node.Pos()), what))
	}
	ast.Inspect(loop.Body, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			if slices.ContainsFunc(node.Results, func(e ast.Expr) bool { return c.uses(e, loop) }) {
				report(node, "returns a value")
			}
		case *ast.AssignStmt:
			for n, to := range node.Lhs {
				name, ok := to.(*ast.Ident)
				from := node.Rhs[min(n, len(node.Rhs)-1)]
				if ok && node.Tok == token.ASSIGN &&
					name.Name != "_" && !c.within(name, loop) && !c.isError(name) && !keeps(name, from) && c.uses(from, loop) {
					report(node, "assigns "+name.Name)
				}
			}
		}
		return true
	})
	return problems
}

// anyOrder reports whether a comment at the loop, or on the line before it, says that the order does not matter.
func (f file) anyOrder(loop *ast.RangeStmt) bool {
	at := f.line(loop.Pos())
	return slices.ContainsFunc(f.lines[max(at-2, 0):at], func(line string) bool { return strings.Contains(line, "// any order: ") })
}

// keeps reports whether an assignment gives the same in any order, such as all = all && ok, or leaves the order to later
// code, as append does.
func keeps(to *ast.Ident, from ast.Expr) bool {
	switch from := from.(type) {
	case *ast.BinaryExpr:
		named := func(e ast.Expr) bool { name, ok := e.(*ast.Ident); return ok && name.Name == to.Name }
		return (from.Op == token.LOR || from.Op == token.LAND) && (named(from.X) || named(from.Y))
	case *ast.CallExpr:
		name, ok := from.Fun.(*ast.Ident)
		return ok && (name.Name == "min" || name.Name == "max" || name.Name == "append")
	}
	return false
}

// uses reports whether an expression has a variable of one pass of the loop, other than an error.
func (c *checker) uses(e ast.Expr, loop *ast.RangeStmt) (found bool) {
	ast.Inspect(e, func(node ast.Node) bool {
		name, ok := node.(*ast.Ident)
		found = found || ok && c.within(name, loop)
		return !found
	})
	return found
}

// within reports whether a name is a variable that is declared in the loop and is no error.
func (c *checker) within(name *ast.Ident, loop *ast.RangeStmt) bool {
	variable, ok := c.info.ObjectOf(name).(*types.Var)
	return ok && !variable.IsField() && loop.Pos() <= variable.Pos() && variable.Pos() < loop.End() && !c.isError(name)
}

// isError reports whether a variable is an error. The check ignores which of several errors comes first.
func (c *checker) isError(name *ast.Ident) bool {
	kind := c.info.TypeOf(name)
	return kind != nil && types.Identical(kind, types.Universe.Lookup("error").Type())
}
