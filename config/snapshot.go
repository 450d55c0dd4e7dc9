package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// snapshot tells by their looks whether the files of a configuration have
// changed: what can be known without reading them.
type snapshot []fs.FileInfo

// snapshotOf looks at the files that readSource would read. Links are followed:
// a mounted ConfigMap changes by a link that points elsewhere.
func snapshotOf(dir string) snapshot {
	if dir == "" {
		return nil
	}
	names := []string{dir}
	entries, _ := os.ReadDir(dir) // a single file has none, and what cannot be read is reported when it is loaded
	for _, e := range entries {
		if name := e.Name(); name == dotenvName || filepath.Ext(name) == ".yaml" {
			names = append(names, filepath.Join(dir, name))
		}
	}
	var all snapshot
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			all = append(all, info)
		}
	}
	return all
}

func (s snapshot) same(other snapshot) bool {
	return slices.EqualFunc(s, other, func(a, b fs.FileInfo) bool {
		return os.SameFile(a, b) && a.Name() == b.Name() && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
	})
}
