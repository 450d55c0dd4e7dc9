package configuration

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/config"
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
		return plan.Plan{}, planError("%s", unknownName("agent", name, c.Agents))
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
		Timeout: budgetTimeout(own.Budgets, own.Timeout), Conclude: own.Timeouts.Conclude,
		Bounds: r.planBounds(name, own), AlertMasking: plannedAlertMasking(r.Defaults.AlertMasking), MaxData: r.MaxData(),
		Environment: r.System.Environment, Calendar: plannedCalendar(r.System),
	}
	r.runbook(&p, req.Runbook)
	bounded{&p}.budget(req.Budgets, own.Requests.Budgets)
	if req.Schedule != nil {
		bounded{&p}.schedule(*req.Schedule)
	}
	for i := range r.AgentChains[name].Stages {
		p.Stages = append(p.Stages, r.stage(name, i))
	}
	r.problems = append(r.problems, r.asked.problems(r.Config, name)...)
	p.Interrupts = plannedInterrupts(r.interrupts(name, p.Stages))
	p.Summary, p.Scoring = r.summary(name, p.Check), r.scoring(name, false)
	p.Memory, p.Learning = planMemory(r.Defaults.Memory), r.learning(name)
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
				problem := fmt.Sprintf("mcp_servers.%s: %s", s.Name, missingProgram(server))
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
	if from := of.Bounds.Origins["max_cost_usd"]; from == byRequest || from == bySchedule {
		whose = from
	}
	for _, stage := range of.AllStages() {
		for _, a := range stage.All() {
			for _, p := range a.Providers {
				problem := fmt.Sprintf("llm_providers.%s has no prices, but %s has a budget of max_cost_usd: "+
					"give its prices ({input: 0, output: 0} for a free model), or remove the budget", p.Name, whose)
				priced := p.Type == config.ProviderScripted || p.Type == config.ProviderSelector || p.Prices.Known()
				if !priced && !slices.Contains(r.problems, problem) {
					r.problems = append(r.problems, problem)
				}
			}
		}
	}
}

func (r *resolver) chainFor(req agent.Request) (string, error) {
	elsewhere := func(chain string) bool { return !r.ChainIn(chain, req.Project) } // do not reveal other projects' chains
	chains, chainOf := maps.Clone(r.AgentChains), maps.Clone(r.chainOf)
	maps.DeleteFunc(chains, func(chain string, _ *config.Chain) bool { return elsewhere(chain) })
	maps.DeleteFunc(chainOf, func(_, chain string) bool { return elsewhere(chain) })
	if req.Chain != "" {
		if _, ok := chains[req.Chain]; !ok {
			return "", planError("%s", unknownName("chain", req.Chain, chains))
		}
		return req.Chain, nil
	}
	if req.AlertType == "" {
		return "", planError("the request has neither a chain nor an alert type; chains: %s; alert types: %s", list(chains), list(chainOf))
	}
	name, ok := chainOf[req.AlertType]
	if !ok {
		return "", planError("no chain has the alert type %q; available: %s", req.AlertType, list(chainOf))
	}
	return name, nil
}

