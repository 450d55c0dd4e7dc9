package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Entries are what a program defines in Go, beside the files of a configuration
// or in place of them: the same definitions that YAML gives, and checked like
// them. Texts are taken as they are; only those that may be secret (a server's
// env, bearer_token and custom_headers) may have variables in them.
type Entries struct {
	Agents       map[string]*Agent    `yaml:"agents"`
	AgentChains  map[string]*Chain    `yaml:"agent_chains"`
	MCPServers   map[string]*Server   `yaml:"mcp_servers"`
	LLMProviders map[string]*Provider `yaml:"llm_providers"`
	Prompts      map[string]string    `yaml:"prompts"`
}

// InGo is the file of findings about entries that a program defines.
const InGo = "Go"

// Clone is a copy that shares nothing with the entries.
func (e Entries) Clone() Entries {
	return copier{}.copy(path{}, reflect.ValueOf(e)).Interface().(Entries)
}

// define adds a program's entries to those of the files.
func (c *Config) define(e Entries) {
	c.Agents = define(c.report, "agents", c.Agents, e.Agents)
	c.AgentChains = define(c.report, "agent_chains", c.AgentChains, e.AgentChains)
	c.MCPServers = define(c.report, "mcp_servers", c.MCPServers, e.MCPServers)
	c.LLMProviders = define(c.report, "llm_providers", c.LLMProviders, e.LLMProviders)
	c.Prompts = define(c.report, "prompts", c.Prompts, e.Prompts)
}

func define[T any](r *report, section string, all, own map[string]T) map[string]T {
	for _, name := range slices.Sorted(maps.Keys(own)) {
		p := entryPath(section, name)
		if _, taken := r.at[p.text]; taken {
			r.errorf(p, "is defined in Go as well")
			continue
		}
		r.at[p.text] = position{file: InGo, entry: p.entry}
		if all == nil {
			all = map[string]T{}
		}
		all[name] = copier{r}.element(p, reflect.ValueOf(own[name])).Interface().(T)
	}
	return all
}

// copier copies values of our types. What it finds that YAML cannot say, nil in
// a list or a mapping, it reports and puts an empty one in its place; without a
// report it is copied too.
type copier struct{ *report }

func (c copier) copy(p path, v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch kind := v.Kind(); {
	case kind == reflect.Struct:
		for i := range v.NumField() {
			if t := v.Type().Field(i); t.IsExported() {
				at := p
				if key, _, _ := strings.Cut(t.Tag.Get("yaml"), ","); key != "" { // "" = inline
					at = p.key(key)
				}
				out.Field(i).Set(c.copy(at, v.Field(i)))
			}
		}
	case kind == reflect.Pointer && !v.IsNil():
		out.Set(reflect.New(v.Type().Elem()))
		out.Elem().Set(c.copy(p, v.Elem()))
	case kind == reflect.Slice && !v.IsNil():
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(c.element(p.index(i), v.Index(i)))
		}
	case kind == reflect.Map && !v.IsNil():
		out.Set(reflect.MakeMap(v.Type()))
		for key, value := range v.Seq2() {
			out.SetMapIndex(key, c.element(p.key(key.String()), value))
		}
	}
	return out
}

// element copies a member of a list or a mapping.
func (c copier) element(p path, v reflect.Value) reflect.Value {
	if c.report != nil && v.Kind() == reflect.Pointer && v.IsNil() {
		c.fail(p, "must not be nil")
		return reflect.New(v.Type().Elem())
	}
	return c.copy(p, v)
}
