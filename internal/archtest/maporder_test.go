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

// TestMapOrderCanFail runs the check on the loops of a file, where comments say which lines depend on the order.
func TestMapOrderCanFail(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("testdata/maporder.go")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for n, line := range strings.Split(string(source), "\n") {
		if strings.Contains(line, "// reported") {
			want = append(want, fmt.Sprintf("a/a.go:%d: ", n+1))
		}
	}
	code := load(t, fstest.MapFS{"a/a.go": {Data: source}})
	problems, loops := mapOrder(t, code)
	if loops != 12 || len(problems) != len(want) {
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

// dependent returns the places in a loop that return a value of one pass, or leave it in a variable or writer outside of
// the loop.
func (c *checker) dependent(f file, loop *ast.RangeStmt) (problems []string) {
	if f.anyOrder(loop) {
		return nil
	}
	report := func(node ast.Node, what string) {
		problems = append(problems, fmt.Sprintf("%s:%d: %s in a loop over a map: sort the keys, or say why \"// any order: …\"",
			f.path, f.line(node.Pos()), what))
	}
	if loop.Tok == token.ASSIGN && loop.Key != nil && c.outside(loop.Key, loop) {
		report(loop, "assigns "+types.ExprString(loop.Key))
	}
	last := beforeBreak(loop)
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
				from := node.Rhs[min(n, len(node.Rhs)-1)]
				same := c.keyed(to, loop) || c.commutes(node.Tok, to, from)
				if node.Tok != token.DEFINE && c.outside(to, loop) && c.uses(from, loop) && (!same || last[node] && !appends(from)) {
					report(node, "assigns "+types.ExprString(to))
				}
			}
		case *ast.CallExpr:
			if to := c.filled(node, loop); to != nil && slices.ContainsFunc(node.Args, func(e ast.Expr) bool { return c.uses(e, loop) }) {
				report(node, "writes to "+types.ExprString(to))
			}
		}
		return true
	})
	return problems
}

// beforeBreak returns the assignments that stand before a break out of the loop, so that only some passes run.
func beforeBreak(loop *ast.RangeStmt) map[ast.Node]bool {
	found := map[ast.Node]bool{}
	ast.Inspect(loop.Body, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt, *ast.FuncLit:
			return false // a break in it ends only this statement
		case *ast.BlockStmt:
			end := slices.IndexFunc(node.List, func(s ast.Stmt) bool { b, ok := s.(*ast.BranchStmt); return ok && b.Tok == token.BREAK })
			for _, before := range node.List[:max(end, 0)] {
				found[before] = true
			}
		}
		return true
	})
	return found
}

// filled returns the variable outside of the loop that a call writes to: a writer, or one whose address it gets.
func (c *checker) filled(call *ast.CallExpr, loop *ast.RangeStmt) ast.Expr {
	if method, ok := call.Fun.(*ast.SelectorExpr); ok && strings.HasPrefix(method.Sel.Name, "Write") &&
		c.outside(method.X, loop) && !c.keyed(method.X, loop) && c.isWriter(method.X) {
		return method.X
	}
	for _, arg := range call.Args {
		address, ok := arg.(*ast.UnaryExpr)
		if ok && address.Op == token.AND && c.outside(address.X, loop) && !c.keyed(address.X, loop) {
			return address.X
		}
		if !ok && c.outside(arg, loop) && c.isWriter(arg) {
			return arg
		}
	}
	return nil
}

// isWriter reports whether an expression has the method of io.Writer.
func (c *checker) isWriter(e ast.Expr) bool {
	kind := c.info.TypeOf(e)
	if kind == nil {
		return false
	}
	method, _, _ := types.LookupFieldOrMethod(kind, true, nil, "Write")
	write, ok := method.(*types.Func)
	return ok && write.Signature().Params().Len() == 1 && write.Signature().Results().Len() == 2
}

// outside reports whether an expression is a variable declared outside of the loop, or a field or element of one, and no
// error.
func (c *checker) outside(e ast.Expr, loop *ast.RangeStmt) bool {
	kind := c.info.TypeOf(e)
	name, ok := parts(e, nil).(*ast.Ident)
	return ok && name.Name != "_" && !c.within(name, loop) && !isError(kind)
}

// keyed reports whether an expression is of an element with the loop's key, which no other pass has.
func (c *checker) keyed(e ast.Expr, loop *ast.RangeStmt) (found bool) {
	key, ok := loop.Key.(*ast.Ident)
	parts(e, func(index ast.Expr) {
		name, isName := index.(*ast.Ident)
		found = found || ok && isName && key.Name == name.Name && c.info.ObjectOf(name) == c.info.ObjectOf(key)
	})
	return found
}

// parts returns the variable that an expression is part of, and visits the indexes on the way.
func parts(e ast.Expr, visit func(index ast.Expr)) ast.Expr {
	for {
		switch part := e.(type) {
		case *ast.SelectorExpr:
			e = part.X
		case *ast.StarExpr:
			e = part.X
		case *ast.ParenExpr:
			e = part.X
		case *ast.IndexExpr:
			if visit != nil {
				visit(part.Index)
			}
			e = part.X
		default:
			return e
		}
	}
}

// anyOrder reports whether a comment at the loop, or on the line before it, says that the order does not matter.
func (f file) anyOrder(loop *ast.RangeStmt) bool {
	at := f.line(loop.Pos())
	return slices.ContainsFunc(f.lines[max(at-2, 0):at], func(line string) bool { return strings.Contains(line, "// any order: ") })
}

// commutes reports whether an assignment gives the same in any order, such as all = all && ok or n += 2, or leaves the
// order to later code, as append does.
func (c *checker) commutes(how token.Token, to, from ast.Expr) bool {
	if how != token.ASSIGN {
		kind := c.info.TypeOf(to)
		return kind == nil || !types.AssignableTo(types.Typ[types.UntypedString], kind.Underlying())
	}
	switch from := from.(type) {
	case *ast.BinaryExpr:
		named := func(e ast.Expr) bool { return types.ExprString(e) == types.ExprString(to) }
		return (from.Op == token.LOR || from.Op == token.LAND) && (named(from.X) || named(from.Y))
	case *ast.CallExpr:
		name, ok := from.Fun.(*ast.Ident)
		return ok && (name.Name == "min" || name.Name == "max" || name.Name == "append")
	}
	return false
}

func appends(from ast.Expr) bool {
	call, ok := from.(*ast.CallExpr)
	return ok && types.ExprString(call.Fun) == "append"
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
	return ok && !variable.IsField() && loop.Pos() <= variable.Pos() && variable.Pos() < loop.End() && !isError(variable.Type())
}

// isError reports whether a type is that of errors. The check ignores which of several errors comes first.
func isError(kind types.Type) bool {
	return kind != nil && types.Identical(kind, types.Universe.Lookup("error").Type())
}
