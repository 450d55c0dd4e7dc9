package configuration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/strict"
)

// An agent is copied between configurations as JSON, exactly as its entry is written: templates are not expanded, and
// nothing is inherited.

// AgentEntry returns an agent's entry in the files of a configuration, or nil if they have none. If the files cannot be
// read, the error is of type Findings.
func AgentEntry(dir, name string) (json.RawMessage, error) {
	r := strict.NewReport()
	found := strict.LookUp(slices.DeleteFunc(strict.ReadFiles(dir, dotenvName, r), isDotenv), r, "agents", name)
	if r.Findings.Failed() {
		return nil, r.Findings
	}
	if found == nil {
		return nil, nil
	}
	body, err := json.Marshal(found)
	if err != nil {
		return nil, fmt.Errorf("write agents.%s as JSON: %w", name, err)
	}
	return body, nil
}

// WriteAgent adds an agent's entry to a configuration in a new file and returns the file's path. If the entry makes
// the configuration invalid, it removes the file, and the error wraps Findings.
func WriteAgent(src Source, name string, entry json.RawMessage) (file string, err error) {
	text, err := agentYAML(name, entry)
	if err != nil {
		return "", err
	}
	file = filepath.Join(src.Dir, "agents-"+strings.Map(fileRune, name)+".yaml")
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("write the agent %s: %w", name, err)
	}
	_, err = out.Write(text)
	if err = errors.Join(err, out.Close()); err == nil {
		_, err = Load(src)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(file))
	}
	return file, nil
}

// fileRune replaces characters that some file systems do not allow in a name.
func fileRune(r rune) rune {
	if r < ' ' || strings.ContainsRune(`/\:*?"<>|`, r) {
		return '-'
	}
	return r
}

func agentYAML(name string, entry json.RawMessage) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(entry))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("read the definition of %s: %w", name, err)
	}
	if _, ok := value.(map[string]any); !ok {
		return nil, fmt.Errorf("the definition of %s is not a JSON object", name)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("unexpected text after the definition of %s", name)
	}
	return strict.Encode(map[string]any{"agents": map[string]any{name: value}})
}