// requireVariables refuses a plan whose entries lack a variable. Loading accepts missing variables of built-in entries,
// and of a provider that only a request names.
func (r *resolver) requireVariables(chain, descriptor string) {
	if len(r.report.Unset) == 0 {
		return
	}
	kept, known := r.usedBy.Load(chain)
	if !known { // finding what a chain uses is slow
		kept, _ = r.usedBy.LoadOrStore(chain, r.uses(chain))
	}
	used := kept.(map[string]bool)
	provider, _, _ := strings.Cut(descriptor, ":")
	requested := entryPath("llm_providers", provider).Text
	for _, u := range r.report.Unset {
		if (used[u.Path.Entry] || u.Path.Entry == requested) && r.served(u.Path) {
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
	flow, _ := stageFlow(stage)
	out := plan.Stage{
		Name: stage.Name, SuccessPolicy: r.stageSettings(chain, i).SuccessPolicy, Timeout: stage.Timeout,
		OutputKey: flow.OutputKey, Routing: stageRouting(stage, r.AgentChains[chain].Interrupts), Hooks: flowHooks(flow),
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
	last.Contract = flowContract(flow)
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
	definition, version := r.identity(w.definition)
	out := plan.Agent{
		Name: w.name, Definition: definition, Version: version, Type: w.kind.Name, Description: w.def.Description,
		Instructions:  w.def.CustomInstructions,
		MaxIterations: value(s.MaxIterations), OnLimit: s.OnLimit,
		Compression: plannedCompression(s.Compression), Timeouts: plan.Timeouts(s.Timeouts),
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
		out.Tools, out.ToolIDs = plannedToolConfig(s.ToolConfig), r.toolIDs(w.definition)
	}
	if w.kind.Pattern == agent.Iterating {
		out.ToolSearchAbove = value(s.ToolSearch.Above)
	}
	if w.kind.Heartbeats {
		out.HeartbeatInterval = r.Agents[w.definition].HeartbeatInterval
	}
	if w.kind.Remembers() {
		out.MemoryBlocks = memoryBlocks(r.Agents[w.definition])
	}
	if slices.Contains(w.kind.Tools, agent.ToolShell) {
		out.Shell = r.shell(s.Shell)
	}
	out.Skills = r.planSkills(w)
	out.Recalls = value(r.Defaults.Memory.Enabled) && w.kind.Pattern == agent.Iterating
	return out
}

// providers returns an agent's providers, in order, and the backend of the first. If a request names a provider, there
// are no fallbacks, because using a model that nobody asked for would be a surprise. Fallbacks that lack the agent's
// native tools are skipped, with the reason. Fallbacks that repeat a selector's earlier choice are skipped without one.
func (r *resolver) providers(w work) (backend string, all []plan.Provider, skipped []string) {
	if o := r.override; o != nil {
		o = r.chosen(w, *o)
		backend = reachableBy(o.entry, w.Backend)
		native := backend == config.BackendNativeGemini && isGemini(o.entry)
		if wantsNative(w.NativeTools) && !native && o.entry.Type != config.ProviderSelector { // a selector's choice is not known yet
			r.problems = append(r.problems, fmt.Sprintf("agent %s uses native tools, which %s does not have", w.name, o.name))
		}
		only := r.checked(plannedProvider(o.entry, o.name, backend, w.NativeTools))
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
		by := reachableBy(o.entry, c.backend)
		if n == 0 {
			backend = by
		}
		next := r.checked(plannedProvider(o.entry, o.name, by, w.NativeTools))
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

// AgentPlan resolves an agent's definition outside of any chain, so without the settings, such as servers, that chains
// and stages add. It does not check the providers. The error is a *PlanError.
func (c *Config) AgentPlan(name string) (plan.Agent, error) {
	w, err := c.standalone(name)
	if err != nil {
		return plan.Agent{}, err
	}
	r := resolver{Config: c, seen: map[string]bool{}}
	if r.requireMade(w); len(r.problems) > 0 {
		return plan.Agent{}, &PlanError{Problems: r.problems}
	}
	return r.agent(w), nil
}

// OwnAgents returns the names of the definitions that the user has written, sorted.
func (c *Config) OwnAgents() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		if !c.report.BuiltIn(entryPath("agents", name)) {
			names = append(names, name)
		}
	}
	return names
}

// standalone returns an agent that works outside of any chain.
func (c *content) standalone(name string) (work, error) {
	def, ok := c.Agents[name]
	if !ok {
		return work{}, planError("%s", unknownName("agent", name, c.Agents))
	}
	w := work{at: entryPath("agents", name), name: name, definition: name, kind: agentRow(def), def: *def}
	w.inherited = inheritLevels(append(c.definitionLevels(name), typeLimits(w.kind))...)
	return w, nil
}

// Conversation resolves a request for a conversation to its plan: one stage with one agent. The error is a *PlanError.
func (c *Config) Conversation(req agent.ConversationRequest) (p plan.Plan, err error) {
	if c.report.Findings.Failed() {
		return p, planError("the configuration has errors:\n%v", c.report.Findings)
	}
	w, err := c.standalone(req.Agent)
	if err != nil {
		return p, err
	}
	if !w.kind.Pattern.Model() {
		return p, planError("agent %s has type %s, which uses no model: it cannot hold a conversation", req.Agent, w.kind.Name)
	}
	r := resolver{Config: c, seen: map[string]bool{}, project: req.Project}
	if r.override, err = r.providerFor(req.Provider); err != nil {
		return p, err
	}
	own := r.agent(w)
	if len(r.problems) > 0 {
		return p, &PlanError{Problems: r.problems}
	}
	stage := plan.Stage{SuccessPolicy: plan.SuccessAny, Agents: []plan.Agent{own}}
	p = plan.Plan{
		Conversation: true, AlertMasking: plannedAlertMasking(c.Defaults.AlertMasking), Calendar: plannedCalendar(c.System),
		Stages: []plan.Stage{stage},
	}
	p.Memory = planMemory(c.Defaults.Memory)
	return p.Versioned(), nil
}

// ToolPlan returns the plan of a placeholder agent for calling tools directly. It has every server except built-in ones
// that are not installed, and the settings about tools in defaults.
func (c *Config) ToolPlan() plan.Agent {
	s := inheritLevels(levelOf(path{}, &c.Defaults, nil)).settings
	p := plan.Agent{Shell: c.shell(s.Shell), Tools: plannedToolConfig(s.ToolConfig), Timeouts: plan.Timeouts{Tool: s.Timeouts.Tool}}
	for _, name := range slices.Sorted(maps.Keys(c.MCPServers)) {
		s := c.MCPServers[name]
		if c.report.BuiltIn(entryPath("mcp_servers", name)) && s.NPX != "" && !c.onPath(s.Transport.Command) {
			continue // listing tools must not download a program
		}
		p.Servers = append(p.Servers, c.server(name))
	}
	return p
}
