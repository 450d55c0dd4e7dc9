package config

import (
	"cmp"

	"github.com/inquest-dev/inquest/internal/mask"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/strict"
)

// AlertMasking says what to mask before anything is stored or sent to a model: in the data of requests, in the results
// of the shell, and in those of MCP servers without data_masking.
type AlertMasking struct {
	// Enabled turns masking on.
	Enabled *bool `yaml:"enabled"`
	// PatternGroup is the group of patterns: see data_masking.
	PatternGroup string `yaml:"pattern_group" enum:"masking group"`
}

// DataMasking says what to mask in the results of a server, before anything is stored or sent to a model. Each secret
// is replaced by a marker with its kind, such as [MASKED_PASSWORD]; the key beside it is kept. A line that cannot be
// masked is withheld: [MASKED_LINE]. The patterns and groups are listed below, under "Masking patterns".
type DataMasking struct {
	// Enabled turns masking on; false masks nothing in the server's results.
	Enabled *bool `yaml:"enabled" default:"true"`
	// PatternGroups are groups of patterns.
	PatternGroups []string `yaml:"pattern_groups" enum:"masking group" default:"that of alert_masking, if there are no patterns either"`
	// Patterns are single patterns, in addition to those of the groups.
	Patterns []string `yaml:"patterns" enum:"masking pattern" default:"none"`
	// CustomPatterns are patterns that you write yourself.
	CustomPatterns []CustomPattern `yaml:"custom_patterns" default:"none"`
}

// CustomPattern is a pattern that you write yourself.
type CustomPattern struct {
	// Pattern is a regular expression (RE2); required.
	Pattern string `yaml:"pattern"`
	// Replacement replaces each match; ${1} is the first group of the expression.
	Replacement string `yaml:"replacement" default:"[MASKED]"`
	// Description describes the pattern's purpose.
	Description string `yaml:"description"`
}

func (c CustomPattern) validate(p path, v *validator) {
	if c.Pattern == "" {
		v.Errorf(p.Key("pattern"), "a pattern is required")
	} else if err := mask.Check(c.plan()); err != nil {
		v.Errorf(p.Key("pattern"), "cannot be used: %v", err)
	}
}

// masking returns a server's settings after inheritance. The levels in the map are 0 for built-in values, 1 for
// defaults.alert_masking, and 2 for the server itself.
func (c *Config) masking(own DataMasking) (DataMasking, map[string]int) {
	builtIn, defaults := DataMasking{Enabled: new(true)}, DataMasking{}
	if own.PatternGroups == nil && own.Patterns == nil {
		defaults.PatternGroups = []string{c.Defaults.AlertMasking.PatternGroup}
	}
	return strict.Inherit(builtIn, defaults, own)
}

// resultMasking returns the masking of a server's results in a plan.
func (c *Config) resultMasking(server string) *plan.Masking {
	own := c.MCPServers[server].DataMasking
	if own == nil {
		return c.Defaults.AlertMasking.plan()
	}
	all, _ := c.masking(*own)
	return all.plan()
}

// AlertMasking returns the masking of requests, or nil for none. Apply it to a request's data before storing or sending
// them anywhere.
func (c *Config) AlertMasking() *plan.Masking { return c.Defaults.AlertMasking.plan() }

// plan returns nil if nothing is masked.
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

// masking returns a server's settings after inheritance, for display. It returns nil if the server has none.
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
