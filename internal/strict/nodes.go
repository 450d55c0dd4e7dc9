package strict

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// pair is a key of a mapping and its value.
type pair struct{ key, value *yaml.Node }

// pairs returns the pairs of a mapping with "<<" merged in: own keys win, then earlier merges.
func (d *decoder) pairs(n *yaml.Node, depth int) []pair {
	var own, merged []pair
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := follow(n.Content[i]), n.Content[i+1]
		switch {
		case !d.spend(key):
			return own
		case key.ShortTag() == "!!merge":
			merged = append(merged, d.merge(value, key.Line, depth+1)...)
		case key.Kind != yaml.ScalarNode:
			d.Unreadable(d.file.Name, key.Line, "a key must be text")
		default:
			own = append(own, pair{key, value})
		}
	}
	return withMerged(own, merged)
}

// merge returns the pairs that "<<: value" stands for.
func (d *decoder) merge(value *yaml.Node, line, depth int) []pair {
	value = follow(value)
	switch {
	case !d.spend(value):
	case depth > maxMerges:
		d.Unreadable(d.file.Name, line, "merge keys (<<) are nested more than %d levels deep", maxMerges)
	case value.Kind == yaml.MappingNode:
		return d.pairs(value, depth)
	case value.Kind == yaml.SequenceNode:
		var all []pair
		for _, item := range value.Content {
			all = append(all, d.merge(item, line, depth+1)...)
		}
		return all
	default:
		d.Unreadable(d.file.Name, line, "<< must name a mapping")
	}
	return nil
}

func withMerged(own, merged []pair) []pair {
	if len(merged) == 0 {
		return own
	}
	seen := map[string]bool{}
	for _, p := range own {
		seen[p.key.Value] = true
	}
	for _, p := range merged {
		if !seen[p.key.Value] {
			seen[p.key.Value] = true
			own = append(own, p)
		}
	}
	return own
}

// spend counts a visit to n. It returns false, and reports that once, when the file's budget of values is used up.
func (d *decoder) spend(n *yaml.Node) bool {
	d.budget--
	if d.budget == -1 {
		d.Unreadable(d.file.Name, n.Line, "more than %d values, including uses of aliases", maxNodes)
	}
	return d.budget >= 0
}

// follow resolves an alias, and a bare {{.NAME}}, which YAML parses as a mapping within a mapping.
func follow(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	inner, ok := onlyKey(n)
	if !ok {
		return n
	}
	name, ok := onlyKey(inner)
	if !ok || name.Kind != yaml.ScalarNode || !strings.HasPrefix(name.Value, ".") {
		return n
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "{{" + name.Value + "}}", Line: n.Line}
}

// onlyKey returns the key of a flow mapping {key}.
func onlyKey(n *yaml.Node) (*yaml.Node, bool) {
	if n.Kind != yaml.MappingNode || n.Style&yaml.FlowStyle == 0 || len(n.Content) != 2 || n.Content[1].ShortTag() != "!!null" {
		return nil, false
	}
	return n.Content[0], true
}

// duplicate says where else a key was written.
func duplicate(prev position, file string) string {
	if prev.file == file {
		return fmt.Sprintf("duplicate key; first on line %d", prev.line)
	}
	files := []string{prev.file, file}
	slices.Sort(files)
	return fmt.Sprintf("defined in two files, %s and %s; first at %s:%d", files[0], files[1], prev.file, prev.line)
}
