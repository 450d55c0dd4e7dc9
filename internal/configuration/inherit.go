package configuration

import (
	"cmp"
	"slices"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/strict"
)

// settings holds everything that is inherited, for one level; nil, 0 and "" mean that the level does not set it. The
// tags are the keys of most levels. To add a setting, add it here, to the types that may set it, and to plan.Agent;
// resolver.agent plans it.
type settings struct {
	Provider      string              `yaml:"llm_provider"`
	Backend       string              `yaml:"llm_backend"`
	Fallbacks     []config.Fallback   `yaml:"fallback_providers"` // empty but not nil means none, overriding what was inherited
	Servers       []string            `yaml:"mcp_servers"`
	MaxIterations *int                `yaml:"max_iterations"`
	OnLimit       plan.OnLimit        `yaml:"on_limit"`
	Temperature   *float32            `yaml:"temperature"`
	MaxTokens     *int                `yaml:"max_tokens"`
	Thinking      string              `yaml:"thinking"`
	Effort        string              `yaml:"reasoning_effort"`
	NativeTools   config.NativeTools  `yaml:"native_tools"`
	Compression   config.Compression  `yaml:"compression"`
	ToolSearch    config.ToolSearch   `yaml:"tool_search"`
	Shell         config.Shell        `yaml:"shell"`
	ToolConfig    config.ToolConfig   `yaml:"tool_config"`
	Timeouts      config.Timeouts     `yaml:"timeouts"`
	SuccessPolicy plan.SuccessPolicy  `yaml:"success_policy"`
	Runbook       string              `yaml:"runbook"`
	Timeout       plan.Duration       `yaml:"timeout"` // of the investigation
	Budgets       config.Budgets      `yaml:"budgets"`
	Requests      config.Requests     `yaml:"requests"`
	Mock          string              `yaml:"mock"`
	PromptKey     string              `yaml:"prompt_key"`
	SubAgents     []config.SubAgent   `yaml:"sub_agents"` // empty but not nil means none, overriding what was inherited
	Orchestrator  config.Orchestrator `yaml:"orchestrator"`
	// The skills of all levels add up: see addSkills.
	Skills         []string `yaml:"skills"`
	RequiredSkills []string `yaml:"required_skills"`
}

// The keys of settings in places that do not use the names in the tags; "-" means that the key has another meaning
// there.
var (
	queueNames = map[string]string{"timeout": "session_timeout"}
	agentNames = map[string]string{"llm_provider": "default_model"}
	stageNames = map[string]string{"timeout": "-"} // the stage's own
	entryNames = map[string]string{"timeouts.agent": "timeout", "timeout": "-"}
)

// level is the settings of one place of the configuration.
type level struct {
	at       path
	settings settings
	names    map[string]string // see queueNames
	// rule names the rule that made this level, if the level is not part of the configuration.
	rule string
}

// levelOf reads the settings of a place. They have the same keys there, or the keys in names.
func levelOf(at path, place any, names map[string]string) level {
	l := level{at: at, names: names}
	for setting, own := range strict.Shared(&l.settings, place, names) {
		setting.Set(own)
	}
	s := &l.settings
	s.Backend, s.Servers, s.Shell.Allow = canonical(s.Backend), notEmpty(s.Servers), notEmpty(s.Shell.Allow)
	return l
}

// writeTo writes the settings to a place, as the reverse of levelOf. It is for display.
func (s settings) writeTo(place any, names map[string]string) {
	for setting, own := range strict.Shared(&s, place, names) {
		own.Set(setting)
	}
}

// inherited is the merged settings, with the level that each key comes from.
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
	out.addSkills(levels)
	return out
}

// origin returns the origin of a setting.
func (in inherited) origin(key string) origin {
	i, ok := in.from[key]
	if !ok {
		return origin{}
	}
	l := in.levels[i]
	return origin{At: l.at.Dotted(cmp.Or(l.names[key], key)), Rule: l.rule}
}

// work is one agent of a stage with everything that it inherits.
type work struct {
	inherited
	at         path   // of its entry in the stage, or of the synthesis
	name       string // in the stage
	definition string
	def        config.Agent // zero if the missing definition has been reported
	kind       agent.Type
}

// chainLevels returns the levels that a chain inherits from, and its own.
func (c *content) chainLevels(name string) []level {
	return []level{
		levelOf(path{}.Key("queue"), &c.Queue, queueNames),
		levelOf(path{}.Key("defaults"), &c.Defaults, nil),
		c.chainLevel(name),
	}
}

func (c *content) chainLevel(name string) level {
	return levelOf(entryPath("agent_chains", name), c.AgentChains[name], nil)
}

// chainSettings returns the settings of a chain as a whole.
func (c *content) chainSettings(name string) inherited { return inheritLevels(c.chainLevels(name)...) }

// interrupts returns a chain's interrupts with these stages. A chain whose stages output only text asks nothing.
func (c *content) interrupts(name string, stages []plan.Stage) config.Interrupts {
	if slices.ContainsFunc(stages, plan.Stage.Steers) {
		return completeInterrupts(c.AgentChains[name].Interrupts)
	}
	return c.AgentChains[name].Interrupts
}

