// Package plan defines a fully resolved chain: the result of resolving a request, the form in the store, and the part
// that workflows need.
package plan

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Plan is a fully resolved chain, with all inheritance applied and all defaults filled in. It is recorded once, at the
// start, and nothing later reads live configuration. It holds no secrets, only the names of environment variables.
type Plan struct {
	// Version is the version that a program must support to run the plan: see Versioned.
	Version   int    `json:"version"`
	Chain     string `json:"chain"`
	AlertType string `json:"alert_type,omitempty"`
	// Runbook is the text of the procedure for the agents, and RunbookOrigin says where it comes from.
	Runbook       string        `json:"runbook,omitempty"`
	RunbookOrigin RunbookOrigin `json:"runbook_origin,omitzero"`
	// RunbookURLs are runbooks to try before Runbook, in this order. They are fetched when the plan is recorded, so a
	// recorded plan has none. RunbookProblems says why some of them could not be used.
	RunbookURLs     []RunbookURL `json:"runbook_urls,omitempty"`
	RunbookProblems []string     `json:"runbook_problems,omitempty"`
	// Store is the identity of the store that holds the plan's data. No other store has the plan.
	Store string `json:"store,omitempty"`
	// Project is the project that the work belongs to. It is empty in plans from before rules had projects.
	Project string `json:"project,omitempty"`
	// Environment is the name of the installation in the configuration, or empty.
	Environment string `json:"environment,omitempty"`
	// Calendar is when people work, for the prompts of agents.
	Calendar Calendar `json:"calendar,omitzero"`
	// Conversation marks the plan of a conversation. Its one stage has one agent and no task, because people say what
	// they want.
	Conversation bool `json:"conversation,omitempty"`
	// About is the ID of the investigation that a conversation is about. Empty means none.
	About string `json:"about,omitempty"`
	// AlertMasking is applied to the request's data. Nil means none.
	AlertMasking *Masking `json:"alert_masking,omitempty"`
	// MaxData is the maximum size of the request's data without attaching them, in bytes. Zero means no limit.
	MaxData int `json:"max_data,omitempty"`
	// Timeout limits the investigation; time paused does not count. Zero means no limit.
	Timeout Duration `json:"timeout,omitempty"`
	// Conclude is how long the investigation and its stages have to conclude after their time limits. Zero means two
	// minutes, in plans that are older than the setting. See Grace.
	Conclude   Duration   `json:"conclude,omitempty"`
	Bounds     Bounds     `json:"bounds,omitzero"`
	Interrupts Interrupts `json:"interrupts,omitzero"`
	// Dedup says which requests are duplicates.
	Dedup  Dedup   `json:"dedup,omitzero"`
	Stages []Stage `json:"stages"`
	// Summary summarises the investigation in a few lines, and Scoring judges it, each with one agent. Nil means that
	// the step is off.
	Summary *Stage `json:"summary,omitempty"`
	Scoring *Stage `json:"scoring,omitempty"`
	// Memory is nil if the project's earlier investigations are not used. Learning learns from this one after it was judged, with
	// one agent; nil means that nothing is learned.
	Memory   *Memory `json:"memory,omitempty"`
	Learning *Stage  `json:"learning,omitempty"`
	// Check means that the summary is the verdict of a check.
	Check bool `json:"check,omitempty"`
	// Fork says what is shared with another investigation; nil means nothing.
	Fork *Fork `json:"fork,omitempty"`
}

// Version is the newest plan version that this program supports. Plans that need nothing newer are still version 1, so
// that older programs run them. Increase it with every change that an older program must not ignore: a restriction that
// it would not enforce, or a kind of stage that it would run differently.
const Version = versionLeftOut

const (
	versionPlain = 1
	versionGates = 2
	// Reviews, agents that dispatch others, tools that a request names, quick fallback to other models, a summary, a
	// score, evidence.
	versionWhole = 3
	// Restrictions for agents that have read untrusted text.
	versionTaint = 4
	// Agents with skills or learnings, which older programs would not put into prompts, and runbooks that are untrusted text.
	versionKnowledge = 5
	// Repeated calls that must be refused. Older programs make them; a person's approval of them is not required there.
	versionRepeats = 6
	// Checks, whose summary older programs would show as JSON.
	versionChecks = 7
	// Forks, whose shared entries older programs would supersede, and so make all calls again.
	versionForks = 8
	// Forks with results that people gave, instead of which older programs would share those of the tools.
	versionGiven = 9
	// Forks whose calls are answered from results of the other investigation. Older programs would call the tools.
	versionTape = 10
	// Forks without an agent or a learning, which older programs would use again after a reset, and could recall.
	versionLeftOut = 11
)

