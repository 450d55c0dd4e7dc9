package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// PlanError says why a request has no plan, and lists the valid choices.
type PlanError struct{ Problems []string }

func (e *PlanError) Error() string { return strings.Join(e.Problems, "\n") }

func planError(format string, args ...any) *PlanError {
	return &PlanError{Problems: []string{fmt.Sprintf(format, args...)}}
}

// Plan resolves a request to the plan of its chain, with everything inherited. The same configuration and request give
// the same plan, byte for byte. The error is a *PlanError.
func (c *Config) Plan(req agent.Request) (plan.Plan, error) {
	if name, alone := strings.CutPrefix(req.Chain, OfAgent); alone && c.Agents[name] == nil {
		return plan.Plan{}, planError("no agent named %q; there are: %s", name, list(c.Agents))
	}
	r := resolver{Config: c.alone(req.Chain), seen: map[string]bool{}, mocked: req.UseMock, project: req.Project}
	p, err := r.plan(req)
	if err != nil {
		return plan.Plan{}, err
	}
	if len(r.problems) > 0 {
		return plan.Plan{}, &PlanError{Problems: r.problems}
	}
	return p, nil
}

// resolver makes one plan.
type resolver struct {
	*Config
	override *override // for every agent, if the request names a provider
	asked    asked
	mocked   bool   // mocks replace the agents
	project  string // of the request; empty means the default project
	problems []string
	seen     map[string]bool // providers whose key was checked
	unchosen bool            // a selector has failed
}

func (r *resolver) plan(req agent.Request) (plan.Plan, error) {
	if r.report.Findings.Failed() {
		return plan.Plan{}, planError("the configuration has errors:\n%v", r.report.Findings)
	}
	req.AlertType = r.AlertTypeOf(req)
	name, err := r.chainFor(req)
	if err != nil {
		return plan.Plan{}, err
	}
	if r.override, err = r.providerFor(req.Provider); err != nil {
		return plan.Plan{}, err
	}
	r.requireVariables(name, req.Provider)
	own := r.chainSettings(name)
	r.asked = asked{MCP: req.MCP, may: own.Requests, given: map[string]bool{}}
	p := plan.Plan{
		Chain: name, AlertType: req.AlertType, Dedup: plan.Dedup(r.AgentChains[name].Dedup),
		Timeout: own.Budgets.timeout(own.Timeout), Conclude: own.Timeouts.Conclude, Runbook: cmp.Or(req.Runbook, own.Runbook),
		Bounds: r.planBounds(name, own), AlertMasking: r.Defaults.AlertMasking.plan(), MaxData: r.MaxData(),
		Environment: r.System.Environment,
	}
	bounded{&p}.budget(req.Budgets, own.Requests.Budgets)
	for i := range r.AgentChains[name].Stages {
		p.Stages = append(p.Stages, r.stage(name, i))
	}
	r.problems = append(r.problems, r.asked.problems(r.Config, name)...)
	p.Interrupts = r.interrupts(name, p.Stages).plan()
	p.Summary, p.Scoring = r.summary(name), r.scoring(name, false)
	r.requirePrices(p)
	r.requirePrograms(p)
	return p.Versioned(), nil
}

// requirePrograms refuses a plan with servers whose program this worker has to run but lacks.
func (r *resolver) requirePrograms(of plan.Plan) {
	for _, stage := range of.AllStages() {
		for _, a := range stage.All() {
			for _, s := range a.Servers {
				server := r.MCPServers[s.Name]
				problem := fmt.Sprintf("mcp_servers.%s: %s", s.Name, server.missing())
				if !r.found(server, new(server.Transport)) && s.TaskQueue == "" && !r.src.SkipCredentials && !slices.Contains(r.problems, problem) {
					r.problems = append(r.problems, problem)
				}
			}
		}
	}
}

