package configuration

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// elsewhereTested are messages for input that a fixture cannot have: TestRefusedFiles, TestNamedPipe.
const elsewhereTested = "larger than %d MB|more than %d values|more than %d << within|not YAML: %v|no *.yaml in the directory|" +
	"%q cannot be checked here, because hooks|not a regular file"

// saidOfGo are messages about entries that only a program can define: TestEntriesRefused.
const saidOfGo = "must not be nil|must be JSON|is also defined in Go"

// TestEveryRuleHasAFixture finds every message of findings in the code, and looks for it in the fixtures.
func TestEveryRuleHasAFixture(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	for _, name := range fixtures(t) {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		said.WriteString(text(archive.Files)["findings"])
	}
	formats := findingFormats(t)
	if len(formats) < 70 {
		t.Errorf("only %d messages found in the code", len(formats))
	}
	verb := regexp.MustCompile(`%[a-z]`)
	for _, format := range formats {
		tested := strings.Split(elsewhereTested+"|"+saidOfGo, "|")
		if slices.ContainsFunc(tested, func(part string) bool { return strings.HasPrefix(format, part) }) {
			continue
		}
		var parts []string
		for _, part := range verb.Split(format, -1) {
			parts = append(parts, regexp.QuoteMeta(part))
		}
		if !regexp.MustCompile(strings.Join(parts, ".*")).MatchString(said.String()) {
			t.Errorf("no fixture has the finding %q", format)
		}
	}
}

// findingFormats returns the format strings of findings in the code: arguments of the report's methods, and return
// values of functions that describe problems.
func findingFormats(t *testing.T) (formats []string) {
	t.Helper()
	names, err := filepath.Glob("*.go")
	engine, engineErr := filepath.Glob("../strict/*.go")
	if err != nil || engineErr != nil {
		t.Fatal(err, engineErr)
	}
	for _, name := range append(names, engine...) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok {
				formats = append(formats, formatsOf(fn)...)
			}
		}
	}
	return formats
}

var (
	reporting = regexp.MustCompile(`^(Errorf|Fail|Add|Unreadable|warnFile)$`)
	saying    = regexp.MustCompile(`[pP]roblem$|^refusal$|^duplicate$`)
)

func formatsOf(fn *ast.FuncDecl) (formats []string) {
	take := func(e ast.Expr) {
		if text, ok := literal(e); ok && strings.Contains(text, " ") {
			formats = append(formats, text)
		}
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if method, ok := n.Fun.(*ast.SelectorExpr); ok && reporting.MatchString(method.Sel.Name) && types.ExprString(method.X) != "fmt" {
				for _, arg := range n.Args {
					take(arg)
				}
			}
		case *ast.ReturnStmt:
			if !saying.MatchString(fn.Name.Name) {
				return true
			}
			for _, result := range n.Results {
				if call, ok := result.(*ast.CallExpr); ok && len(call.Args) > 0 {
					result = call.Args[0]
				}
				take(result)
			}
		}
		return true
	})
	return formats
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}
