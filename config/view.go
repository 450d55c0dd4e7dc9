package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
)

// view is a part of a configuration with everything that is inherited written
// where it is used. It is a configuration itself, and the same one.
type view struct {
	Config
	source *Config
	// from says where values come from that were not written where they stand.
	from map[string]origin
}

// view is one chain and all that it uses; without a name, everything that the
// user wrote and what that uses.
func (c *Config) view(chain string) *view {
	v := &view{source: c, from: map[string]origin{}, Config: Config{
		AgentChains: map[string]*Chain{}, Agents: map[string]*Agent{},
		MCPServers: map[string]*Server{}, LLMProviders: map[string]*Provider{}, Prompts: map[string]string{},
	}}
	v.Defaults.AlertMasking = c.Defaults.AlertMasking // no other level has it
	shown := map[string]bool{}
	if chain == "" {
		v.Defaults, v.System, v.Queue = c.Defaults, c.System, c.Queue
		shown = c.report.entries()
	}
	for name := range c.AgentChains {
		if name == chain || chain == "" && shown[entryPath("agent_chains", name).text] {
			maps.Copy(shown, c.uses(name))
			v.named(name, shown)
		}
	}
	v.addEntries(shown)
	return v
}

// named adds what a chain and its agents only name: an entry of a stage may
// have put something else in its place.
func (v *view) named(chain string, shown map[string]bool) {
	own := v.source.chainSettings(chain)
	for _, choice := range v.source.choices(own.settings) {
		shown[entryPath("llm_providers", choice.provider).text] = true
	}
	for name, a := range v.source.Agents {
		if shown[entryPath("agents", name).text] {
			for _, server := range a.MCPServers {
				shown[entryPath("mcp_servers", server).text] = true
			}
			model, _, _ := strings.Cut(a.model, ":")
			shown[entryPath("llm_providers", model).text] = true
		}
	}
}

func (v *view) addEntries(shown map[string]bool) {
	for name := range v.source.AgentChains {
		if p := entryPath("agent_chains", name); shown[p.text] {
			v.AgentChains[name] = v.chain(p, name)
		}
	}
	for name, a := range v.source.Agents {
		if p := entryPath("agents", name); shown[p.text] {
			v.Agents[name] = v.agent(p, name, a)
		}
	}
	for name, s := range v.source.MCPServers {
		if p := entryPath("mcp_servers", name); shown[p.text] {
			full := *s
			full.Transport = s.Transport.complete()
			v.completed(p.key("transport"), s.Transport, full.Transport, "transport")
			full.DataMasking = v.masking(p.key("data_masking"), s.DataMasking)
			full.Summarization = v.summarization(p.key("summarization"), s.Summarization)
			shown[entryPath("llm_providers", full.Summarization.LLMProvider).text] = true
			v.MCPServers[name] = &full
		}
	}
	for name, text := range v.source.Prompts {
		if shown[entryPath("prompts", name).text] {
			v.Prompts[name] = text
		}
	}
	for name, pr := range v.source.LLMProviders {
		if p := entryPath("llm_providers", name); shown[p.text] && !pr.described {
			v.LLMProviders[name] = v.provider(p, pr)
		}
	}
}

// inherit notes where the settings of the thing at p come from: keys are what
// they are called there.
func (v *view) inherit(p path, in inherited, keys map[string]string) {
	for key := range in.from {
		name := key
		if own, ok := keys[key]; ok {
			name = own
		}
		v.from[p.dotted(name).text] = in.origin(key)
	}
}

// completed notes which values of a struct are defaults of its type.
func (v *view) completed(p path, before, after any, kind string) {
	b, a := reflect.ValueOf(before), reflect.ValueOf(after)
	for name, f := range schemaOf(b.Type()).fields {
		if b.FieldByIndex(f.index).IsZero() && !a.FieldByIndex(f.index).IsZero() {
			v.from[p.key(name).text] = origin{rule: kind}
		}
	}
}

func (v *view) provider(p path, pr *Provider) *Provider {
	full := pr.complete()
	if pr.native() {
		full.BaseURL = pr.BaseURL // that of the backend, which is the agents' business
	}
	v.completed(p, *pr, full, pr.Type)
	return &full
}

