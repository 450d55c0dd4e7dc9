package config

import (
	"cmp"

	"github.com/inquest-dev/inquest/internal/mask"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/strict"
)

// AlertMasking is what is masked before anything is stored or sent to a model: in
// the data of requests, in the results of the shell, and in those of MCP servers
// that have no data_masking of their own.
type AlertMasking struct {
	// Enabled switches it on.
	Enabled *bool `yaml:"enabled"`
	// PatternGroup is the group of patterns: see data_masking.
	PatternGroup string `yaml:"pattern_group" enum:"masking group"`
}

// DataMasking is what is masked in the results of a server, before anything is
// stored or sent to a model. What is found becomes a marker that tells its kind,
// [MASKED_PASSWORD]; the key beside it stays. A line that
// cannot be masked is withheld: [MASKED_LINE]. What patterns and groups there are stands below, under
// "Masking patterns".
type DataMasking struct {
	// Enabled switches it on; false masks nothing of the server's.
	Enabled *bool `yaml:"enabled" default:"true"`
	// PatternGroups are groups of patterns.
	PatternGroups []string `yaml:"pattern_groups" enum:"masking group" default:"that of alert_masking, if there are no patterns either"`
	// Patterns are single patterns, besides those of the groups.
	Patterns []string `yaml:"patterns" enum:"masking pattern" default:"none"`
	// CustomPatterns are patterns of your own.
	CustomPatterns []CustomPattern `yaml:"custom_patterns" default:"none"`
}

// CustomPattern is a pattern of your own.
type CustomPattern struct {
	// Pattern is a regular expression (RE2); required.
	Pattern string `yaml:"pattern"`
	// Replacement is written in place of what matches; ${1} is the first group of the expression.
	Replacement string `yaml:"replacement" default:"[MASKED]"`
	// Description says what the pattern is for.
	Description string `yaml:"description"`
}

func (c CustomPattern) validate(p path, v *validator) {
	if c.Pattern == "" {
		v.Errorf(p.Key("pattern"), "a pattern is required")
	} else if err := mask.Check(c.plan()); err != nil {
		v.Errorf(p.Key("pattern"), "cannot be used: %v", err)
	}
}

// masking is a server's with what it inherits. The levels that it tells are 0 for
// what is built in, 1 for defaults.alert_masking, and 2 for the server's own.
func (c *Config) masking(own DataMasking) (DataMasking, map[string]int) {
	builtIn, defaults := DataMasking{Enabled: new(true)}, DataMasking{}
	if own.PatternGroups == nil && own.Patterns == nil {
		defaults.PatternGroups = []string{c.Defaults.AlertMasking.PatternGroup}
	}
	return strict.Inherit(builtIn, defaults, own)
}

// resultMasking plans what is masked in a server's results.
func (c *Config) resultMasking(server string) *plan.Masking {
	own := c.MCPServers[server].DataMasking
	if own == nil {
		return c.Defaults.AlertMasking.plan()
	}
	all, _ := c.masking(*own)
	return all.plan()
}

// AlertMasking is what is masked in requests; nil = nothing. Who puts a request's
// data anywhere masks it first.
func (c *Config) AlertMasking() *plan.Masking { return c.Defaults.AlertMasking.plan() }

// plan is nil if nothing is masked.
func (a AlertMasking) plan() *plan.Masking {
	return DataMasking{Enabled: a.Enabled, PatternGroups: []string{a.PatternGroup}}.plan()
}

func (d DataMasking) plan() *plan.Masking {
	if !value(d.Enabled) {
		return nil
	}
	out := &plan.Masking{}
	out.Patterns, _ = mask.Expand(d.PatternGroups, d.Patterns) // the names have been validated
	for _, c := range d.CustomPatterns {
		out.Custom = append(out.Custom, c.plan())
	}
	return out
}

func (c CustomPattern) plan() plan.MaskPattern {
	return plan.MaskPattern{Pattern: c.Pattern, Replacement: cmp.Or(c.Replacement, mask.Replacement), Description: c.Description}
}

// masking is a server's with what it inherits, for people to read; nil = it has none of its own.
func (v *view) masking(p path, own *DataMasking) *DataMasking {
	if own == nil {
		return nil
	}
	all, from := v.source.masking(*own)
	group := path{}.Key("defaults").Key("alert_masking").Key("pattern_group")
	for key, level := range from {
		v.from[p.Key(key).Text] = [...]origin{{Rule: "data_masking"}, {At: group}, {At: p.Key(key)}}[level]
	}
	return &all
}
