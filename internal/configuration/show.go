package configuration

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/strict"
)

// ShowOptions say which parts of a configuration to show.
type ShowOptions struct {
	// Chain is the chain to show, with everything it uses. An empty string means everything that the user wrote.
	Chain string
	// Secrets shows the values of env, headers and tokens. Otherwise only the names of their variables are shown.
	Secrets bool
}

// Show returns a configuration with everything inherited and, after every value, its origin. The text is YAML that
// loads as the same configuration. Values with variables are shown as written, not expanded. The values are also
// returned as a list in the same order. Show is a function, not a method, so that programs that show nothing do not
// link it.
func Show(c *Config, opts ShowOptions) (text []byte, values []Shown, err error) {
	if c.report.Findings.Failed() {
		return nil, nil, c.report.Findings
	}
	if _, ok := c.AgentChains[opts.Chain]; !ok && opts.Chain != "" {
		return nil, nil, planError("%s", unknownName("chain", opts.Chain, c.AgentChains))
	}
	v := viewOf(c, opts.Chain)
	text, values, err = strict.Writer{Report: c.report, Origin: v.origin, Secrets: opts.Secrets}.Write(v.Config)
	if err != nil {
		return nil, nil, fmt.Errorf("write the configuration: %w", err)
	}
	return text, values, nil
}

// view is a part of a configuration in which inherited values are written where they are used. It is an equivalent
// configuration.
type view struct {
	config.Config
	source *Config
	// from holds the origins of values that come from elsewhere.
	from map[string]origin
}

// viewOf returns one chain and everything it uses. Without a name it returns everything that the user wrote and
// everything that uses.
func viewOf(c *Config, chain string) *view {
	v := &view{source: c, from: map[string]origin{}, Config: config.Config{Entries: config.Entries{
		AgentChains: map[string]*config.Chain{}, Agents: map[string]*config.Agent{},
		MCPServers: map[string]*config.Server{}, LLMProviders: map[string]*config.Provider{}, Prompts: map[string]string{},
	}}}
	v.Defaults.AlertMasking = c.Defaults.AlertMasking // no other level has it
	shown := map[string]bool{}
	if chain == "" {
		v.Defaults, v.System, v.Queue, v.FallbackLists = c.Defaults, c.System, c.Queue, c.FallbackLists
		shown = c.report.Entries()
	}
	for name := range c.AgentChains {
		if name == chain || chain == "" && shown[entryPath("agent_chains", name).Text] {
			maps.Copy(shown, c.uses(name))
			v.named(name, shown)
		}
	}
	v.addEntries(shown)
	return v
}

// named adds the entries that a chain and its agents only name, because an entry of a stage may have replaced them.
func (v *view) named(chain string, shown map[string]bool) {
	own := v.source.chainSettings(chain)
	for _, choice := range v.source.choices(own.settings) {
		shown[entryPath("llm_providers", choice.provider).Text] = true
	}
	for name, a := range v.source.Agents {
		if shown[entryPath("agents", name).Text] {
			for _, server := range a.MCPServers {
				shown[entryPath("mcp_servers", server).Text] = true
			}
			model, _, _ := strings.Cut(v.source.models[name], ":")
			shown[entryPath("llm_providers", model).Text] = true
			for _, f := range inheritLevels(v.source.definitionLevels(name)...).Fallbacks {
				shown[entryPath("llm_providers", f.Provider).Text] = true
			}
		}
	}
}

func (v *view) addEntries(shown map[string]bool) {
	add(v.AgentChains, "agent_chains", v.source.AgentChains, shown, v.chain)
	add(v.Agents, "agents", v.source.Agents, shown, v.agent)
	add(v.MCPServers, "mcp_servers", v.source.MCPServers, shown, v.server)
	for _, s := range v.MCPServers {
		shown[entryPath("llm_providers", s.Summarization.LLMProvider).Text] = true
	}
	add(v.Prompts, "prompts", v.source.Prompts, shown, func(_ path, _, text string) string { return text })
	add(v.LLMProviders, "llm_providers", v.source.LLMProviders, shown, v.provider)
	maps.DeleteFunc(v.LLMProviders, func(name string, _ *config.Provider) bool { return v.source.descriptors[name] })
}

