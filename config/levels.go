package config

import (
	"cmp"

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

// What settings are called in the places that do not call them what their tags say;
// "-" = the key is something else there.
var (
	queueNames = map[string]string{"timeout": "session_timeout"}
	agentNames = map[string]string{"llm_provider": "default_model"}
	stageNames = map[string]string{"timeout": "-"} // of the stage
	entryNames = map[string]string{"timeouts.agent": "timeout", "timeout": "-"}
)

// level is the settings of one place of the configuration.
type level struct {
	at       path
	settings settings
	names    map[string]string // see queueNames
	// rule says which rule set this, where it is no part of the configuration.
	rule string
}

// levelOf takes the settings of a place: they stand under the same keys there, or under
// those that names gives them.
func levelOf(at path, place any, names map[string]string) level {
	l := level{at: at, names: names}
	for setting, own := range strict.Shared(&l.settings, place, names) {
		setting.Set(own)
	}
	s := &l.settings
	s.Backend, s.Servers, s.Shell.Allow = canonical(s.Backend), notEmpty(s.Servers), notEmpty(s.Shell.Allow)
	return l
}

// writeTo sets what levelOf takes: for people to read.
func (s settings) writeTo(place any, names map[string]string) {
	for setting, own := range strict.Shared(&s, place, names) {
		own.Set(setting)
	}
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
func (in inherited) origin(key string) origin {
	i, ok := in.from[key]
	if !ok {
		return origin{}
	}
	l := in.levels[i]
	return origin{At: l.at.Dotted(cmp.Or(l.names[key], key)), Rule: l.rule}
}
