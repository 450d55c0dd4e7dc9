package config

import (
	"reflect"

	"github.com/inquest-dev/inquest/internal/plan"
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

// inherit lays levels over each other, lowest first: of every field, the last
// one that is set wins, and of every mapping the last one that has the name. It
// is the only place where anything is inherited. It tells, for every key that is
// set, which level won.
func inherit[T any](levels ...T) (T, map[string]int) {
	var out T
	from := map[string]int{}
	for i, level := range levels {
		overlay(reflect.ValueOf(&out).Elem(), reflect.ValueOf(level), path{}, func(key path) { from[key.text] = i })
	}
	return out, from
}

func overlay(dst, src reflect.Value, at path, won func(key path)) {
	keys := schemaOf(src.Type())
	for _, name := range keys.order {
		i := keys.fields[name].index
		switch field := src.FieldByIndex(i); {
		case field.Kind() == reflect.Struct:
			overlay(dst.FieldByIndex(i), field, at.key(name), won)
		case field.Kind() == reflect.Map:
			overlayEntries(dst.FieldByIndex(i), field, at.key(name), won)
		case !field.IsZero(): // an empty list is not: it has been written
			dst.FieldByIndex(i).Set(field)
			won(at.key(name))
		}
	}
}

func overlayEntries(dst, src reflect.Value, at path, won func(key path)) {
	for name, entry := range textKeys(src) {
		if dst.IsNil() {
			dst.Set(reflect.MakeMap(dst.Type())) // the levels keep theirs
		}
		dst.SetMapIndex(reflect.ValueOf(name), entry)
		won(at.key(name))
	}
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

// origin says where a value comes from: from a place of the configuration, or,
// if rule is not "", from a rule.
type origin struct {
	at   path
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
	out.settings, out.from = inherit(all...)
	return out
}

// origin says where a setting comes from.
func (in inherited) origin(key string) origin {
	i, ok := in.from[key]
	if !ok {
		return origin{}
	}
	l := in.levels[i]
	if name, ok := l.keys[key]; ok {
		key = name
	}
	return origin{at: l.at.dotted(key), rule: l.rule}
}
