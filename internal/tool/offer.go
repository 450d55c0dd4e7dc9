package tool

import (
	"log/slog"
	"slices"
	"strings"
)

// offer collects tools and keeps their names unique.
type offer struct {
	log   *slog.Logger
	specs []Spec
	taken map[string]bool // names in both spellings
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
	if o.taken[spec.Name] || o.taken[wire] {
		o.log.Warn("tool left out: its name is taken", "tool", spec.Name, "wire_name", wire)
		return
	}
	o.taken[spec.Name], o.taken[wire] = true, true
	o.specs = append(o.specs, spec)
}

func byName(a, b Spec) int { return strings.Compare(a.Name, b.Name) }
