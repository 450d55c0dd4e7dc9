package configuration

import (
	"slices"
	"time"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/knowledge/learning"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/strict"
)

// closing identifies a closing agent of a chain: the key of its block, the type of its agent, and the agent to use by
// default.
type closing struct{ key, kind, standard string }

var (
	summing = closing{"executive_summary", "exec_summary", "ExecSummaryAgent"}
	scoring = closing{"scoring", "scoring", "ScoringAgent"}
	// The agent that learns has the settings of the one that scores, and its own definition.
	learns = closing{"scoring", "reflector", "ReflectorAgent"}
)

// closingBlocks returns the chain's own blocks for its closing agents.
func closingBlocks(c *config.Chain) map[closing]*config.Closing {
	return map[closing]*config.Closing{summing: &c.ExecutiveSummary, scoring: &c.Scoring}
}

// said returns the settings of a closing agent from its default, from defaults and from the chain, with their origins.
func (c *content) said(k closing, chain string) (said config.Closing, levels []level, from map[string]origin) {
	d, own := &c.Defaults, c.AgentChains[chain]
	blocks, from := []config.Closing{{Agent: k.standard}}, map[string]origin{}
	add := func(at path, block config.Closing, provider, backend string) {
		if provider != "" && block.Enabled == nil {
			block.Enabled = new(true)
		}
		names := map[string]string{"llm_provider": k.key + "_provider", "llm_backend": k.key + "_backend"}
		named := level{at: at, settings: settings{Provider: provider, Backend: canonical(backend)}, names: names}
		blocks, levels = append(blocks, block), append(levels, named, levelOf(at.Key(k.key), &block, nil))
	}
	ofDefaults, ofChain := path{}.Key("defaults"), entryPath("agent_chains", chain)
	if k != summing {
		add(ofDefaults, d.Scoring, "", "")
		add(ofChain, own.Scoring, "", "")
	} else {
		add(ofDefaults, d.ExecutiveSummary, d.ExecutiveSummaryProvider, d.ExecutiveSummaryBackend)
		add(ofChain, own.ExecutiveSummary, own.ExecutiveSummaryProvider, own.ExecutiveSummaryBackend)
	}
	said, places := strict.Inherit(blocks...)
	if k == learns {
		said.Agent, said.Enabled = k.standard, new(value(d.Memory.Enabled) && value(said.Enabled))
	}
	for key, n := range places {
		from[key] = []origin{{Rule: k.kind}, {At: ofDefaults.Key(k.key).Key(key)}, {At: ofChain.Key(k.key).Key(key)}}[n]
	}
	return said, levels, from
}

// closing returns the work of a chain's closing agent if the chain enables it. If always is set, it does so for every chain.
func (c *content) closing(k closing, chain string, always bool) (w work, ok bool) {
	said, levels, _ := c.said(k, chain)
	if !always && !value(said.Enabled) {
		return work{}, false
	}
	w = c.work(said.Agent, said.Agent, chain, levels...)
	if backend := c.backendOf(w, len(levels)); backend != w.Backend {
		fitting := level{settings: settings{Backend: backend}, rule: "a provider of its own"}
		w = c.work(said.Agent, said.Agent, chain, slices.Insert(levels, len(levels)-1, fitting)...)
	}
	return w, true
}

// backendOf returns the backend of a closing agent. If the agent has its own provider but no backend, it keeps the
// inherited backend only if that reaches the provider. own is the number of levels that belong to the agent itself.
func (c *content) backendOf(w work, own int) string {
	provider, known := c.LLMProviders[w.Provider]
	named := w.from["llm_provider"]
	if own = len(w.levels) - 1 - own; !known || named < own || w.from["llm_backend"] >= own {
		return w.Backend
	}
	return reachableBy(provider, w.Backend)
}

// chainWork returns the work of all agents of a chain, with the closing agents last.
func (c *content) chainWork(chain string) (all []work) {
	for i := range c.AgentChains[chain].Stages {
		all = append(all, c.allWork(chain, i)...)
	}
	for _, k := range []closing{summing, scoring, learns} {
		if w, ok := c.closing(k, chain, false); ok {
			all = append(all, w)
		}
	}
	return all
}