// add adds the entries of a section that are shown, each completed by full.
func add[T any](to map[string]T, section string, from map[string]T, shown map[string]bool, full func(p path, name string, entry T) T) {
	for name, entry := range from {
		if p := entryPath(section, name); shown[p.Text] {
			to[name] = full(p, name, entry)
		}
	}
}

func (v *view) server(p path, _ string, s *config.Server) *config.Server {
	full := *s
	full.Transport = completeTransport(s.Transport)
	v.completed(p.Key("transport"), s.Transport, full.Transport, "transport")
	full.DataMasking = v.masking(p.Key("data_masking"), s.DataMasking)
	full.Summarization = v.summarization(p.Key("summarization"), s.Summarization)
	return &full
}

// inherit records the origins of the settings at p, which have the given key names there.
func (v *view) inherit(p path, in inherited, names map[string]string) {
	// any order: paths differ
	for key := range in.from {
		v.from[p.Dotted(cmp.Or(names[key], key)).Text] = in.origin(key)
	}
}

// completed records which values of a struct are defaults of its type.
func (v *view) completed(p path, before, after any, kind string) {
	b, a := reflect.ValueOf(before), reflect.ValueOf(after)
	for name, f := range strict.SchemaOf(b.Type()).Fields {
		if b.FieldByIndex(f.Index).IsZero() && !a.FieldByIndex(f.Index).IsZero() {
			v.from[p.Key(name).Text] = origin{Rule: kind}
		}
	}
}

func (v *view) provider(p path, _ string, pr *config.Provider) *config.Provider {
	full := completeProvider(pr)
	if isNative(pr) {
		full.BaseURL = withoutUser(pr.BaseURL) // not the default, which depends on the agents' backend
	}
	v.completed(p, *pr, full, pr.Type)
	if pr.Prices == (config.Prices{}) {
		v.from[p.Key("prices").Text] = origin{Rule: "list prices of " + PricesAsOf}
	}
	return &full
}

func (v *view) agent(p path, name string, a *config.Agent) *config.Agent {
	s := inheritLevels(v.source.definitionLevels(name)...)
	v.inherit(p, s, nil)
	full := *a
	s.writeTo(&full, nil)
	full.Type, full.DefaultModel, full.ModelRole = agentRow(a).Name, v.source.models[name], ""
	if !agentRow(a).Pattern.Model() {
		full.FallbackProviders = nil
	}
	if !agentRow(a).Pattern.Tools() {
		full.ToolConfig = config.ToolConfig{}
	}
	if !slices.Contains(agentRow(a).Tools, agent.ToolShell) {
		full.Shell = config.Shell{}
	}
	if len(full.SubAgents) == 0 {
		full.Orchestrator = config.Orchestrator{}
	}
	full.MemoryBlocks = nil
	for i, b := range a.MemoryBlocks {
		full.MemoryBlocks = append(full.MemoryBlocks, completeMemoryBlock(b))
		v.completed(p.Key("memory_blocks").Index(i), b, full.MemoryBlocks[i], "memory block")
	}
	if a.Type == "" {
		v.from[p.Key("type").Text] = origin{Rule: "agent"}
	}
	return &full
}

