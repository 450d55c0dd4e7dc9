// Package mcp proves the MCP client on servers that others wrote: the reference
// servers from npm, over every transport that they have. It needs node and npm,
// and, for the first run, the network.
package mcp

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// modules is the folder of the servers' scope, set by TestMain.
var modules string

func TestMain(m *testing.M) {
	dir, err := install()
	if err != nil {
		fmt.Fprintln(os.Stderr, "install the MCP servers:", err)
		os.Exit(1)
	}
	modules = filepath.Join(dir, "node_modules", "@modelcontextprotocol")
	os.Exit(m.Run())
}

// install returns a folder with the node_modules that package-lock.json names:
// this one if somebody ran npm here, else one among the user's caches, which is
// filled when it is first needed.
func install() (string, error) {
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			return "", fmt.Errorf("the tests of this package need %s: %w", program, err)
		}
	}
	if _, err := os.Stat("node_modules"); err == nil {
		return ".", nil
	}
	lock, err := os.ReadFile("package-lock.json")
	if err != nil {
		return "", err
	}
	caches, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(caches, "inquest", fmt.Sprintf("mcp-servers-%x", sha256.Sum256(lock))[:24])
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	return dir, fill(dir)
}

// fill installs beside dir and renames, so that dir is whole or not there, also
// when two runs do it at once.
func fill(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "installing-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(name)
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
	err = os.Rename(work, dir)
	if _, missing := os.Stat(dir); err != nil && missing != nil {
		return err
	}
	return nil
}