func (v *view) agent(p path, name string, a *Agent) *Agent {
	s := inheritLevels(v.source.definitionLevels(name)...)
	v.inherit(p, s, nil)
	full := &Agent{
		Type: a.row().Name, Description: a.Description, MCPServers: s.Servers, ToolIDs: a.ToolIDs, DefaultModel: a.model, CustomInstructions: a.CustomInstructions,
		LLMBackend: s.Backend, MaxIterations: s.MaxIterations, OnLimit: s.OnLimit, Temperature: s.Temperature,
		MaxTokens: s.MaxTokens, NativeTools: s.NativeTools, Compression: s.Compression, Timeouts: s.Timeouts,
		HeartbeatInterval: a.HeartbeatInterval,
	}
	if a.row().Pattern.Tools() {
		full.ToolConfig = s.ToolConfig
	}
	for i, b := range a.MemoryBlocks {
		full.MemoryBlocks = append(full.MemoryBlocks, b.complete())
		v.completed(p.key("memory_blocks").index(i), b, full.MemoryBlocks[i], "memory block")
	}
	if slices.Contains(a.row().Tools, agent.ToolShell) {
		full.Shell = s.Shell
	}
	if a.Type == "" {
		v.from[p.key("type").text] = origin{rule: "agent"}
	}
	return full
}

func (v *view) chain(p path, name string) *Chain {
	own, src := v.source.chainSettings(name), v.source.AgentChains[name]
	v.inherit(p, own, nil)
	out := &Chain{
		Description: src.Description, LLMProvider: own.Provider, LLMBackend: own.Backend,
		FallbackProviders: own.Fallbacks, Timeout: own.Timeout, Runbook: own.Runbook,
		Bounds: v.source.bounds(name), Budgets: own.Budgets, Interrupts: v.source.interrupts(name),
	}
	v.completed(p.key("bounds"), src.Bounds, out.Bounds, "routed chain")
	if src.Bounds.MaxLLMCalls == nil {
		v.from[p.key("bounds").key("max_llm_calls").text] = origin{rule: "looping chain of single-shot agents"}
	}
	v.completed(p.key("interrupts"), src.Interrupts, out.Interrupts, "asking chain")
	for i, alertType := range src.AlertTypes {
		if v.source.chainOf[alertType] == name {
			v.from[p.key("alert_types").index(len(out.AlertTypes)).text] = origin{at: p.key("alert_types").index(i)}
			out.AlertTypes = append(out.AlertTypes, alertType)
		}
	}
	for i := range src.Stages {
		out.Stages = append(out.Stages, v.stage(stagePath(name, i), name, i))
	}
	return out
}

func (v *view) stage(p path, chain string, i int) *Stage {
	src := v.source.AgentChains[chain].Stages[i]
	own := v.source.stageSettings(chain, i)
	v.from[p.key("success_policy").text] = own.origin("success_policy")
	out := &Stage{
		Name: src.Name, Replicas: src.Replicas, SuccessPolicy: own.SuccessPolicy, Timeout: src.Timeout, Flow: v.flow(p, src),
	}
	agents, synthesis := v.source.stageWork(chain, i)
	for n := range src.Agents {
		w := agents[n]
		v.inherit(w.at, w.inherited, map[string]string{"timeouts.agent": "timeout", "timeout": "-"})
		entry := &StageAgent{
			Name: w.definition, MaxIterations: w.MaxIterations, MCPServers: notEmpty(w.Servers), Timeout: w.Timeouts.Agent, Mock: w.Mock,
		}
		if w.kind.Pattern.Model() {
			entry.LLMProvider, entry.LLMBackend, entry.FallbackProviders = w.Provider, w.Backend, w.Fallbacks
			entry.Temperature, entry.MaxTokens, entry.PromptKey = w.Temperature, w.MaxTokens, w.PromptKey
		}
		out.Agents = append(out.Agents, entry)
	}
	if w := synthesis; w != nil {
		v.inherit(w.at, w.inherited, nil)
		if src.Synthesis.Agent == "" {
			v.from[w.at.key("agent").text] = origin{rule: "synthesis"}
		}
		out.Synthesis = Synthesis{Agent: w.definition, LLMBackend: w.Backend, LLMProvider: w.Provider, Mock: w.Mock}
	}
	return out
}

// flow is a stage's, wherever it is written.
func (v *view) flow(p path, s *Stage) Flow {
	flow, from := s.flow()
	for key := range from {
		v.from[p.key(key).text] = origin{at: s.flowPath(p, key)}
	}
	return flow
}

// origin finds where the value at p comes from: noted for it, or for the whole
// that it is part of.
func (v *view) origin(p path) origin {
	for text := p.text; text != ""; text = parent(text) {
		if from, ok := v.from[text]; ok {
			if from.rule == "" {
				from.at.text += strings.TrimPrefix(p.text, text)
			}
			return from
		}
	}
	return origin{at: p}
}
