package config

// AlertMasking selects what to mask before anything is stored or sent to a model: in the data of requests, in the results
// of the shell, and in those of MCP servers without data_masking.
type AlertMasking struct {
	// Enabled turns masking on.
	Enabled *bool `yaml:"enabled"`
	// PatternGroup is the group of patterns: see data_masking.
	PatternGroup string `yaml:"pattern_group" enum:"masking group"`
}

// DataMasking selects what to mask in the results of a server, before anything is stored or sent to a model. Each secret
// is replaced by a marker with its kind, such as [MASKED_PASSWORD]; its key stays readable. A line that cannot be masked
// is replaced by [MASKED_LINE]. The patterns and groups are listed below, under "Masking patterns".
type DataMasking struct {
	// Enabled turns masking on; false masks nothing in the server's results.
	Enabled *bool `yaml:"enabled" default:"true"`
	// PatternGroups are groups of patterns.
	PatternGroups []string `yaml:"pattern_groups" enum:"masking group" default:"the group of alert_masking, unless patterns is set"`
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
