package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

// wordsDecide lists the functions that may look for words in the message of an error, which its author can reword at any
// time, with the reasons.
var wordsDecide = map[string]string{
	"builder.go problemOf":                       "our own message: its key is not repeated",
	"internal/doctor/doctor.go behind":           "our own message: its first line is shown",
	"internal/face/api/provider.go token":        "the library hides the cause",
	"internal/llm/anthropic/kind.go kind":        "one type for a long prompt, missing credit, and other mistakes",
	"internal/llm/google.go kind":                "one code for a bad key, a long prompt, and other mistakes",
	"internal/llm/openai/kind.go error":          "a field that is unknown has no code of its own: the message says so, and may not name it",
	"internal/llm/openai/kind.go waitSaid":       "the wait is in the message alone",
	"internal/outgoing/window.go withWindow":     "most servers name their context window in the message alone",
	"internal/strict/document.go yamlError":      "the parser has the line in its message alone",
	"internal/tool/mcp/failure.go invalidParams": "one code for an unknown tool and for wrong arguments",
	"internal/tool/mcp/status.go aboutSession":   "older servers have one status for a lost session and for wrong requests",
}

// TestWordsDecide finds the places where the words of an error decide what is done.
func TestWordsDecide(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for pkg, files := range load(t, os.DirFS("../..")) {
		if strings.HasSuffix(pkg, "test") || strings.HasPrefix(pkg, "test/") {
			continue
		}
		for _, f := range files {
			if f.test() {
				continue
			}
			for _, place := range deciding(f.File) {
				used[f.path+" "+place] = true
				if wordsDecide[f.path+" "+place] == "" {
					t.Errorf("%s: %s looks for words in an error: use its type or code, or say in wordsDecide why not", f.path, place)
				}
			}
		}
	}
	for place := range wordsDecide {
		if !used[place] {
			t.Errorf("%s does not look for words in an error any more", place)
		}
	}
}

// TestWordsDecideCanFail runs the check on functions whose names say whether they are found.
func TestWordsDecideCanFail(t *testing.T) {
	t.Parallel()
	f, err := parser.ParseFile(token.NewFileSet(), "a.go", `package a
func found1() bool { return strings.Contains(err.Error(), "gone") }
func found2() bool { lower := strings.ToLower(err.Message); return strings.HasPrefix(lower, "gone") }
func found3() bool { switch { case gone.MatchString(strings.TrimSpace(failed.Error())): return true }; return false }
func found4() bool { return err.Error() == "gone" }
func (w what) found5() { text, _, ok := strings.Cut(message, ": ") }
func not1() string { return fmt.Sprint(err.Error(), strings.Contains(name, "gone")) }
func not2() bool { return err.Error() == "" || message != last }
`, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(deciding(f)), "[found1 found2 found3 found4 found5]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// deciding are the functions of a file that look for words in the message of an error.
func deciding(f *ast.File) (places []string) {
	for _, decl := range f.Decls {
		if function, ok := decl.(*ast.FuncDecl); ok {
			ast.Inspect(function, func(node ast.Node) bool {
				if looksForWords(node) && !slices.Contains(places, function.Name.Name) {
					places = append(places, function.Name.Name)
				}
				return true
			})
		}
	}
	return places
}

func looksForWords(node ast.Node) bool {
	switch node := node.(type) {
	case *ast.CallExpr:
		searches := slices.ContainsFunc([]string{"Contains", "HasPrefix", "HasSuffix", "EqualFold", "Index", "Cut", "CutPrefix", "CutSuffix"},
			func(name string) bool { return calls(node, "strings", name) })
		if selector, ok := node.Fun.(*ast.SelectorExpr); ok && !searches {
			searches = slices.Contains([]string{"MatchString", "FindString", "FindStringSubmatch"}, selector.Sel.Name)
		}
		return searches && len(node.Args) > 0 && isMessage(node.Args[0])
	case *ast.BinaryExpr:
		word, ok := node.Y.(*ast.BasicLit)
		return ok && node.Op == token.EQL && word.Value != `""` && isMessage(node.X)
	}
	return false
}

// isMessage reports whether an expression is the message of an error, or a part of it.
func isMessage(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CallExpr:
		if selector, ok := e.Fun.(*ast.SelectorExpr); ok && selector.Sel.Name == "Error" && len(e.Args) == 0 {
			return true
		}
		return len(e.Args) > 0 && isMessage(e.Args[0])
	case *ast.SelectorExpr:
		return e.Sel.Name == "Message"
	case *ast.Ident:
		return slices.Contains([]string{"message", "msg", "lower"}, e.Name)
	}
	return false
}