// requirePrices reports providers whose calls a cost budget cannot count.
func (r *resolver) requirePrices(of plan.Plan) {
	if of.Bounds.MaxCost == 0 {
		return
	}
	whose := "the chain"
	if of.Bounds.Origins["max_cost_usd"] == byRequest {
		whose = byRequest
	}
	for _, stage := range of.AllStages() {
		for _, a := range stage.All() {
			for _, p := range a.Providers {
				problem := fmt.Sprintf("llm_providers.%s has no prices, and %s a budget of max_cost_usd", p.Name, whose)
				if p.Type != ProviderScripted && p.Type != ProviderSelector && p.Prices == (plan.Prices{}) && !slices.Contains(r.problems, problem) {
					r.problems = append(r.problems, problem)
				}
			}
		}
	}
}

func (r *resolver) chainFor(req agent.Request) (string, error) {
	elsewhere := func(chain string) bool { return !r.ChainIn(chain, req.Project) } // do not reveal other projects' chains
	chains, chainOf := maps.Clone(r.AgentChains), maps.Clone(r.chainOf)
	maps.DeleteFunc(chains, func(chain string, _ *Chain) bool { return elsewhere(chain) })
	maps.DeleteFunc(chainOf, func(_, chain string) bool { return elsewhere(chain) })
	if req.Chain != "" {
		if _, ok := chains[req.Chain]; !ok {
			return "", planError("no chain named %q; there are: %s", req.Chain, list(chains))
		}
		return req.Chain, nil
	}
	if req.AlertType == "" {
		return "", planError("neither a chain nor an alert type is given; chains: %s; alert types: %s", list(chains), list(chainOf))
	}
	name, ok := chainOf[req.AlertType]
	if !ok {
		return "", planError("no chain has the alert type %q; there are: %s", req.AlertType, list(chainOf))
	}
	return name, nil
}

// requireVariables refuses a plan whose entries lack a variable. Loading accepts missing variables of built-in entries,
// and of a provider that only a request names.
func (r *resolver) requireVariables(chain, descriptor string) {
	if len(r.report.Unset) == 0 {
		return // the common case; finding what a chain uses is slow
	}
	used := r.uses(chain)
	provider, _, _ := strings.Cut(descriptor, ":")
	used[entryPath("llm_providers", provider).Text] = true
	for _, u := range r.report.Unset {
		if used[u.Path.Entry] && r.served(u.Path) {
			r.problems = append(r.problems, fmt.Sprintf("%s: variable %s is not set", u.Path.Text, u.Name))
		}
	}
}

// resolved returns the stages of a chain, without checking for missing keys.
func (c *Config) resolved(chain string) (all []plan.Stage) {
	r := resolver{Config: c, seen: map[string]bool{}}
	for i := range c.AgentChains[chain].Stages {
		all = append(all, r.stage(chain, i))
	}
	return all
}

func (r *resolver) stage(chain string, i int) plan.Stage {
	stage := r.AgentChains[chain].Stages[i]
	flow, _ := stage.flow()
	out := plan.Stage{
		Name: stage.Name, SuccessPolicy: r.stageSettings(chain, i).SuccessPolicy, Timeout: stage.Timeout,
		OutputKey: flow.OutputKey, Routing: stage.routing(r.AgentChains[chain].Interrupts), Hooks: flow.hooks(),
		Evidence: value(stage.Evidence),
	}
	agents, synthesis, review := r.stageWork(chain, i)
	room := maxOfSubAgents
	for _, w := range agents {
		out.Agents = append(out.Agents, r.orchestrator(w, chain, value(w.Orchestrator.MaxDepth), &room))
	}
	last := &out.Agents[0] // its text is the stage's output
	if synthesis != nil {
		joined := r.agent(*synthesis)
		last, out.Synthesis = &joined, &joined
	}
	last.Contract = flow.contract()
	if review != nil {
		reviewer := r.agent(*review)
		reviewer.Contract, out.Review = plan.ReviewContract, &reviewer
	}
	return out
}

