package tool

import (
	"log/slog"
	"slices"
	"strings"
)

// offer collects tools and keeps their names unique.
type offer struct {
	log   *slog.Logger
	tools []*attached
	named map[string]*attached // by both spellings
}

func (o *offer) builtin(name string, builtins []Spec) {
	for _, spec := range builtins {
		if spec.Name == name {
			o.add(spec)
		}
	}
}

func (o *offer) server(server string, catalogues []Catalogue) {
	for _, c := range catalogues {
		if c.Server != server {
			continue
		}
		for _, spec := range slices.SortedStableFunc(slices.Values(c.Tools), byName) {
			if owner, own := Split(spec.Name); owner != server || own == "" {
				o.log.Warn("tool left out: its name is not its server's", "tool", spec.Name, "server", server)
				continue
			}
			o.add(spec)
		}
	}
}

// add appends a tool unless one of its names would mean two tools.
func (o *offer) add(spec Spec) {
	wire := WireName(spec.Name)
	if o.named[spec.Name] != nil || o.named[wire] != nil {
		o.log.Warn("tool left out: its name is taken", "tool", spec.Name, "wire_name", wire)
		return
	}
	tool := &attached{spec: spec, wire: wire}
	o.named[spec.Name], o.named[wire] = tool, tool
	o.tools = append(o.tools, tool)
}

func byName(a, b Spec) int { return strings.Compare(a.Name, b.Name) }
