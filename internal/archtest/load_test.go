package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/inquest-dev/inquest"

// file is a parsed Go file.
type file struct {
	*ast.File
	path  string         // in the tree
	set   *token.FileSet // shared by the tree
	lines []string
}

func (f file) test() bool { return strings.HasSuffix(f.path, "_test.go") }

// line is where in its file a node begins.
func (f file) line(at token.Pos) int { return f.set.Position(at).Line }

// imports are the import paths of a file; those of this module without its name.
func (f file) imports() []string {
	var out []string
	for _, spec := range f.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err == nil {
			out = append(out, strings.TrimPrefix(name, module+"/"))
		}
	}
	return out
}

// tree is the files of each folder with Go code, by the folder's path.
type tree map[string][]file

// packages are the folders in order.
func (t tree) packages() []string { return slices.Sorted(maps.Keys(t)) }

// code is the files of a package that are not tests.
func (t tree) code(pkg string) []file {
	return slices.DeleteFunc(slices.Clone(t[pkg]), file.test)
}

// load parses all Go files of a tree, whatever their build constraints.
func load(t *testing.T, root fs.FS) tree {
	t.Helper()
	out, set := tree{}, token.NewFileSet()
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skip(root, name)
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		f, err := parse(root, name, set)
		out[path.Dir(name)] = append(out[path.Dir(name)], f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// skip leaves out the folders that are not packages of this module.
func skip(root fs.FS, dir string) error {
	if dir == "." {
		return nil
	}
	base := path.Base(dir)
	_, err := fs.Stat(root, path.Join(dir, "go.mod"))
	if err == nil || base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return fs.SkipDir
	}
	return nil
}

func parse(root fs.FS, name string, set *token.FileSet) (file, error) {
	source, err := fs.ReadFile(root, name)
	if err != nil {
		return file{}, err
	}
	parsed, err := parser.ParseFile(set, name, source, parser.ParseComments|parser.SkipObjectResolution)
	return file{File: parsed, path: name, set: set, lines: strings.Split(strings.TrimSuffix(string(source), "\n"), "\n")}, err
}
