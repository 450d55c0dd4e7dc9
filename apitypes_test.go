package inquest

import (
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestPublicTypes checks that programs can import every type that the public packages name: no exported declaration
// names a type of a package below internal/.
func TestPublicTypes(t *testing.T) {
	t.Parallel()
	const module = "github.com/inquest-dev/inquest"
	compiled := exported(t, ".", "./config", "./value", "./inquesttest")
	packages := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(compiled[path])
	})
	for _, path := range []string{module, module + "/config", module + "/value", module + "/inquesttest"} {
		pkg, err := packages.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		w, scope := typeWalk{found: map[string]bool{}}, pkg.Scope()
		for _, name := range scope.Names() {
			if obj := scope.Lookup(name); obj.Exported() {
				w.object(name, obj)
			}
		}
		if w.seen < 5 {
			t.Errorf("%s: only %d exported declarations found", path, w.seen)
		}
		for _, problem := range slices.Sorted(maps.Keys(w.found)) {
			t.Errorf("%s.%s", pkg.Name(), problem)
		}
	}
}

// exported returns the files with the exported types of packages and of everything that they import, by import path.
func exported(t *testing.T, patterns ...string) map[string]string {
	t.Helper()
	args := append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}, patterns...)
	out, err := exec.CommandContext(t.Context(), "go", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if path, file, _ := strings.Cut(strings.TrimSpace(line), " "); file != "" {
			files[path] = file
		}
	}
	return files
}

// typeWalk collects the internal types in the declarations of one package.
type typeWalk struct {
	seen  int
	found map[string]bool
}

// object looks at an exported declaration.
func (w *typeWalk) object(at string, obj types.Object) {
	w.seen++
	named, isType := obj.Type().(*types.Named)
	switch alias, isAlias := obj.Type().(*types.Alias); {
	case isAlias && alias.Obj() == obj:
		w.walk(at, alias.Rhs())
	case isType && named.Obj() == obj:
		w.walk(at, named.Underlying())
		for m := range named.Methods() {
			if m.Exported() {
				w.walk(at+"."+m.Name(), m.Type())
			}
		}
	default:
		w.walk(at, obj.Type())
	}
}

// walk looks for internal types in the visible parts of a type. It skips unexported fields and does not follow the names
// of other types.
func (w *typeWalk) walk(at string, typ types.Type) {
	switch typ := typ.(type) {
	case *types.Alias:
		w.name(at, typ.Obj(), typ.TypeArgs())
	case *types.Named:
		w.name(at, typ.Obj(), typ.TypeArgs())
	case *types.Struct:
		for f := range typ.Fields() {
			if f.Exported() {
				w.walk(at+"."+f.Name(), f.Type())
			}
		}
	case *types.Interface:
		for m := range typ.ExplicitMethods() {
			if m.Exported() {
				w.walk(at+"."+m.Name(), m.Type())
			}
		}
		for embedded := range typ.EmbeddedTypes() {
			w.walk(at, embedded)
		}
	case *types.Signature:
		for v := range typ.Params().Variables() {
			w.walk(at, v.Type())
		}
		for v := range typ.Results().Variables() {
			w.walk(at, v.Type())
		}
	case *types.Map:
		w.walk(at, typ.Key())
		w.walk(at, typ.Elem())
	case *types.Union:
		for term := range typ.Terms() {
			w.walk(at, term.Type())
		}
	case interface{ Elem() types.Type }: // a pointer, a slice, an array, a channel
		w.walk(at, typ.Elem())
	}
}

// name records a type that a program cannot import.
func (w *typeWalk) name(at string, obj *types.TypeName, args *types.TypeList) {
	if pkg := obj.Pkg(); pkg != nil && strings.Contains(pkg.Path()+"/", "/inquest/internal/") {
		w.found[fmt.Sprintf("%s names %s.%s, which programs cannot import", at, pkg.Path(), obj.Name())] = true
	}
	for arg := range args.Types() {
		w.walk(at, arg)
	}
}