// Try removes from the plan of an experiment what would make it known to others, tell its agents of others, or wait for people: see
// agent.Request. A fork keeps the learnings that the other investigation's agents were shown.
func (p *Plan) Try() error {
	if place := p.Remembers(); place != "" {
		return fmt.Errorf("%s keeps a memory that later investigations read, so it cannot work in a trial", place)
	}
	p.Scoring, p.Learning, p.Bounds.OnLimit = nil, nil, OnBoundEnd
	if p.Memory != nil {
		p.Memory = &Memory{Shown: p.Memory.Shown, Trial: true}
	}
	return nil
}

// Remembers returns the place of an agent with a memory of its own, or an empty string.
func (p *Plan) Remembers() string {
	for place, a := range p.AgentsByPlace() {
		if row, known := agent.LookupType(a.Type); known && row.Remembers() {
			return place
		}
	}
	return ""
}

// Versioned returns the plan with the oldest version that can run it.
func (p Plan) Versioned() Plan {
	p.Version = versionPlain
	whole := func(a Agent) bool {
		return a.Orchestrator != nil || len(a.Providers) > 1 || slices.ContainsFunc(a.Servers, func(s Server) bool { return s.Tools != nil })
	}
	for _, s := range p.Stages {
		switch {
		case slices.ContainsFunc(s.All(), func(a Agent) bool { return a.Tools.TaintedWrites != "" }):
			p.Version = max(p.Version, versionTaint)
		case s.Routing.Review != nil || s.Evidence || slices.ContainsFunc(s.All(), whole):
			p.Version = max(p.Version, versionWhole)
		case s.Routing.OnApprove != "" || len(s.Routing.Resume) > 0:
			p.Version = max(p.Version, versionGates)
		}
	}
	if p.Summary != nil || p.Scoring != nil {
		p.Version = max(p.Version, versionWhole)
	}
	for a := range p.AllAgents() {
		if len(a.Skills) > 0 {
			p.Version = max(p.Version, versionKnowledge)
		}
		if a.Tools.refusesRepeats() {
			p.Version = max(p.Version, versionRepeats)
		}
	}
	if p.RunbookOrigin.Untrusted() != "" || p.Memory != nil {
		p.Version = max(p.Version, versionKnowledge)
	}
	if p.Check {
		p.Version = max(p.Version, versionChecks)
	}
	if p.Fork != nil {
		p.Version = max(p.Version, versionForks)
		if len(p.Fork.Given) > 0 {
			p.Version = versionGiven
		}
		if p.Fork.Tools != "" {
			p.Version = versionTape
		}
		if slices.ContainsFunc(p.Fork.LeftOut, func(l LeftOut) bool { return l.Tool == "" }) {
			p.Version = versionLeftOut
		}
	}
	return p
}

// ErrNewer means that a plan was made by a newer program than this one.
var ErrNewer = errors.New("the plan was made by a newer version of Inquest")

// UnmarshalJSON decodes a plan leniently. If the plan is of a newer version, it returns ErrNewer, because the other
// fields may have other meanings.
func (p *Plan) UnmarshalJSON(data []byte) error {
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return err
	}
	if head.Version > Version {
		return fmt.Errorf("%w: its format is %d, and this program supports formats up to %d: upgrade this program",
			ErrNewer, head.Version, Version)
	}
	type plain Plan
	return json.Unmarshal(data, (*plain)(p))
}

// StageOf returns the stage of a run: "dig" for the runs "dig" and "dig#2".
func (p Plan) StageOf(run string) (Stage, bool) {
	name, _, _ := strings.Cut(run, "#")
	i := slices.IndexFunc(p.Stages, func(s Stage) bool { return s.Name == name })
	if i < 0 {
		return Stage{}, false
	}
	return p.Stages[i], true
}

