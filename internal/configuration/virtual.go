package configuration

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/spell"
	"github.com/inquest-dev/inquest/internal/strict"
	"github.com/inquest-dev/inquest/internal/virtual"
)

// The configuration declares agents that are made at run time (agent_source: virtual). A misspelled name in a chain is
// therefore still an error, and a worker starts regardless of the store's contents. Plans use a configuration that
// includes the virtual agents that a request needs. If a virtual agent is no longer valid, only the requests that need
// it fail (ADR 24).

// OfAgent is the prefix of an implicit chain: its single stage has the agent whose name follows.
const OfAgent = "agent/"

// isVirtual reports whether the agent is made at run time.
func isVirtual(a *config.Agent) bool { return a.AgentSource != "" }

// validateSource checks that the entry of a virtual agent has no other settings.
func validateSource(a *config.Agent, p path, v *validator) {
	rest := *a
	rest.AgentSource, rest.Type, rest.Description = "", "", ""
	if _, made := v.made[p.Name]; isVirtual(a) && !made && !reflect.ValueOf(rest).IsZero() {
		v.Errorf(p, "this agent is created at run time: set only its type and description here")
	}
}

// VirtualOf returns the names of a chain's agents that are made at run time and may not be loaded yet.
func (c *Config) VirtualOf(chain string) (names []string) {
	add := func(name string) {
		if def, known := c.Agents[name]; !known || isVirtual(def) {
			names = append(names, name)
		}
	}
	if name, alone := strings.CutPrefix(chain, OfAgent); alone {
		add(name)
	}
	if _, known := c.AgentChains[chain]; !known || !slices.ContainsFunc(slices.Collect(maps.Values(c.Agents)), isVirtual) {
		return names
	}
	for _, w := range c.chainWork(chain) {
		add(w.definition)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ChainOf returns the chain that a request asks for, which may not exist.
func (c *Config) ChainOf(req agent.Request) string {
	return cmp.Or(req.Chain, c.chainOf[c.AlertTypeOf(req)])
}

// AlertTypeOf returns the alert type of a request: the default one if it names neither a chain nor a type.
func (c *Config) AlertTypeOf(req agent.Request) string {
	if req.Chain != "" {
		return req.AlertType
	}
	return cmp.Or(req.AlertType, c.Defaults.AlertType)
}

// ChainsWith returns the chains of a project in which an agent works.
func (c *Config) ChainsWith(name, project string) (chains []string) {
	for _, chain := range slices.Sorted(maps.Keys(c.AgentChains)) {
		works := func(w work) bool { return w.definition == name }
		if c.ChainIn(chain, project) && slices.ContainsFunc(c.chainWork(chain), works) {
			chains = append(chains, chain)
		}
	}
	return chains
}

// Owns reports whether the configuration itself defines an agent. A virtual agent cannot have the same name.
func (c *Config) Owns(name string) bool {
	def, known := c.Agents[name]
	return known && !isVirtual(def)
}

// With returns the configuration with agents that were made at run time. A deleted agent stays as a marker, so that
// plans that need it say who deleted it. The error is a *PlanError.
func (c *Config) With(made ...virtual.Agent) (*Config, error) {
	out, wrong := c.fork(), &PlanError{}
	for _, m := range made {
		if c.Owns(m.Name) {
			continue
		}
		for _, problem := range (maker{out, c.openTo(m.Project)}).make(m) {
			wrong.Problems = append(wrong.Problems, fmt.Sprintf("agent %q, version %d: %s", m.Name, m.Version, problem))
		}
	}
	if len(wrong.Problems) > 0 {
		return nil, wrong
	}
	return out, nil
}

// CheckVirtual returns everything that is wrong with a new or changed virtual agent. known lists the available tools, as far as
// their servers could be asked.
func (c *Config) CheckVirtual(m virtual.Agent, known []string) (problems virtual.Problems) {
	with := maker{c.fork(), c.openTo(m.Project)}
	return slices.Concat(with.make(m), with.missingKey(m.Name), liftedApprovals(m), with.open.closedTools(m, known),
		with.notEnabled(m.Definition), with.unknownTools(m.Definition, known))
}

// fork returns a copy whose agents, models and chains can be changed.
func (c *Config) fork() *Config {
	out := *c
	out.Agents, out.LLMProviders, out.AgentChains = maps.Clone(c.Agents), maps.Clone(c.LLMProviders), maps.Clone(c.AgentChains)
	out.models, out.descriptors, out.made = maps.Clone(c.models), maps.Clone(c.descriptors), maps.Clone(c.made)
	out.report, out.usedBy = c.report.Fork(), &sync.Map{}
	return &out
}

// maker adds virtual agents to a configuration.
type maker struct {
	*Config
	open opened // to the agents' project
}

// make adds a virtual agent and returns its problems.
func (c maker) make(m virtual.Agent) virtual.Problems {
	p := entryPath("agents", m.Name)
	declared, known := c.Agents[m.Name]
	if !known {
		declared = &config.Agent{Type: m.Definition.Type}
	}
	if m.Deleted {
		c.Agents[m.Name], c.made[m.Name] = &config.Agent{AgentSource: virtual.Source, Type: declared.Type}, m
		return nil
	}
	entry, problems := decodeEntry(m.Name, m.Definition)
	if entry == nil {
		return problems
	}
	entry.AgentSource, c.made[m.Name] = virtual.Source, m
	entry.Description = cmp.Or(entry.Description, declared.Description)
	entry.MCPServers, entry.ToolIDs = c.toolsFrom(entry)
	problems = append(problems, c.open.closedServers(c.Config, m.Project, entry)...)
	problems = append(problems, widerPatterns(entry.ToolConfig, c.Defaults.ToolConfig)...)
	entry.ToolConfig = narrowed(entry.ToolConfig, c.Defaults.ToolConfig)
	c.Agents[m.Name] = entry
	c.report.Note(p, "virtual agent", 0)
	loader{c.Config}.defineModel(m.Name)
	v := &validator{Config: c.Config, Report: c.report, serverAt: map[string]*config.Server{}}
	strict.Checker{Report: v.Report, Words: vocabularyOf, Also: v.value}.Check(&struct {
		Agents map[string]*config.Agent `yaml:"agents"`
	}{map[string]*config.Agent{m.Name: entry}})
	if is, want := agentRow(entry), agentRow(declared); known && is.Name != want.Name {
		problems = append(problems, fmt.Sprintf("type: the configuration declares this agent with type %q, not %q", want.Name, is.Name))
	} else if is.Name != "" && !is.Pattern.Model() {
		problems = append(problems, fmt.Sprintf("type: agents of type %q use no model", is.Name))
	}
	return append(problems, problemsOf(c.report.Findings, p)...)
}

// decodeEntry decodes a definition like an entry of a configuration, but without variables, because its author does not
// own the environment.
func decodeEntry(name string, d virtual.Definition) (*config.Agent, virtual.Problems) {
	body, err := d.Entry()
	if err == nil && nameProblem(name) != "" {
		err = fmt.Errorf("name: %s", nameProblem(name))
	}
	var text []byte
	if err == nil {
		text, err = agentYAML(name, body)
	}
	if err != nil {
		return nil, virtual.Problems{err.Error()}
	}
	r := strict.NewReport()
	var read config.Config
	strict.Decode(&read, []strict.File{{Name: "virtual agent", Data: text}}, strict.Variables{}, r)
	if problems := problemsOf(r.Findings, entryPath("agents", name)); problems != nil {
		return nil, problems
	}
	return read.Agents[name], nil
}

// problemsOf returns the refused parts of an entry, by their places within it.
func problemsOf(found config.Findings, entry path) (problems virtual.Problems) {
	for _, f := range found {
		if f.Accepted() {
			continue
		}
		at := strings.TrimPrefix(strings.TrimPrefix(f.Path, entry.Text), ".")
		problems = append(problems, strings.TrimPrefix(at+": "+f.Message, ": "))
	}
	return problems
}

// toolsFrom returns the servers and registered tools that enabled_tools name, for attaching them to the agent.
func (c maker) toolsFrom(a *config.Agent) (servers, ids []string) {
	servers = slices.Clone(a.MCPServers)
	for _, name := range a.ToolConfig.EnabledTools {
		server, _, ofServer := strings.Cut(plainName(name), ".")
		switch _, known := c.MCPServers[server]; {
		case ofServer && known && !slices.Contains(servers, server):
			servers = append(servers, server)
		case !ofServer && c.open.ids[name] && !slices.Contains(ids, name):
			ids = append(ids, name)
		}
	}
	return servers, ids
}

// narrowed merges an agent's tool settings with those of defaults, so that the agent never gets more than defaults
// allow. Plain inheritance would replace the lists and each tool's permission.
func narrowed(own, defaults config.ToolConfig) config.ToolConfig {
	if len(defaults.DisabledTools) > 0 && own.DisabledTools != nil {
		own.DisabledTools = append(slices.Clone(defaults.DisabledTools), own.DisabledTools...)
	}
	if defaults.EnabledTools != nil && own.EnabledTools != nil {
		own.EnabledTools = slices.DeleteFunc(own.EnabledTools, func(name string) bool {
			return !listed(defaults.EnabledTools, name)
		})
	}
	for name, limits := range own.ToolPermissions {
		base, limited := defaults.ToolPermissions[name]
		if !limited {
			continue
		}
		limits.Approvals, limits.Remember, limits.Repeats = base.Approvals, base.Remember, base.Repeats
		limits.MaxResults = least(base.MaxResults, limits.MaxResults)
		limits.TimeoutSeconds = least(base.TimeoutSeconds, limits.TimeoutSeconds)
		limits.RateLimitPerMinute = least(base.RateLimitPerMinute, base.RateLimit, limits.RateLimitPerMinute, limits.RateLimit)
		limits.RateLimit = nil
		if value(base.RequiresApproval) {
			limits.RequiresApproval = base.RequiresApproval
		}
		patterns := map[string][]string{}
		maps.Copy(patterns, base.Allowed)
		maps.Copy(patterns, limits.Allowed) // these are narrower: see widerPatterns
		limits.Allowed = patterns
		own.ToolPermissions[name] = limits
	}
	return own
}

// listed reports whether a tool is in a list, in either spelling.
func listed(names []string, name string) bool {
	return slices.ContainsFunc(names, func(other string) bool { return plainName(other) == plainName(name) })
}

// plainName converts a tool's name from the spelling of models, with __, to that of servers.
func plainName(name string) string { return strings.Replace(name, "__", ".", 1) }

// notEnabled reports the enabled_tools of a definition that would be left out because defaults do not enable them.
func (c maker) notEnabled(d virtual.Definition) (problems virtual.Problems) {
	only := c.Defaults.ToolConfig.EnabledTools
	for _, name := range d.Tools()["enabled_tools"] {
		if only != nil && !listed(only, name) {
			problems = append(problems, fmt.Sprintf("tool_config.enabled_tools: tool %q is not in defaults.tool_config.enabled_tools", name))
		}
	}
	return problems
}

func least(all ...*int) (out *int) {
	for _, n := range all {
		if n != nil && (out == nil || *n < *out) {
			out = n
		}
	}
	return out
}

// unknownTools reports tools that a definition mentions but that do not exist.
func (c maker) unknownTools(d virtual.Definition, known []string) (problems virtual.Problems) {
	known = append((&validator{Config: c.Config}).ownTools(), known...)
	for key, names := range d.Tools() {
		for _, name := range names {
			plain := plainName(name)
			server, _, ofServer := strings.Cut(plain, ".")
			asked := slices.ContainsFunc(known, func(tool string) bool { return strings.HasPrefix(tool, server+".") })
			if _, there := c.MCPServers[server]; slices.Contains(known, plain) || ofServer && there && !asked {
				continue
			}
			hint := spell.DidYouMean(name, known)
			if of := slices.DeleteFunc(slices.Clone(known), func(tool string) bool { return !strings.HasSuffix(tool, "."+plain) }); len(of) > 0 {
				hint = "; prefix a server's tool with the server's name: " + strings.Join(slices.Sorted(slices.Values(of)), ", ")
			}
			problems = append(problems, fmt.Sprintf("tool_config.%s: unknown tool %q%s", key, name, hint))
		}
	}
	slices.Sort(problems)
	return problems
}

// alone returns the configuration with the implicit chain of a request for one agent.
func (c *Config) alone(chain string) *Config {
	name, alone := strings.CutPrefix(chain, OfAgent)
	if !alone {
		return c
	}
	out := c.fork()
	out.AgentChains[chain] = &config.Chain{Stages: []*config.Stage{{Name: "agent", Agents: []*config.StageAgent{{Name: name}}}}}
	return out
}

// missing says why a virtual agent is not available. It returns an empty string if it is.
func (r *resolver) missing(w work) string {
	name := w.definition
	switch m, made := r.made[name]; {
	case !isVirtual(&w.def) || made && !m.Deleted:
		return ""
	case made:
		return fmt.Sprintf("agent %q was deleted by %s on %s in project %q: create it again, or remove it from the chain",
			name, m.By, m.At.Format("2006-01-02 15:04:05"), m.Project)
	}
	return fmt.Sprintf("agent %q is created at run time, but project %q has no agent with that name: create it, or remove it from the chain",
		name, cmp.Or(r.project, agent.DefaultProject))
}

// identity returns a definition's name for memory and rate limits, and its version. The version is zero if the agent is
// not virtual.
func (c *content) identity(definition string) (name string, version int) {
	m, made := c.made[definition]
	if !made {
		return definition, 0
	}
	return m.Identity(), m.Version
}

// requireMade refuses a plan with virtual agents that do not exist.
func (r *resolver) requireMade(w work) {
	if problem := r.missing(w); problem != "" && !slices.Contains(r.problems, problem) {
		r.problems = append(r.problems, problem)
	}
}

// EntryOf returns the definition of an agent of the configuration, for lists. Virtual agents store a separate
// definition.
func (c *Config) EntryOf(name string) (d virtual.Definition, ok bool) {
	def, ok := c.Agents[name]
	if !ok {
		return d, false
	}
	d = virtual.Definition{Name: name, Type: agentRow(def).Name, Description: def.Description, SystemPrompt: def.SystemPrompt}
	d.Config = virtual.Config{AgentSource: "config", DefaultModel: c.models[name], MCPServers: def.MCPServers}
	return d, true
}

// AgentDefinitions returns the definitions of all agents of the configuration itself, by name.
func (c *Config) AgentDefinitions() (all []virtual.Definition) {
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		if c.Owns(name) {
			d, _ := c.EntryOf(name)
			all = append(all, d)
		}
	}
	return all
}

// ReadDefinition converts a definition in a file, JSON or equivalent YAML, to JSON. virtual.Parse checks the keys. The
// error is Findings.
func ReadDefinition(file string, text []byte) (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	r := strict.NewReport()
	strict.Decode(&all, []strict.File{{Name: file, Data: text}}, strict.Variables{}, r)
	if r.Findings.Failed() {
		return nil, r.Findings
	}
	return json.Marshal(all)
}

// WriteDefinition returns a definition in the form that ReadDefinition reads.
func WriteDefinition(d virtual.Definition) ([]byte, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return strict.Encode(value)
}