func (r *resolver) agent(w work) plan.Agent {
	w.NativeTools = r.asked.native(w, r.LLMProviders[w.Provider])
	s := w.settings
	r.requireMade(w)
	definition, version := w.def.identity(w.definition)
	out := plan.Agent{
		Name: w.name, Definition: definition, Version: version, Type: w.kind.Name, Description: w.def.Description,
		Instructions:  w.def.CustomInstructions,
		MaxIterations: value(s.MaxIterations), OnLimit: s.OnLimit,
		Compression: s.Compression.plan(), Timeouts: plan.Timeouts(s.Timeouts),
	}
	if w.kind.Pattern.Model() {
		out.LLMBackend, out.Providers, out.SkippedFallbacks = r.providers(w)
		out.Prompt, out.Temperature, out.MaxTokens = r.Prompts[s.PromptKey], s.Temperature, value(s.MaxTokens)
		if s.PromptKey == "" {
			out.Prompt = w.def.SystemPrompt
		}
	}
	if slices.Contains(r.src.PromptFuncs, s.PromptKey) && w.kind.Pattern.Model() {
		out.PromptFunc = s.PromptKey
	}
	if r.mocked && slices.Contains(r.src.Mocks, s.Mock) {
		out.Mock = s.Mock
	}
	for _, name := range r.asked.servers(w) {
		server := r.server(name)
		server.Tools = r.asked.tools(name)
		if w.kind.Pattern.Model() {
			server.Summarization = r.summarize(w, name)
		}
		out.Servers = append(out.Servers, server)
	}
	if w.kind.Pattern.Tools() {
		out.Tools, out.ToolIDs = s.ToolConfig.plan(), r.toolIDs(w.definition)
	}
	if w.kind.Heartbeats {
		out.HeartbeatInterval = r.Agents[w.definition].HeartbeatInterval
	}
	if w.kind.Remembers() {
		out.MemoryBlocks = r.Agents[w.definition].memory()
	}
	if slices.Contains(w.kind.Tools, agent.ToolShell) {
		out.Shell = r.shell(s.Shell)
	}
	return out
}

// providers returns an agent's providers, in order, and the backend of the first. If a request names a provider, there
// are no fallbacks, because using a model that nobody asked for would be a surprise. Fallbacks that lack the agent's
// native tools are skipped, with the reason. Fallbacks that repeat a selector's earlier choice are skipped without one.
func (r *resolver) providers(w work) (backend string, all []plan.Provider, skipped []string) {
	if o := r.override; o != nil {
		o = r.chosen(w, *o)
		backend = o.entry.reachableBy(w.Backend)
		native := backend == BackendNativeGemini && o.entry.gemini()
		if w.NativeTools.wanted() && !native && o.entry.Type != ProviderSelector { // a selector's choice is not known yet
			r.problems = append(r.problems, fmt.Sprintf("agent %s uses native tools, which %s does not have", w.name, o.name))
		}
		only := r.checked(o.entry.plan(o.name, backend, w.NativeTools))
		only.Thinking, _ = thinkingBy(w, o.entry, only) // otherwise the model's default, not the agent's setting
		return backend, []plan.Provider{only}, nil
	}
	if problem := r.nativeProblem(w); problem != "" {
		r.problems = append(r.problems, w.at.Text+": "+problem)
	}
	selected := false
	for n, c := range r.choices(w.settings) {
		if problem := r.lacksNative(w, c); n > 0 && problem != "" {
			skipped = append(skipped, problem)
			continue
		}
		o := r.chosen(w, override{c.provider, r.LLMProviders[c.provider]})
		selected = selected || o.name != c.provider
		if selected && slices.ContainsFunc(all, func(p plan.Provider) bool { return p.Name == o.name }) {
			continue
		}
		by := o.entry.reachableBy(c.backend)
		if n == 0 {
			backend = by
		}
		next := r.checked(o.entry.plan(o.name, by, w.NativeTools))
		var problem string
		if next.Thinking, problem = thinkingBy(w, o.entry, next); problem != "" && n == 0 && o.name == c.provider {
			r.problems = append(r.problems, problem) // in a conversation; agents of chains were checked before
		}
		all = append(all, next)
	}
	return backend, all, skipped
}

// checked returns p and reports, once, that the provider lacks its key.
func (r *resolver) checked(p plan.Provider) plan.Provider {
	if !r.seen[p.Name] && !r.src.SkipCredentials {
		if problem := r.KeyProblem(p); problem != "" {
			r.problems = append(r.problems, problem)
		}
	}
	r.seen[p.Name] = true
	return p
}