// CollectsEvidence reports whether agents of any stage quote the evidence for their replies. All agents are then told
// about it.
func (p Plan) CollectsEvidence() bool {
	return slices.ContainsFunc(p.Stages, func(s Stage) bool { return s.Evidence })
}

// Attach makes all agents read the request's data in pages.
func (p *Plan) Attach() {
	for a := range p.AllAgents() {
		a.Attached = true
	}
}

// AllAgents returns the agents of all stages, including those that other agents may dispatch.
func (p *Plan) AllAgents() iter.Seq[*Agent] {
	return func(yield func(*Agent) bool) {
		for _, a := range p.AgentsByPlace() {
			if !yield(a) {
				return
			}
		}
	}
}

// AgentsByPlace is AllAgents with the place of each agent: stage/agent, or stage/agent/sub-agent.
func (p *Plan) AgentsByPlace() iter.Seq2[string, *Agent] {
	return func(yield func(string, *Agent) bool) {
		for _, s := range p.AllStages() {
			if !eachAgent(s.Name, s.Agents, yield) || s.Synthesis != nil && !yield(s.Name+"/"+s.Synthesis.Name, s.Synthesis) ||
				s.Review != nil && !yield(s.Name+"/"+s.Review.Name, s.Review) {
				return
			}
		}
	}
}

func eachAgent(above string, agents []Agent, yield func(string, *Agent) bool) bool {
	for n := range agents {
		a := &agents[n]
		place := above + "/" + a.Name
		if !yield(place, a) || a.Orchestrator != nil && !eachAgent(place, a.Orchestrator.Agents, yield) {
			return false
		}
	}
	return true
}

// MainQueue is the task queue that workers serve by default.
const MainQueue = "inquest"

// Stage is one step of a plan.
type Stage struct {
	Name          string        `json:"name"`
	SuccessPolicy SuccessPolicy `json:"success_policy"`
	Timeout       Duration      `json:"timeout,omitempty"`
	// Agents run in parallel. Replicas are separate entries (Name-1 … Name-N).
	Agents []Agent `json:"agents"`
	// Synthesis combines the results of several agents. It is nil for a single agent.
	Synthesis *Agent `json:"synthesis,omitempty"`
	// Review is the agent that reviews the stage's result, as Routing.Review says. Nil means no agent.
	Review *Agent `json:"review,omitempty"`
	// OutputKey is the key of the stage's output for other stages. Empty means the stage's name.
	OutputKey string  `json:"output_key,omitempty"`
	Routing   Routing `json:"routing,omitzero"`
	// Evidence means that the agents' replies quote their evidence.
	Evidence bool `json:"evidence,omitempty"`
	Hooks
}

// Hooks name functions of the workers' program that run for a stage. Empty means none.
type Hooks struct {
	PreProcess  string `json:"pre_process,omitempty"`  // before the agents
	PostProcess string `json:"post_process,omitempty"` // on the stage's output
}

// Key returns the key of the stage's output.
func (s Stage) Key() string { return cmp.Or(s.OutputKey, s.Name) }

// All returns the agents of the stage and their sub-agents, in the order in which they begin.
func (s Stage) All() []Agent {
	all := withSubs(s.Agents)
	for _, extra := range []*Agent{s.Synthesis, s.Review} {
		if extra != nil {
			all = append(all, *extra)
		}
	}
	return all
}

// Contract returns the requirements for the text that the stage hands on. The zero value requires nothing.
func (s Stage) Contract() Contract {
	switch {
	case s.Synthesis != nil:
		return s.Synthesis.Contract
	case len(s.Agents) > 0:
		return s.Agents[0].Contract
	}
	return Contract{}
}

// Steers reports whether the stage's output decides where its chain goes.
func (s Stage) Steers() bool {
	r := s.Routing
	if len(r.Rules) > 0 || r.DefaultNext != "" || r.LoopTarget != "" || r.Review != nil || s.OutputKey != "" || s.PostProcess != "" {
		return true
	}
	for _, a := range s.Agents {
		row, _ := agent.LookupType(a.Type)
		if row.JSON || a.Contract.Asks() {
			return true
		}
	}
	return s.Synthesis != nil && s.Synthesis.Contract.Asks()
}
