// Package npmtest installs what tests use from npm. It needs node and npm and, for the first run, the network.
package npmtest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Install returns a folder with the node_modules that the package-lock.json in dir names:
// that one if somebody ran npm there, else one among the user's caches, which is
// filled when it is first needed.
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

// fill installs beside the cache and renames, so that it is whole or not there, also
// when two runs do it at once.
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
