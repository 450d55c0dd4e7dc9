package strict

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

// Decode decodes files into a pointer's target by the tags of its type. Sections of the files merge.
func Decode(into any, files []File, vars Variables, r *Report) {
	dst := reflect.ValueOf(into).Elem()
	for _, f := range files {
		if root := f.parse(r); root != nil {
			d := decoder{Report: r, file: f, vars: vars, root: dst.Type(), budget: maxNodes}
			d.value(root, Path{}, dst, false)
		}
	}
}

// LookUp returns the value at a path in the files, in the form of encoding/json, with templates as text. Nil means that
// there is none.
func LookUp(files []File, r *Report, keys ...string) (found any) {
	for _, f := range files {
		d := decoder{Report: r, file: f, budget: maxNodes}
		n, p := f.parse(r), Path{}
		for _, key := range keys {
			n, p = d.child(n, key), p.Key(key)
		}
		if n != nil {
			found = d.any(n, p, 0)
		}
	}
	return found
}

// child returns a mapping's value of a key. It returns nil if there is none, or n is not a mapping.
func (d *decoder) child(n *yaml.Node, key string) *yaml.Node {
	if n == nil {
		return nil
	}
	if n = follow(n); n.Kind != yaml.MappingNode {
		return nil
	}
	for _, p := range d.pairs(n, 0) {
		if p.key.Value == key {
			return follow(p.value)
		}
	}
	return nil
}

// parse returns nil if there is nothing to decode, which is then reported.
func (f File) parse(r *Report) *yaml.Node {
	if !f.Usable(r) {
		return nil
	}
	root, err := parse(f.Data)
	if errors.Is(err, errEmpty) {
		r.WarnFile(f.Name, "%v", err)
	} else if err != nil {
		line, message := yamlError(err)
		r.Unreadable(f.Name, line, "%s", message)
	}
	return root
}

var (
	errEmpty         = errors.New("the file is empty")
	errManyDocuments = errors.New("several YAML documents in one file: use several files")
)

// parse parses the single YAML document of a file.
func parse(data []byte) (root *yaml.Node, err error) {
	// The parser is no longer developed; a bug in it must not crash the process.
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

// yamlError splits the line from a parser's message.
func yamlError(err error) (line int, message string) {
	text := err.Error()
	m := yamlLine.FindStringSubmatch(text)
	line, _ = strconv.Atoi(m[1]) // 0 without a line
	message = strings.TrimPrefix(text, m[0])
	if strings.Contains(message, "did not find expected") {
		message += " (a value that begins with {{ must be quoted)"
	}
	return line, message
}
