package config

import (
	"encoding/json"
	"errors"
	"fmt"

	"gopkg.in/yaml.v3"
)

// An agent travels between configurations as its entry in JSON, as it was written:
// templates stay text, and nothing is inherited.

// AgentEntry returns what the files of a configuration say of an agent; nil if
// they say nothing. If they cannot be read, the error is Findings.
func AgentEntry(dir, name string) (json.RawMessage, error) {
	r := newReport()
	var found any
	for _, f := range readSource(dir, r) {
		if f.name == dotenvName || !f.usable(r) {
			continue
		}
		root, err := parse(f.data)
		if errors.Is(err, errEmpty) {
			continue
		}
		if err != nil {
			line, message := yamlError(err)
			r.unreadable(f.name, line, "%s", message)
			continue
		}
		d := decoder{report: r, file: f, budget: maxNodes}
		if entry := d.child(d.child(root, "agents"), name); entry != nil {
			found = d.plain(entry)
		}
	}
	if r.findings.Failed() {
		return nil, r.findings
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

// child is what a mapping has under a key; nil if it has nothing, or is none.
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

// plain is a value as encoding/json knows it.
func (d *decoder) plain(n *yaml.Node) any {
	n = follow(n)
	if !d.spend(n) {
		return nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		out := map[string]any{}
		for _, p := range d.pairs(n, 0) {
			out[p.key.Value] = d.plain(p.value)
		}
		return out
	case yaml.SequenceNode:
		out := []any{}
		for _, item := range n.Content {
			out = append(out, d.plain(item))
		}
		return out
	}
	var out any
	if n.ShortTag() == "!!timestamp" || n.Decode(&out) != nil {
		return n.Value
	}
	return out
}
