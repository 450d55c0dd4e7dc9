package archtest

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
)

// ratchet is a limit on a count that some places exceed today. The places on its list may only shrink: an edit that lowers a
// count lowers the number here too.
type ratchet struct {
	what   string // "Go files"
	most   int
	listed map[string]int // today's counts of the places over the limit
}

var ourRatchets = ratchets{
	files:   ratchet{what: "Go files", most: 30, listed: map[string]int{}},
	methods: ratchet{what: "methods", most: 45, listed: map[string]int{}},
	sleeps: ratchet{what: "fixed sleeps", most: 0, listed: map[string]int{
		"activities/quick_test.go":         2, // on a fake clock
		"internal/command/repeats_test.go": 1, // a helper of tests that run by the clock of synctest
		"test/e2e/circuit_test.go":         1, // calls are counted for longer than a minute
		"test/e2e/fleet_test.go":           2, // a database is away or stands still
		"test/e2e/harness_test.go":         1, // a network stands still
		"test/e2e/points_test.go":          1, // a process or a network stands still
		"test/e2e/quick_test.go":           1, // a call is slow
		"test/e2e/stall_test.go":           2, // a process stands still; a store is locked
		"test/e2e/view_linux_test.go":      1, // CPU time is measured
		"test/e2e/words_test.go":           2, // random moments for messages and kills
		"test/faults/stragglers_test.go":   1, // a worker stands still for longer than an intent counts as fresh
	}},
}

// ratchets limit the Go files of a package, tests apart; the methods of a type; and the fixed sleeps of a test file.
type ratchets struct{ files, methods, sleeps ratchet }

func checkRatchets(t tree, r ratchets) []string {
	files := map[string]int{}
	for _, pkg := range t.packages() {
		files[pkg] = len(t.code(pkg))
	}
	return slices.Concat(r.files.check(files), r.methods.check(methodsOf(t)), r.sleeps.check(sleepsOf(t)))
}

// check compares counts with the limit and the list.
func (r ratchet) check(counts map[string]int) []string {
	var problems []string
	for _, place := range slices.Sorted(maps.Keys(counts)) {
		n, listed := counts[place], r.listed[place]
		switch {
		case n > r.most && listed == 0:
			problems = append(problems, fmt.Sprintf("%s: has %d %s, more than %d", place, n, r.what, r.most))
		case n > r.most && n > listed:
			problems = append(problems, fmt.Sprintf("%s: has %d %s, more than the %d on the list", place, n, r.what, listed))
		case n > r.most && n < listed:
			problems = append(problems, fmt.Sprintf("%s: has %d %s, fewer than the %d on the list: lower it", place, n, r.what, listed))
		}
	}
	for _, place := range slices.Sorted(maps.Keys(r.listed)) {
		if n := counts[place]; n <= r.most {
			problems = append(problems, fmt.Sprintf("%s: has %d %s, and %d are allowed: take it off the list", place, n, r.what, r.most))
		}
	}
	return problems
}

// methodsOf counts the methods of each type, named like internal/store.Store.
func methodsOf(t tree) map[string]int {
	counts := map[string]int{}
	for _, pkg := range t.packages() {
		for _, f := range t.code(pkg) {
			for _, decl := range f.Decls {
				if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv != nil {
					counts[pkg+"."+receiver(fn.Recv.List[0].Type)]++
				}
			}
		}
	}
	return counts
}

// receiver is the name of a method's type, without its pointer and type parameters.
func receiver(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.IndexListExpr:
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	}
	return "?"
}
