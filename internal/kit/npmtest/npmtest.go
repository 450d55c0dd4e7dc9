// Package npmtest installs npm packages for tests. It needs node and npm and, for the first run, the network.
package npmtest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Install returns a folder with the node_modules that the package-lock.json in dir lists.
// That is dir if it has node_modules already, and otherwise a folder in the user's
// cache, which Install fills when it is first needed.
func Install(dir string) (string, error) {
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			return "", fmt.Errorf("the tests of this package need %s: %w", program, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err == nil {
		return dir, nil
	}
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return "", err
	}
	caches, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cache := filepath.Join(caches, "inquest", fmt.Sprintf("npm-%x", sha256.Sum256(lock))[:24])
	if _, err := os.Stat(cache); err == nil {
		return cache, nil
	}
	return cache, fill(dir, cache)
}

// Folder returns a temporary folder with copies of the files in dir and the node_modules that they import.
func Folder(t *testing.T, dir string) string {
	t.Helper()
	installed, err := Install(dir)
	if err == nil {
		installed, err = filepath.Abs(installed)
	}
	files, listErr := os.ReadDir(dir)
	to := t.TempDir()
	err = errors.Join(err, listErr, os.Symlink(filepath.Join(installed, "node_modules"), filepath.Join(to, "node_modules")))
	for _, file := range files {
		if file.IsDir() {
			continue
		}
		text, readErr := os.ReadFile(filepath.Join(dir, file.Name()))
		err = errors.Join(err, readErr, os.WriteFile(filepath.Join(to, file.Name()), text, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// fill installs into a folder beside the cache and renames it, so that the cache is complete
// or absent, even if two runs fill it at once.
func fill(dir, cache string) error {
	if err := os.MkdirAll(filepath.Dir(cache), 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(cache), "installing-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(work, name), text, 0o644); err != nil {
			return err
		}
	}
	npm := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = work
	if out, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, bytes.TrimSpace(out))
	}
	err = os.Rename(work, cache)
	if _, missing := os.Stat(cache); err != nil && missing != nil {
		return err
	}
	return nil
}
