package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// viewers show a transcript to people or models: in each, a switch has a case for every kind of entry.
var viewers = []string{"internal/face/terminal/entry.go", "internal/face/live/lane.go", "internal/prompt/record.go"}

func TestViewersHandleEveryKind(t *testing.T) {
	t.Parallel()
	const vocabulary = "internal/transcript/transcript.go"
	kinds := map[string]string{} // values by name
	ast.Inspect(parseFile(t, vocabulary), func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && spec.Type != nil && len(spec.Values) == 1 {
			if of, ok := spec.Type.(*ast.Ident); ok && of.Name == "Kind" {
				kinds[spec.Names[0].Name] = strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`)
			}
		}
		return true
	})
	if len(kinds) < 10 {
		t.Fatalf("%s has %d kinds", vocabulary, len(kinds))
	}
	for _, name := range viewers {
		var cases []string
		ast.Inspect(parseFile(t, name), func(n ast.Node) bool {
			if one, ok := n.(*ast.CaseClause); ok {
				for _, value := range one.List {
					if of, ok := value.(*ast.SelectorExpr); ok {
						cases = append(cases, of.Sel.Name)
					}
				}
			}
			return true
		})
		for kind := range kinds {
			if !slices.Contains(cases, kind) {
				t.Errorf("%s has no case for transcript.%s", name, kind)
			}
		}
	}
	drawn, ofCalls := read(t, "internal/face/page/assets/transcript.js"), read(t, "internal/face/page/assets/calls.js")
	for _, kind := range kinds {
		found := regexp.MustCompile(`(?m)^  ` + kind + `: \(e\)`).MatchString(drawn)
		if slices.Contains([]string{"call", "result", "summary"}, kind) { // drawn together
			found = regexp.MustCompile(`\b` + kind + `\b`).MatchString(ofCalls)
		}
		if !found {
			t.Errorf("the page draws no %q", kind)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func parseFile(t *testing.T, name string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../"+name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return file
}
