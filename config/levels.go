package config

import (
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/strict"
)

// settings is everything that is inherited, as one level has it: nil, 0 and ""
// mean that the level does not set it. The tags are the keys of most levels.
type settings struct {
	Provider      string             `yaml:"llm_provider"`
	Backend       string             `yaml:"llm_backend"`
	Fallbacks     []Fallback         `yaml:"fallback_providers"` // empty but not nil: none, whatever was inherited
	Servers       []string           `yaml:"mcp_servers"`
	MaxIterations *int               `yaml:"max_iterations"`
	OnLimit       plan.OnLimit       `yaml:"on_limit"`
	Temperature   *float32           `yaml:"temperature"`
	MaxTokens     *int               `yaml:"max_tokens"`
	NativeTools   NativeTools        `yaml:"native_tools"`
	Compression   Compression        `yaml:"compression"`
	Shell         Shell              `yaml:"shell"`
	ToolConfig    ToolConfig         `yaml:"tool_config"`
	Timeouts      Timeouts           `yaml:"timeouts"`
	SuccessPolicy plan.SuccessPolicy `yaml:"success_policy"`
	Runbook       string             `yaml:"runbook"`
	Timeout       plan.Duration      `yaml:"timeout"` // of the investigation
	Budgets       Budgets            `yaml:"budgets"`
	Mock          string             `yaml:"mock"`
	PromptKey     string             `yaml:"prompt_key"`
}

// level is the settings of one place of the configuration.
type level struct {
	at       path
	settings settings
	// keys are what settings are called there, if not what their tags say.
	keys map[string]string
	// rule says which rule set this, where it is no part of the configuration.
	rule string
}

// inherited is settings, and for each key that is set which level it comes from.
type inherited struct {
	settings
	levels []level
	from   map[string]int
}

func inheritLevels(levels ...level) inherited {
	all := make([]settings, len(levels))
	for i, l := range levels {
		all[i] = l.settings
	}
	out := inherited{levels: levels}
	out.settings, out.from = strict.Inherit(all...)
	return out
}

// origin says where a setting comes from.
func (in inherited) origin(key string) strict.Origin {
	i, ok := in.from[key]
	if !ok {
		return strict.Origin{}
	}
	l := in.levels[i]
	if name, ok := l.keys[key]; ok {
		key = name
	}
	return strict.Origin{At: l.at.Dotted(key), Rule: l.rule}
}