// stageSettings returns the settings of a stage as a whole.
func (c *content) stageSettings(chain string, i int) inherited {
	return inheritLevels(append(c.chainLevels(chain), c.stageLevel(chain, i))...)
}

func (c *content) stageLevel(chain string, i int) level {
	return levelOf(stagePath(chain, i), c.AgentChains[chain].Stages[i], stageNames)
}

func stagePath(chain string, i int) path {
	return entryPath("agent_chains", chain).Key("stages").Index(i)
}

// stageWork returns the work of a stage: its agents in order, the synthesis of their results, and the review of the
// stage's result. The last two are nil if not needed.
func (c *content) stageWork(chain string, i int) (agents []work, synthesis, review *work) {
	stage, at := c.AgentChains[chain].Stages[i], stagePath(chain, i)
	names := executionNames(stage)
	for n, a := range executions(stage) {
		p := at.Key("agents").Index(min(n, len(stage.Agents)-1)) // replicas share one entry
		w := c.work(names[n], a.Name, chain, c.stageLevel(chain, i), levelOf(p, a, entryNames))
		agents = append(agents, w)
	}
	if len(agents) > 1 { // the stage's settings apply only to the investigating agents
		name, p := synthesisAgent(&stage.Synthesis), at.Key("synthesis")
		w := c.work(name, name, chain, levelOf(p, &stage.Synthesis, entryNames))
		synthesis = &w
	}
	if r := stage.AgentReview; r != nil && r.Agent != "" {
		w := c.work(r.Agent, r.Agent, chain, levelOf(at.Key("agent_review"), r, entryNames))
		review = &w
	}
	return agents, synthesis, review
}

// allWork returns the work of all agents of a stage and of their sub-agents, in the order in which they begin.
func (c *content) allWork(chain string, i int) []work {
	agents, synthesis, review := c.stageWork(chain, i)
	all, room := slices.Clone(agents), maxOfSubAgents
	for _, w := range agents {
		all = append(all, c.allSubWork(w, chain, value(w.Orchestrator.MaxDepth), &room)...)
	}
	for _, last := range []*work{synthesis, review} {
		if last != nil {
			all = append(all, *last)
		}
	}
	return all
}

// work resolves an agent of a chain. The last level is its own entry.
func (c *content) work(name, definition, chain string, above ...level) work {
	levels := append(c.definitionLevels(definition), c.chainLevel(chain))
	kind := c.kind(definition)
	w := work{at: above[len(above)-1].at, name: name, definition: definition, kind: kind}
	if def, ok := c.Agents[definition]; ok {
		w.def = *def
	}
	w.inherited = inheritLevels(append(append(levels, above...), typeLimits(kind))...)
	return w
}

// definitionLevels returns the levels that an agent's definition inherits from, and its own. The type's number of
// iterations takes precedence over that of defaults, because it is specific to the type.
func (c *content) definitionLevels(name string) []level {
	kind := c.kind(name)
	levels := []level{
		levelOf(path{}.Key("defaults"), &c.Defaults, nil),
		{settings: typeSettings(kind), rule: kind.Name},
	}
	if def, ok := c.Agents[name]; ok {
		own := levelOf(entryPath("agents", name), def, agentNames)
		own.settings.Provider = c.models[name] // or that of its role
		levels = append(levels, own)
	}
	return levels
}

// kind returns the type of an agent, or the zero type if its absence has been reported.
func (c *content) kind(definition string) agent.Type {
	if def, ok := c.Agents[definition]; ok {
		return agentRow(def)
	}
	return agent.Type{}
}

// typeSettings returns the settings that an agent's type sets.
func typeSettings(t agent.Type) settings {
	var s settings
	if t.MaxIterations > 0 {
		s.MaxIterations = &t.MaxIterations
	}
	if t.Pattern == agent.Iterating {
		s.OnLimit = plan.OnLimitConclude
	}
	return s
}

// typeLimits returns the settings that an agent's type fixes: a single shot is one call without tools, whatever the
// chain sets.
func typeLimits(t agent.Type) level {
	l := level{rule: t.Name}
	if t.Pattern != agent.Iterating {
		l.settings.SubAgents = []config.SubAgent{}
	}
	if !t.Pattern.Tools() {
		l.settings.Servers = []string{}
	}
	if !t.Pattern.Tools() || !t.Pattern.Model() {
		l.settings.MaxIterations = &t.MaxIterations
	}
	return l
}

func plannedCompression(c config.Compression) plan.Compression {
	return plan.Compression{
		Enabled:            value(c.CompressContext),
		MaxContextTokens:   value(c.MaxContextTokens),
		Threshold:          value(c.CompressionThreshold),
		KeepRecentMessages: value(c.KeepRecentMessages),
		Strategy:           c.Strategy,
	}
}

// value returns the value that p points to, or the zero value.
func value[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}
