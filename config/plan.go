package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
)

// PlanError says why a request has no plan, and what it could have asked for.
type PlanError struct{ Problems []string }

func (e *PlanError) Error() string { return strings.Join(e.Problems, "\n") }

func planError(format string, args ...any) *PlanError {
	return &PlanError{Problems: []string{fmt.Sprintf(format, args...)}}
}

// Plan resolves a request to the plan of its chain, everything inherited. The
// same configuration and request give the same plan, byte for byte. The error
// is a *PlanError.
func (c *Config) Plan(req agent.PlanRequest) (agent.Plan, error) {
	r := resolver{Config: c, seen: map[string]bool{}}
	plan, err := r.plan(req)
	if err != nil {
		return agent.Plan{}, err
	}
	if len(r.problems) > 0 {
		return agent.Plan{}, &PlanError{Problems: r.problems}
	}
	return plan, nil
}

// resolver makes one plan.
type resolver struct {
	*Config
	override *agent.Provider // of every agent, if the request says so
	problems []string
	seen     map[string]bool // providers whose key was checked
}

func (r *resolver) plan(req agent.PlanRequest) (agent.Plan, error) {
	if r.report.findings.Failed() {
		return agent.Plan{}, planError("the configuration has errors:\n%v", r.report.findings)
	}
	req.AlertType = cmp.Or(req.AlertType, r.assumedAlertType(req))
	name, err := r.chainFor(req)
	if err != nil {
		return agent.Plan{}, err
	}
	if r.override, err = r.providerFor(req.Provider); err != nil {
		return agent.Plan{}, err
	}
	r.requireVariables(name, req.Provider)
	chain := r.AgentChains[name]
	plan := agent.Plan{
		Chain: name, AlertType: req.AlertType, Timeout: chain.Timeout,
		Runbook: cmp.Or(req.Runbook, chain.Runbook, r.Defaults.Runbook),
	}
	for _, stage := range chain.Stages {
		plan.Stages = append(plan.Stages, r.stage(chain, stage))
	}
	return plan, nil
}

func (r *resolver) assumedAlertType(req agent.PlanRequest) string {
	if req.Chain != "" {
		return ""
	}
	return r.Defaults.AlertType
}

func (r *resolver) chainFor(req agent.PlanRequest) (string, error) {
	if req.Chain != "" {
		if _, ok := r.AgentChains[req.Chain]; !ok {
			return "", planError("no chain named %q; there are: %s", req.Chain, list(r.AgentChains))
		}
		return req.Chain, nil
	}
	if req.AlertType == "" {
		return "", planError("neither a chain nor an alert type is given; chains: %s; alert types: %s",
			list(r.AgentChains), list(r.chainOf))
	}
	name, ok := r.chainOf[req.AlertType]
	if !ok {
		return "", planError("no chain has the alert type %q; there are: %s", req.AlertType, list(r.chainOf))
	}
	return name, nil
}

// requireVariables refuses a plan of entries that lack a variable: loading
// accepts that of built-in ones, and of a provider that only a request names.
func (r *resolver) requireVariables(chain, descriptor string) {
	used := r.uses(chain)
	provider, _, _ := strings.Cut(descriptor, ":")
	used[entryPath("llm_providers", provider).text] = true
	for _, u := range r.report.unset {
		if used[u.path.entry] {
			r.problems = append(r.problems, fmt.Sprintf("%s: variable %s is not set", u.path.text, u.name))
		}
	}
}

func (r *resolver) stage(chain *Chain, stage *Stage) agent.StagePlan {
	out := agent.StagePlan{
		Name:          stage.Name,
		SuccessPolicy: cmp.Or(stage.SuccessPolicy, r.Defaults.SuccessPolicy),
		Timeout:       stage.Timeout,
	}
	for _, w := range r.agentWork(chain, stage) {
		out.Agents = append(out.Agents, r.agent(w))
	}
	if stage.joined() {
		synthesis := r.agent(r.synthesisWork(chain, stage))
		out.Synthesis = &synthesis
	}
	return out
}

func (r *resolver) agent(w work) agent.AgentPlan {
	s := w.settings
	out := agent.AgentPlan{
		Name: w.name, Definition: w.definition, Type: w.kind.Name, Instructions: w.instruct,
		LLMBackend: s.Backend, Providers: r.providers(s),
		MaxIterations: value(s.MaxIterations), OnLimit: s.OnLimit,
		Temperature: s.Temperature, MaxTokens: value(s.MaxTokens),
		Compression: s.Compression.plan(),
		Timeouts: agent.Timeouts{
			Agent: s.Timeouts.Agent, Iteration: s.Timeouts.Iteration,
			Tool: s.Timeouts.Tool, StreamIdle: s.Timeouts.StreamIdle,
		},
	}
	for _, name := range s.Servers {
		out.Servers = append(out.Servers, r.MCPServers[name].plan(name))
	}
	if slices.Contains(w.kind.Tools, agent.ToolShell) {
		out.Shell = s.Shell.plan()
	}
	return out
}

// providers resolves an agent's providers. The one that a request names stands
// alone: falling back to a model nobody asked for would be a surprise.
func (r *resolver) providers(s settings) []agent.Provider {
	if r.override != nil {
		return []agent.Provider{r.checked(*r.override)}
	}
	var all []agent.Provider
	for _, name := range s.providers() {
		all = append(all, r.checked(r.LLMProviders[name].plan(name)))
	}
	return all
}

// checked notes, once, that a provider lacks its key.
func (r *resolver) checked(p agent.Provider) agent.Provider {
	if !r.seen[p.Name] && !r.skipCredentials {
		if problem := r.keyProblem(p); problem != "" {
			r.problems = append(r.problems, problem)
		}
	}
	r.seen[p.Name] = true
	return p
}

// providerFor finds what a request asks for: an entry, or "provider:model"
// where the provider is an entry or a type. Nil if it asks for nothing.
func (r *resolver) providerFor(descriptor string) (*agent.Provider, error) {
	if descriptor == "" {
		return nil, nil
	}
	entry, ok := r.LLMProviders[descriptor]
	if !ok {
		name, model, _ := strings.Cut(descriptor, ":")
		if entry, ok = r.LLMProviders[name]; !ok {
			entry = &Provider{Type: name}
		}
		row, _ := lookupProviderType(entry.Type)
		if model == "" || row.driver == "" {
			return nil, planError("no provider %q; there are: %s; or provider:model with one of those, openai, ollama or scripted",
				descriptor, strings.Join(slices.Sorted(maps.Keys(r.LLMProviders)), ", "))
		}
		withModel := *entry
		withModel.Model = model
		entry = &withModel
	}
	out := entry.plan(descriptor)
	return &out, nil
}
