package config

import (
	"reflect"

	"github.com/inquest-dev/inquest/internal/agent"
)

// settings is everything that is inherited, as one level has it: nil, 0 and ""
// mean that the level does not set it.
type settings struct {
	Provider, Backend string
	Fallbacks         []Fallback // empty but not nil: none, whatever was inherited
	Servers           []string
	MaxIterations     *int
	OnLimit           agent.OnLimit
	Temperature       *float32
	MaxTokens         *int
	Compression       Compression
	Shell             Shell
	Timeouts          Timeouts
}

// inherit lays levels over each other, lowest first: of every field, the last
// one that is set wins. It is the only place where anything is inherited.
func inherit[T any](levels ...T) T {
	var out T
	for _, level := range levels {
		overlay(reflect.ValueOf(&out).Elem(), reflect.ValueOf(level))
	}
	return out
}

func overlay(dst, src reflect.Value) {
	for i := range src.NumField() {
		switch field := src.Field(i); {
		case !dst.Field(i).CanSet():
		case field.Kind() == reflect.Struct:
			overlay(dst.Field(i), field)
		case !field.IsZero(): // an empty list is not: it has been written
			dst.Field(i).Set(field)
		}
	}
}

// typeSettings is what an agent's type brings with it. A type's own number of
// iterations is above the defaults', because it belongs to the type.
func typeSettings(t agent.Type) settings {
	var s settings
	if t.MaxIterations > 0 {
		s.MaxIterations = &t.MaxIterations
	}
	if t.Pattern == agent.Iterating {
		s.OnLimit = agent.OnLimitConclude
	}
	return s
}

// work is one agent of a stage with everything that it inherits.
type work struct {
	name       string // in the stage
	definition string
	instruct   string
	kind       agent.Type
	settings   settings
}

// agentWork is the work of a stage's agents, in order.
func (c *Config) agentWork(chain *Chain, stage *Stage) []work {
	var all []work
	names := stage.names()
	for i, a := range stage.executions() {
		all = append(all, c.work(names[i], a.Name, chain.settings(), stage.settings(), a.settings()))
	}
	return all
}

// synthesisWork is the work of joining the others' (not of the stage's
// settings: those are for the agents that investigate).
func (c *Config) synthesisWork(chain *Chain, stage *Stage) work {
	name := stage.Synthesis.agent()
	return c.work(name, name, chain.settings(), stage.Synthesis.settings())
}

func (c *Config) work(name, definition string, above ...settings) work {
	def, ok := c.Agents[definition]
	if !ok {
		def = &Agent{} // reported already
	}
	kind := def.row()
	levels := append([]settings{c.Defaults.settings(), typeSettings(kind), def.settings()}, above...)
	w := work{name: name, definition: definition, instruct: def.CustomInstructions, kind: kind, settings: inherit(levels...)}
	if kind.Pattern == agent.SingleShot { // one call without tools, whatever the chain says
		w.settings.Servers, w.settings.MaxIterations = nil, &kind.MaxIterations
	}
	return w
}

// joined reports whether a stage has work to join.
func (s *Stage) joined() bool { return len(s.executions()) > 1 }
