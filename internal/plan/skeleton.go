package plan

import "github.com/inquest-dev/inquest/internal/agent"

// Skeleton is the part of a plan that workflows need. The plan itself stays in the store, under its hash.
type Skeleton struct {
	Version    int             `json:"version,omitempty"` // see Plan; zero means 1
	Chain      string          `json:"chain"`
	AlertType  string          `json:"alert_type,omitempty"`
	Timeout    Duration        `json:"timeout,omitempty"`
	Conclude   Duration        `json:"conclude,omitempty"` // see Plan
	Bounds     Bounds          `json:"bounds,omitzero"`
	Interrupts Interrupts      `json:"interrupts,omitzero"`
	Stages     []StageSkeleton `json:"stages"`
	Summary    *StageSkeleton  `json:"summary,omitempty"`
	Scoring    *StageSkeleton  `json:"scoring,omitempty"`
}

// StageSkeleton is the part of a Stage that workflows need.
type StageSkeleton struct {
	Name          string          `json:"name"`
	SuccessPolicy SuccessPolicy   `json:"success_policy"`
	Timeout       Duration        `json:"timeout,omitempty"`
	Agents        []AgentSkeleton `json:"agents"`
	Synthesis     *AgentSkeleton  `json:"synthesis,omitempty"`
	Review        *AgentSkeleton  `json:"review,omitempty"`
	OutputKey     string          `json:"output_key,omitempty"` // empty means the stage's name
	Routing       Routing         `json:"routing,omitzero"`
	Hooks
}

// AgentSkeleton is the part of an Agent that workflows need.
type AgentSkeleton struct {
	Name    string        `json:"name"`
	Pattern agent.Pattern `json:"pattern"`
	Mock    bool          `json:"mock,omitempty"` // a function replaces the agent
	// Models name the agent's providers in the order in which they are tried.
	Models []string `json:"models"`
	// Strikes is how many calls in a row may break off, or fail to start, before the next model is tried. Zero, as in
	// older plans, means as many as fit into the outage time.
	Strikes          int              `json:"strikes,omitempty"`
	MaxIterations    int              `json:"max_iterations"`
	OnLimit          OnLimit          `json:"on_limit,omitempty"`
	ThinkingFallback bool             `json:"thinking_fallback,omitempty"`
	Heartbeats       bool             `json:"heartbeats,omitempty"`
	Servers          []ServerSkeleton `json:"servers,omitempty"`
	Timeouts         Timeouts         `json:"timeouts"`
	// HeartbeatInterval: see Agent.
	HeartbeatInterval Duration `json:"heartbeat_interval,omitempty"`
	// ApprovalTimeout is how long a call waits for a person.
	ApprovalTimeout Duration `json:"approval_timeout,omitempty"`
	// Orchestrator is set if the agent may dispatch others.
	Orchestrator *OrchestratorSkeleton `json:"orchestrator,omitempty"`
}

// Model returns the agent's n-th model, or an empty string.
func (a AgentSkeleton) Model(n int) string {
	if n < len(a.Models) {
		return a.Models[n]
	}
	return ""
}

// ServerSkeleton names an MCP server and the task queue that serves it.
type ServerSkeleton struct {
	Name      string `json:"name"`
	TaskQueue string `json:"task_queue,omitempty"`
}

// strikes: see AgentSkeleton.
const strikes = 2

// Skeleton returns the part of the plan that workflows need.
func (p Plan) Skeleton() Skeleton {
	out := Skeleton{Version: p.Version, Chain: p.Chain, AlertType: p.AlertType, Timeout: p.Timeout, Conclude: p.Conclude,
		Bounds: p.Bounds, Interrupts: p.Interrupts}
	for _, stage := range p.Stages {
		out.Stages = append(out.Stages, stage.Skeleton())
	}
	if p.Summary != nil {
		out.Summary = new(p.Summary.Skeleton())
	}
	if p.Scoring != nil {
		out.Scoring = new(p.Scoring.Skeleton())
	}
	return out
}

// Skeleton returns the part of the stage that workflows need.
func (s Stage) Skeleton() StageSkeleton {
	out := StageSkeleton{
		Name: s.Name, SuccessPolicy: s.SuccessPolicy, Timeout: s.Timeout, OutputKey: s.OutputKey, Routing: s.Routing, Hooks: s.Hooks,
	}
	for _, a := range s.Agents {
		out.Agents = append(out.Agents, a.skeleton())
	}
	if s.Synthesis != nil {
		synthesis := s.Synthesis.skeleton()
		out.Synthesis = &synthesis
	}
	if s.Review != nil {
		review := s.Review.skeleton()
		out.Review = &review
	}
	return out
}

func (a Agent) skeleton() AgentSkeleton {
	row, _ := agent.LookupType(a.Type)
	out := AgentSkeleton{
		Name: a.Name, Pattern: row.Pattern, Mock: a.Mock != "", MaxIterations: a.MaxIterations, OnLimit: a.OnLimit,
		ThinkingFallback: row.ThinkingFallback, Heartbeats: row.Heartbeats, HeartbeatInterval: a.HeartbeatInterval,
		Timeouts: a.Timeouts, ApprovalTimeout: a.Tools.ApprovalTimeout,
	}
	for _, p := range a.Providers {
		out.Models = append(out.Models, p.Model)
	}
	if len(out.Models) > 1 {
		out.Strikes = strikes
	}
	for _, s := range a.Servers {
		out.Servers = append(out.Servers, ServerSkeleton{Name: s.Name, TaskQueue: s.TaskQueue})
	}
	out.Orchestrator = a.Orchestrator.skeleton()
	return out
}

// The indexes of a stage's synthesis agent and of its reviewing agent.
const (
	SynthesisIndex = -1
	ReviewIndex    = -2
)

// Agent returns a stage's n-th agent, or its agent at SynthesisIndex or ReviewIndex. ok is false if the plan has no
// such agent.
func (p Plan) Agent(stage, n int) (Agent, bool) {
	s, ok := p.StageAt(stage)
	switch {
	case !ok:
	case n == SynthesisIndex && s.Synthesis != nil:
		return *s.Synthesis, true
	case n == ReviewIndex && s.Review != nil:
		return *s.Review, true
	case n >= 0 && n < len(s.Agents):
		return s.Agents[n], true
	}
	return Agent{}, false
}
