// Package sample lets people try Inquest without a cluster, a key or a network. It provides an incident as files and an MCP server that
// really reads them. Package actor has the scripted model.
package sample

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/inquest-dev/inquest/examples"
)

// Folder is the name of the incident's folder, below the directory passed to Extract.
const Folder = "sample-incident"

// Alert returns the incident's alert: JSON, the data of the sample's request.
func Alert() []byte {
	data, err := examples.SampleIncident.ReadFile(Folder + "/alert.json")
	if err != nil {
		return nil // impossible: the file is embedded, and a test reads it
	}
	return data
}

// Extract writes the incident to dir/sample-incident. Each file appears completely or not at all. Existing files stay as they are,
// because people change them to see the agents react. To restore one, delete it.
func Extract(dir string) error {
	err := fs.WalkDir(examples.SampleIncident, Folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(dir, filepath.FromSlash(path))
		if d.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		return extractFile(path, target)
	})
	if err != nil {
		return fmt.Errorf("extract sample incident to %s: %w", dir, err)
	}
	return nil
}

func extractFile(path, target string) error {
	if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	data, err := examples.SampleIncident.ReadFile(path)
	if err != nil {
		return err
	}
	return writeAtomic(target, data)
}

// writeAtomic writes a temporary file and renames it, so that a crash leaves no partial file.
func writeAtomic(target string, data []byte) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(target), ".extract-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	_, err = bytes.NewReader(data).WriteTo(tmp)
	if err := errors.Join(err, tmp.Close()); err != nil { // keeps the mode 0600 from CreateTemp
		return err
	}
	return os.Rename(tmp.Name(), target)
}
