package config

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

const maxAgents = 50 // in one stage, counting replicas

// defaultSynthesis is the agent that combines the results of several agents, unless a stage names another.
const defaultSynthesis = "SynthesisAgent"

// The types of stages.
const (
	stageInvestigation = "investigation"
	stageAction        = "action"
)

// Stage is one step of a chain: agents that work in parallel.
type Stage struct {
	// Name is unique within the chain; required.
	Name string `yaml:"name"`
	// Type action marks a stage that changes running systems: all of its agents have the type action.
	Type string `yaml:"type" enum:"stage type" default:"investigation"`
	// Agents work in parallel; at least one, at most 50.
	Agents []*StageAgent `yaml:"agents"`
	// Replicas runs the only agent of the stage several times, as NAME-1, NAME-2, …
	Replicas *int `yaml:"replicas" min:"1" max:"50" default:"1"`
	// SuccessPolicy says how many of the agents must succeed.
	SuccessPolicy plan.SuccessPolicy `yaml:"success_policy" enum:"success policy"`
	// MaxIterations limits the model calls of every agent of the stage.
	MaxIterations *int `yaml:"max_iterations" min:"1"`
	// MCPServers replace those of the chain and of the agents' definitions.
	MCPServers []string `yaml:"mcp_servers"`
	// FallbackProviders are tried in order when the provider fails; [] means none.
	FallbackProviders []Fallback `yaml:"fallback_providers"`
	// FallbackList names an entry of fallback_lists to use instead of fallback_providers.
	FallbackList string `yaml:"fallback_list" default:"none"`
	// ToolConfig overrides that of the agents' definitions and of the chain, key by key.
	ToolConfig ToolConfig `yaml:"tool_config"`
	// Synthesis combines the results of several agents.
	Synthesis Synthesis `yaml:"synthesis"`
	// AgentReview lets an agent, or people, review the stage's result before the chain continues. A result that is not
	// approved goes back, with the comments, to agent_review_resume_stage, or else to the stage itself. That begins
	// another pass; bounds.max_passes limits their number.
	AgentReview *AgentReview `yaml:"agent_review" default:"none"`
	// Timeout limits the stage; time paused does not count.
	Timeout plan.Duration `yaml:"timeout" default:"none"`
	// Temperature is passed to the model of every agent of the stage.
	Temperature *float32 `yaml:"temperature" min:"0" max:"2"`
	// MaxTokens limits every reply to the agents of the stage.
	MaxTokens *int `yaml:"max_tokens" min:"1" unit:"tokens"`
	// Thinking overrides that of an agent's definition.
	Thinking string `yaml:"thinking"`
	// ReasoningEffort overrides that of an agent's definition.
	ReasoningEffort string `yaml:"reasoning_effort" enum:"reasoning effort"`
	// Mock replaces every agent of the stage that names no mock itself.
	Mock string `yaml:"mock" default:"none"`
	// PromptKey is the prompt of every agent of the stage that names no prompt itself.
	PromptKey string `yaml:"prompt_key" default:"that of the agent's type"`
	// Evidence makes the stage's agents with tools quote the evidence for their conclusions. All later agents see the
	// quotes, numbered, so that they can cite them. Code checks the report against the quotes it cites.
	Evidence *bool `yaml:"evidence" default:"false"`

	// SubAgents replace those of the chain and of the agents' definitions; [] means none.
	SubAgents []SubAgent `yaml:"sub_agents"`

	Flow `yaml:",inline"`
}

// Synthesis is the agent that combines the results of a stage's agents.
type Synthesis struct {
	// Agent is the name of an agent definition of type synthesis.
	Agent string `yaml:"agent" default:"SynthesisAgent"`
	// LLMBackend selects the way to reach the provider.
	LLMBackend string `yaml:"llm_backend" enum:"backend"`
	// LLMProvider is the provider of this agent.
	LLMProvider string `yaml:"llm_provider"`
	// Mock replaces the agent if a request sets use_mock.
	Mock string `yaml:"mock" default:"none"`
}

// AgentReview says how a stage's result is reviewed.
type AgentReview struct {
	// Agent is the definition of the reviewing agent, which must be of a type that asks a model. Without it, people
	// review.
	Agent string `yaml:"agent" default:"none: people do"`
	// Question is the question to ask about the result.
	Question string `yaml:"question" default:"Is it right, complete, and borne out by the evidence?"`
	// LLMBackend selects the way to reach the agent's provider.
	LLMBackend string `yaml:"llm_backend" enum:"backend"`
	// LLMProvider is the provider of this agent.
	LLMProvider string `yaml:"llm_provider"`
	// Mock replaces the agent if a request sets use_mock.
	Mock string `yaml:"mock" default:"none"`
}

