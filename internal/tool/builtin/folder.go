package builtin

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/inquest-dev/inquest/internal/sandbox"
)

// openFolder is where a command runs: the configured folder, if no one else can put
// files there that programs obey, or a new one, which remove takes away.
func openFolder(configured string) (dir string, remove func(), err error) {
	if configured != "" {
		if dir, err = filepath.Abs(configured); err != nil {
			return "", nil, err
		}
		return dir, func() {}, sandbox.CheckFolder(dir)
	}
	dir, err = os.MkdirTemp("", "inquest-shell-")
	return dir, func() { removeAll(dir) }, err
}

// removeAll removes a folder, also with folders in it that may not be written in.
func removeAll(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, _ error) error {
		if entry != nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}
