// Package app is the composition root: the only place that builds concrete
// things (store, models, tool servers, workers) and plugs them together.
package app

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/sample"
)

// DefaultData is the folder where a single-host installation keeps its data.
func DefaultData() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the folder for data (give it with a flag): %w", err)
	}
	return filepath.Join(cache, "inquest"), nil
}

// StorePath is the SQLite store in a data folder.
func StorePath(data string) string { return filepath.Join(data, "inquest.db") }

// DefaultStore is the store that dev uses unless it is told another folder.
func DefaultStore() (string, error) {
	data, err := DefaultData()
	return StorePath(data), err
}

// Variables that every configuration may use besides the environment's.
const (
	variableExecutable = "INQUEST_EXECUTABLE" // this program, which serves the sample incident over MCP
	variableData       = "INQUEST_DATA"       // the data folder
)

// SampleCommand is the hidden command by which this program is re-executed as
// the sample incident's MCP server.
const SampleCommand = "mcp-sample"

// Env is the environment that configurations see: the process's, and where this
// program and its data are.
func Env(data string) config.Env {
	return func(name string) (string, bool) {
		switch name {
		case variableExecutable:
			path, err := os.Executable()
			return path, err == nil
		case variableData:
			return data, true
		}
		return os.LookupEnv(name)
	}
}

// PrepareSample puts the files of the sample incident where its chain expects them.
func PrepareSample(data string) error {
	if err := sample.Extract(data); err != nil {
		return fmt.Errorf("extract the sample incident: %w", err)
	}
	return nil
}
