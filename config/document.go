package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// decodeFiles decodes files into one configuration: their sections merge.
func decodeFiles(files []file, env Env, r *report) *Config {
	c := &Config{env: env, report: r}
	for _, f := range files {
		if f.name == dotenvName || !f.usable(r) {
			continue
		}
		root, err := parse(f.data)
		if errors.Is(err, errEmpty) {
			r.warnFile(f.name, "%v", err)
			continue
		}
		if err != nil {
			line, message := yamlError(err)
			r.unreadable(f.name, line, "%s", message)
			continue
		}
		d := decoder{report: r, file: f, env: env, budget: maxNodes}
		d.value(root, path{}, reflect.ValueOf(c).Elem(), false)
	}
	return c
}

var (
	errEmpty         = errors.New("the file is empty")
	errManyDocuments = errors.New("several YAML documents in one file: use several files")
)

// parse reads the one YAML document that a file holds.
func parse(data []byte) (root *yaml.Node, err error) {
	// The parser is no longer developed; a bug in it must not end the process.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("not YAML: %v", p)
		}
	}()
	var doc, next yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(data))
	switch err := documents.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, errEmpty
	case err != nil:
		return nil, err
	}
	switch err := documents.Decode(&next); {
	case err == nil:
		return nil, errManyDocuments
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	if len(doc.Content) != 1 || doc.Content[0].ShortTag() == "!!null" {
		return nil, errEmpty
	}
	return doc.Content[0], nil
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`)

// yamlError takes the line out of a parser's message.
func yamlError(err error) (line int, message string) {
	text := err.Error()
	m := yamlLine.FindStringSubmatch(text)
	line, _ = strconv.Atoi(m[1]) // no line: 0
	message = strings.TrimPrefix(text, m[0])
	if strings.Contains(message, "did not find expected") {
		message += " (a value that begins with {{ must be quoted)"
	}
	return line, message
}