// A report waits for its summary, so the summary may only wait out short outages of a provider.
const (
	summaryTime   = plan.Duration(5 * time.Minute)
	summaryOutage = plan.Duration(time.Minute)
)

// summary returns the stage that summarises, or nil. A check always has one, because its summary is the verdict.
func (r *resolver) summary(chain string, check bool) *plan.Stage {
	w, ok := r.closing(summing, chain, check)
	if !ok {
		return nil
	}
	out := r.agent(w)
	if check {
		out.Contract = plan.Contract{JSON: true, Schema: plan.CheckSchema}
	}
	out.Timeouts.Agent = within(out.Timeouts.Agent, summaryTime)
	out.Timeouts.Outage = within(out.Timeouts.Outage, summaryOutage)
	return &plan.Stage{Name: plan.SummaryName, SuccessPolicy: plan.SuccessAny, Agents: []plan.Agent{out}}
}

// scoring returns the scoring stage. If now is set, it does so even for a chain that does not enable scoring, because a
// score was requested.
func (r *resolver) scoring(chain string, now bool) *plan.Stage {
	w, ok := r.closing(scoring, chain, now)
	if !ok {
		return nil
	}
	return &plan.Stage{Name: plan.ScoringName, SuccessPolicy: plan.SuccessAny, Agents: []plan.Agent{r.agent(w)}}
}

// learning returns the stage that learns from the investigations of a chain, or nil.
func (r *resolver) learning(chain string) *plan.Stage {
	w, ok := r.closing(learns, chain, false)
	if !ok {
		return nil
	}
	out := r.agent(w)
	out.Contract = plan.Contract{JSON: true, Schema: learning.Schema}
	return &plan.Stage{Name: plan.LearningName, SuccessPolicy: plan.SuccessAny, Agents: []plan.Agent{out}}
}

// VirtualJudge returns the name of the agent that scores a chain's investigations on request, if that agent is made at
// run time.
func (c *Config) VirtualJudge(chain string) (names []string) {
	c = c.alone(chain)
	if _, known := c.AgentChains[chain]; known {
		if w, _ := c.closing(scoring, chain, true); isVirtual(&w.def) {
			names = append(names, w.definition)
		}
	}
	return names
}

// Scoring resolves the agent that scores a project's investigations of a chain. The error is a *PlanError.
func (c *Config) Scoring(chain, project string) (plan.Stage, error) {
	c = c.alone(chain)
	if _, ok := c.AgentChains[chain]; !ok {
		return plan.Stage{}, planError("%s", unknownName("chain", chain, c.AgentChains))
	}
	r := resolver{Config: c, seen: map[string]bool{}, project: project}
	stage := r.scoring(chain, true)
	if len(r.problems) > 0 {
		return plan.Stage{}, &PlanError{Problems: r.problems}
	}
	return *stage, nil
}

func (k closing) check(p path, v *validator, block config.Closing) {
	v.provider(p.Key("llm_provider"), block.LLMProvider)
	if block.Agent == "" || !v.agent(p.Key("agent"), block.Agent) {
		return
	}
	if row := agentRow(v.Agents[block.Agent]); row.Name != k.kind && row.Name != "" {
		v.Errorf(p.Key("agent"), "agent %q has type %q, but type %q is required", block.Agent, row.Name, k.kind)
	}
}

// closings shows the enabled closing agents of a chain, with everything they inherit.
func (v *view) closings(chain string, out *config.Chain) {
	// any order: paths differ
	for k, block := range closingBlocks(out) {
		w, ok := v.source.closing(k, chain, false)
		if !ok {
			continue
		}
		_, _, from := v.source.said(k, chain)
		// any order: paths differ
		for key, origin := range from {
			v.from[w.at.Key(key).Text] = origin
		}
		v.inherit(w.at, w.inherited, nil)
		*block = config.Closing{Enabled: new(true), Agent: w.definition}
		w.writeTo(block, nil)
	}
}
