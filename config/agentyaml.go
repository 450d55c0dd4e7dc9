package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// WriteAgent adds an agent's entry to a configuration, as a file of its own, and
// returns the file's path. The error is Findings if the configuration would be
// refused with it; then nothing is written.
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

// fileRune keeps what every file system takes in a name.
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
		return nil, fmt.Errorf("the definition of %s is no JSON object", name)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("something follows the definition of %s", name)
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	err := encoder.Encode(node(map[string]any{"agents": map[string]any{name: value}}))
	return out.Bytes(), errors.Join(err, encoder.Close())
}

// node is a value of JSON as YAML.
func node(value any) *yaml.Node {
	scalar := func(tag string) *yaml.Node {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: fmt.Sprint(value)}
	}
	switch v := value.(type) {
	case map[string]any:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			n.Content = append(n.Content, node(key), node(v[key]))
		}
		return n
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range v {
			n.Content = append(n.Content, node(item))
		}
		return n
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	case bool:
		return scalar("!!bool")
	case json.Number:
		_, small := strconv.ParseInt(v.String(), 10, 64)
		_, large := strconv.ParseUint(v.String(), 10, 64)
		if small != nil && large != nil { // a fraction, or more than YAML's whole numbers can be
			return scalar("!!float")
		}
		return scalar("!!int")
	}
	return textNode(fmt.Sprint(value))
}