const defaultQuestion = "Is it right, complete, and borne out by the evidence?"

// StageAgent is an agent's entry in a stage.
type StageAgent struct {
	// Name is the name of the agent's definition; required.
	Name string `yaml:"name"`
	// Type repeats the type of the definition and has no other effect.
	Type string `yaml:"type" enum:"agent type"`
	// LLMProvider is the provider of this agent.
	LLMProvider string `yaml:"llm_provider"`
	// LLMBackend selects the way to reach the provider.
	LLMBackend string `yaml:"llm_backend" enum:"backend"`
	// MaxIterations limits the model calls of this agent.
	MaxIterations *int `yaml:"max_iterations" min:"1"`
	// MCPServers replace all others.
	MCPServers []string `yaml:"mcp_servers"`
	// FallbackProviders are tried in order when the provider fails; [] means none.
	FallbackProviders []Fallback `yaml:"fallback_providers"`
	// FallbackList names an entry of fallback_lists to use instead of fallback_providers.
	FallbackList string `yaml:"fallback_list" default:"none"`
	// ToolConfig overrides that of the agent's definition, of the chain and of the stage, key by key.
	ToolConfig ToolConfig `yaml:"tool_config"`
	// Timeout limits this agent; time paused does not count.
	Timeout plan.Duration `yaml:"timeout" default:"timeouts.agent"`
	// Temperature is passed to the model.
	Temperature *float32 `yaml:"temperature" min:"0" max:"2"`
	// MaxTokens limits a reply.
	MaxTokens *int `yaml:"max_tokens" min:"1" unit:"tokens"`
	// Thinking overrides that of an agent's definition.
	Thinking string `yaml:"thinking"`
	// ReasoningEffort overrides that of an agent's definition.
	ReasoningEffort string `yaml:"reasoning_effort" enum:"reasoning effort"`
	// Mock is a function that the workers' program has registered in Go. It replaces the agent if a request sets
	// use_mock. If the program has no such function, the agent itself works.
	Mock string `yaml:"mock" default:"the stage's"`
	// PromptKey names an entry of prompts, which replaces the type's own prompt.
	PromptKey string `yaml:"prompt_key" default:"the stage's"`

	// SubAgents replace all others; [] means none.
	SubAgents []SubAgent `yaml:"sub_agents"`
	// Orchestrator overrides that of the agent's definition, key by key.
	Orchestrator Orchestrator `yaml:"orchestrator"`

	Flow `yaml:",inline"`

	_ struct{} `later:"required_skills skills"`
}

func (s *Stage) validate(p path, v *validator) {
	v.requiredName(p.Key("name"), s.Name)
	if slices.Contains(targets, s.Name) {
		v.Errorf(p.Key("name"), "%q cannot be the name of a stage: as a target it is something else", s.Name)
	}
	v.servers(p.Key("mcp_servers"), s.MCPServers)
	v.mock(p.Key("mock"), s.Mock)
	v.prompt(p.Key("prompt_key"), s.PromptKey)
	s.Synthesis.check(p.Key("synthesis"), v, len(s.Agents) > 1 || value(s.Replicas) > 1)
	s.AgentReview.check(p.Key("agent_review"), v, s.Agents)
	v.subAgents(p, s.SubAgents, "")
	s.validateCount(p, v)
	s.validateFlow(p, v)
	for i, a := range s.Agents {
		const wrong = "agent %q is of type %q; all agents of a stage of type \"action\" are of that type"
		if kind := v.kind(a.Name).Name; s.Type == stageAction && kind != stageAction && kind != "" {
			v.Errorf(p.Key("agents").Index(i), wrong, a.Name, kind)
		}
	}
	searches := func(a *StageAgent) bool {
		def, known := v.Agents[a.Name]
		return !known || def.row().Pattern == agent.Iterating
	}
	if value(s.Evidence) && !slices.ContainsFunc(s.Agents, searches) {
		v.Errorf(p.Key("evidence"), "none of the stage's agents calls tools by itself, so none has evidence of its own")
	}
}