func (v *view) chain(p path, name string, src *config.Chain) *config.Chain {
	own := v.source.chainSettings(name)
	v.inherit(p, own, nil)
	out := *src
	shown := own.settings
	// Inherited values are shown on the agents' entries or, for fallbacks, in the agents' definitions.
	shown.MaxIterations, shown.Servers, shown.ToolConfig, shown.SubAgents = nil, nil, config.ToolConfig{}, nil
	shown.Fallbacks = src.FallbackProviders
	shown.writeTo(&out, nil)
	out.AlertTypes, out.Stages = nil, nil
	out.Bounds, _ = v.source.bounds(name)
	out.Interrupts = v.source.interrupts(name, v.source.resolved(name))
	v.completed(p.Key("bounds"), src.Bounds, out.Bounds, "routed chain")
	if src.Bounds.MaxLLMCalls == nil {
		v.from[p.Key("bounds").Key("max_llm_calls").Text] = origin{Rule: "looping chain of single-shot agents"}
	}
	v.completed(p.Key("interrupts"), src.Interrupts, out.Interrupts, "asking chain")
	for i, alertType := range src.AlertTypes {
		if v.source.chainOf[alertType] == name {
			v.from[p.Key("alert_types").Index(len(out.AlertTypes)).Text] = origin{At: p.Key("alert_types").Index(i)}
			out.AlertTypes = append(out.AlertTypes, alertType)
		}
	}
	for i := range src.Stages {
		out.Stages = append(out.Stages, v.stage(stagePath(name, i), name, i))
	}
	v.closings(name, &out)
	return &out
}

func (v *view) stage(p path, chain string, i int) *config.Stage {
	src := v.source.AgentChains[chain].Stages[i]
	own := v.source.stageSettings(chain, i)
	v.from[p.Key("success_policy").Text] = own.origin("success_policy")
	out := *src
	settings{SuccessPolicy: own.SuccessPolicy}.writeTo(&out, stageNames) // the rest is on its agents' entries
	out.Flow, out.Agents = v.flow(p, src), nil
	agents, synthesis, review := v.source.stageWork(chain, i)
	for n, a := range src.Agents {
		w := agents[n]
		v.inherit(w.at, w.inherited, entryNames)
		entry := *a
		entry.Type, entry.Flow = "", config.Flow{} // shown in the definition and the stage
		shown := w.settings
		shown.Servers, shown.SubAgents = notEmpty(w.Servers), notEmpty(w.SubAgents)
		if len(w.SubAgents) == 0 {
			shown.Orchestrator = config.Orchestrator{}
		}
		if !w.kind.Pattern.Model() {
			shown.Provider, shown.Backend, shown.Fallbacks = "", "", nil
			shown.Temperature, shown.MaxTokens, shown.PromptKey, shown.Thinking, shown.Effort = nil, nil, "", "", ""
		}
		if !w.kind.Pattern.Tools() || !v.source.chainLimitsTools(w) {
			shown.ToolConfig = config.ToolConfig{} // shown in the definition
		}
		shown.writeTo(&entry, entryNames)
		out.Agents = append(out.Agents, &entry)
	}
	if out.AgentReview != nil {
		out.AgentReview = v.review(p.Key("agent_review"), *out.AgentReview, review)
	}
	if synthesis == nil {
		out.Synthesis = config.Synthesis{}
		return &out
	}
	v.inherit(synthesis.at, synthesis.inherited, entryNames)
	if src.Synthesis.Agent == "" {
		v.from[synthesis.at.Key("agent").Text] = origin{Rule: "synthesis"}
	}
	out.Synthesis.Agent = synthesis.definition
	synthesis.writeTo(&out.Synthesis, entryNames)
	return &out
}

// review returns the review by an agent or by people, including the default question.
func (v *view) review(p path, shown config.AgentReview, by *work) *config.AgentReview {
	if by != nil {
		v.inherit(by.at, by.inherited, entryNames)
		by.writeTo(&shown, entryNames)
	}
	if shown.Question == "" {
		shown.Question = defaultQuestion
		v.from[p.Key("question").Text] = origin{Rule: "review"}
	}
	return &shown
}

// flow returns a stage's flow, wherever it is written.
func (v *view) flow(p path, s *config.Stage) config.Flow {
	flow, from := stageFlow(s)
	// any order: paths differ
	for key := range from {
		v.from[p.Key(key).Text] = origin{At: flowPath(s, p, key)}
	}
	return flow
}

// origin returns the recorded origin of the value at p, or of the closest value that contains it.
func (v *view) origin(p path) origin {
	for text := p.Text; text != ""; text = strict.Parent(text) {
		if from, ok := v.from[text]; ok {
			if from.Rule == "" {
				from.At.Text += strings.TrimPrefix(p.Text, text)
			}
			return from
		}
	}
	return origin{At: p}
}
