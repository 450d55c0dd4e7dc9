package archtest

import (
	"go/ast"
	"go/token"
)

// sleepsOf counts the fixed sleeps in test files. A test waits for an event instead, or polls: sleeps in a for loop and sleeps
// by the clock of synctest are not counted.
func sleepsOf(t tree) map[string]int {
	counts := map[string]int{}
	for _, files := range t {
		for _, f := range files {
			if f.test() {
				counts[f.path] = fixedSleeps(f.File, false)
			}
		}
	}
	return counts
}

// fixedSleeps counts below a node, which may be part of a loop that polls.
func fixedSleeps(of ast.Node, polls bool) (n int) {
	ast.Inspect(of, func(node ast.Node) bool {
		if node == of {
			return true
		}
		switch node := node.(type) {
		case *ast.ForStmt:
			n += fixedSleeps(node, true)
			return false
		case *ast.RangeStmt: // "for range 100" polls; a loop over cases does not
			times, counted := node.X.(*ast.BasicLit)
			n += fixedSleeps(node, polls || counted && times.Kind == token.INT)
			return false
		case *ast.FuncLit:
			n += fixedSleeps(node, false)
			return false
		case *ast.CallExpr:
			switch {
			case calls(node, "synctest", "Test"):
				return false
			case calls(node, "time", "Sleep") && !polls:
				n++
			}
		}
		return true
	})
	return n
}

// calls reports whether a call is one of a package's function.
func calls(call *ast.CallExpr, pkg, name string) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	from, ok := selector.X.(*ast.Ident)
	return ok && from.Name == pkg && selector.Sel.Name == name
}