// validateCount checks the number of agents and their names.
func (s *Stage) validateCount(p path, v *validator) {
	agents, replicas := p.Key("agents"), p.Key("replicas")
	switch n := s.Replicas; {
	case len(s.Agents) == 0:
		v.Errorf(agents, "at least one agent is required")
	case len(s.Agents) > maxAgents:
		v.Errorf(agents, "at most %d agents may work in one stage, got %d", maxAgents, len(s.Agents))
	case n != nil && (*n < 1 || *n > maxAgents): // reported already
	case value(n) > 1 && len(s.Agents) > 1:
		v.Errorf(replicas, "replicas are for a stage with one agent, this one has %d", len(s.Agents))
	default:
		s.validateNames(agents, v)
	}
}

// validateNames finds the rare agent "X-1" whose name collides with the first of several X.
func (s *Stage) validateNames(p path, v *validator) {
	names := s.names()
	for i, name := range names {
		if slices.Index(names, name) < i {
			v.Errorf(p.Index(min(i, len(s.Agents)-1)), "two agents of this stage would be called %q", name)
		}
	}
}

// names returns the names of the agents of a stage: those of their definitions, with -1, -2, … for a definition that
// runs several times.
func (s *Stage) names() []string {
	total, given := map[string]int{}, map[string]int{}
	all := s.executions()
	for _, a := range all {
		total[a.Name]++
	}
	names := make([]string, len(all))
	for i, a := range all {
		names[i] = a.Name
		if total[a.Name] > 1 {
			given[a.Name]++
			names[i] = fmt.Sprintf("%s-%d", a.Name, given[a.Name])
		}
	}
	return names
}

// executions returns the stage's agents, with each replica as an entry.
func (s *Stage) executions() []*StageAgent {
	all := slices.Clip(s.Agents)
	for len(s.Agents) == 1 && len(all) < min(value(s.Replicas), maxAgents) {
		all = append(all, s.Agents[0])
	}
	return all
}

func (s *Synthesis) check(p path, v *validator, needed bool) {
	v.provider(p.Key("llm_provider"), s.LLMProvider)
	v.mock(p.Key("mock"), s.Mock)
	if s.Agent == "" && !needed {
		return
	}
	name := s.agent()
	if !v.agent(p.Key("agent"), name) {
		return
	}
	if row := v.Agents[name].row(); row.Name != "synthesis" && row.Name != "" {
		v.Errorf(p.Key("agent"), "agent %q is of type %q; a synthesis needs one of type \"synthesis\"", name, row.Name)
	}
}

func (r *AgentReview) check(p path, v *validator, others []*StageAgent) {
	if r == nil {
		return
	}
	v.provider(p.Key("llm_provider"), r.LLMProvider)
	v.mock(p.Key("mock"), r.Mock)
	switch {
	case r.Agent == "" && r.LLMProvider+r.LLMBackend+r.Mock != "":
		v.Errorf(p.Key("agent"), "people are asked, since no agent is named: what is said of its model needs one")
	case r.Agent == "" || !v.agent(p.Key("agent"), r.Agent):
	case !v.Agents[r.Agent].row().Pattern.Model():
		v.Errorf(p.Key("agent"), "agent %q is of type %q, which asks no model: it cannot review", r.Agent, v.Agents[r.Agent].row().Name)
	case slices.ContainsFunc(others, func(a *StageAgent) bool { return a.Name == r.Agent }):
		v.Errorf(p.Key("agent"), "agent %q works in this stage: another one has to review what it does", r.Agent)
	}
}

// plan returns the review's part of a plan, or nil if the result is not reviewed.
func (r *AgentReview) plan(back string) *plan.Review {
	if r == nil {
		return nil
	}
	return &plan.Review{Question: cmp.Or(r.Question, defaultQuestion), People: r.Agent == "", Back: back}
}

func (s *Synthesis) agent() string {
	if s.Agent == "" {
		return defaultSynthesis
	}
	return s.Agent
}

func (a *StageAgent) validate(p path, v *validator) {
	v.provider(p.Key("llm_provider"), a.LLMProvider)
	v.servers(p.Key("mcp_servers"), a.MCPServers)
	v.mock(p.Key("mock"), a.Mock)
	v.prompt(p.Key("prompt_key"), a.PromptKey)
	v.subAgents(p, a.SubAgents, a.Name)
	switch {
	case a.Name == "":
		v.Errorf(p, "the name of an agent is required")
	case v.agent(p, a.Name) && a.Type != "":
		row, ok := agent.LookupType(a.Type)
		if own := v.Agents[a.Name].row(); ok && row.Name != own.Name && own.Name != "" {
			v.Errorf(p.Key("type"), "agent %q is of type %q; a stage cannot change that", a.Name, own.Name)
		}
	}
}
