// Package plan is a chain, fully resolved: what the configuration makes of a request,
// what the store keeps of it, and the part of it that workflows steer by.
package plan

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/value"
)

// Duration is a time.Duration that is written as text ("90s") in JSON.
type Duration = value.Duration

// Plan is a chain, fully resolved: every inheritance applied, every default
// filled in. It is recorded once, at the start, and nothing later looks at live
// configuration. It holds no secret: only names of environment variables.
type Plan struct {
	// Version is what a program must know to run the plan: see Versioned.
	Version   int    `json:"version"`
	Chain     string `json:"chain"`
	AlertType string `json:"alert_type,omitempty"`
	Runbook   string `json:"runbook,omitempty"`
	// Store is the identity of the store that holds what the plan is for: in any
	// other one, there is no such plan.
	Store string `json:"store,omitempty"`
	// Project is whose work it is. Plans from before there were rules of a project do not say.
	Project string `json:"project,omitempty"`
	// Environment is what the configuration calls its own; "" = nothing.
	Environment string `json:"environment,omitempty"`
	// Conversation: the plan of a conversation. Its one stage has one agent, and
	// there is no task: people say what they want.
	Conversation bool `json:"conversation,omitempty"`
	// AlertMasking is what is masked in the request's data; nil = nothing.
	AlertMasking *Masking `json:"alert_masking,omitempty"`
	// MaxData is how large the request's data may be without being attached, in bytes; 0 = any size.
	MaxData int `json:"max_data,omitempty"`
	// Timeout bounds the investigation; time paused does not count. 0 = none.
	Timeout Duration `json:"timeout,omitempty"`
	// Conclude is how long the investigation and its stages have to conclude after their time limits; 0 = two minutes,
	// in plans that are older than the setting. See Grace.
	Conclude   Duration   `json:"conclude,omitempty"`
	Bounds     Bounds     `json:"bounds,omitzero"`
	Interrupts Interrupts `json:"interrupts,omitzero"`
	// Dedup says which requests ask for the same.
	Dedup  Dedup   `json:"dedup,omitzero"`
	Stages []Stage `json:"stages"`
	// Summary sums the investigation up for people in a hurry, and Scoring judges it, each with one agent; nil = nobody does.
	Summary *Stage `json:"summary,omitempty"`
	Scoring *Stage `json:"scoring,omitempty"`
}

// Version is the newest plan version this program knows. Plans that need none of it are still version 1, so that older
// programs run them. It grows with every change that a program from before must not overlook: a restriction that it
// would not keep to, a kind of stage that it would run in another way.
const Version = versionTaint

const (
	versionPlain = 1
	versionGates = 2
	// Reviews, agents that dispatch others, tools that a request names, models that are given up soon, a summary, a score, evidence.
	versionWhole = 3
	// What agents that have read untrusted text may not do.
	versionTaint = 4
)

// Versioned is the plan with the oldest version that can run it.
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
	return p
}

// ErrNewer: a plan was made by a newer program than this one.
var ErrNewer = errors.New("the plan is of a newer version")

// UnmarshalJSON reads a plan, leniently, unless it is of a newer version: then the
// rest of it may mean anything.
func (p *Plan) UnmarshalJSON(data []byte) error {
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return err
	}
	if head.Version > Version {
		return fmt.Errorf("%w: %d, and this program knows %d", ErrNewer, head.Version, Version)
	}
	type plain Plan
	return json.Unmarshal(data, (*plain)(p))
}

// StageOf is the stage that a run is one of: of "dig" and "dig#2" it is "dig".
func (p Plan) StageOf(run string) (Stage, bool) {
	name, _, _ := strings.Cut(run, "#")
	i := slices.IndexFunc(p.Stages, func(s Stage) bool { return s.Name == name })
	if i < 0 {
		return Stage{}, false
	}
	return p.Stages[i], true
}

// CollectsEvidence reports whether agents of any stage name what their replies rest on. Then all agents are told of it.
func (p Plan) CollectsEvidence() bool {
	return slices.ContainsFunc(p.Stages, func(s Stage) bool { return s.Evidence })
}

// Attach has all agents read the request's data in pages.
func (p *Plan) Attach() {
	for _, s := range p.AllStages() {
		attach(s.Agents)
		for _, extra := range []*Agent{s.Synthesis, s.Review} {
			if extra != nil {
				extra.Attached = true
			}
		}
	}
}

func attach(agents []Agent) {
	for n := range agents {
		agents[n].Attached = true
		if o := agents[n].Orchestrator; o != nil {
			attach(o.Agents)
		}
	}
}

// MainQueue is the task queue that workers serve unless they are told otherwise.
const MainQueue = "inquest"

// SuccessPolicy says how many of a stage's agents must succeed.
type SuccessPolicy string

// The success policies of a stage.
const (
	SuccessAny SuccessPolicy = "any"
	SuccessAll SuccessPolicy = "all"
)

// Stage is one step of a plan.
type Stage struct {
	Name          string        `json:"name"`
	SuccessPolicy SuccessPolicy `json:"success_policy"`
	Timeout       Duration      `json:"timeout,omitempty"`
	// Agents run in parallel; replicas are already spelled out (Name-1 … Name-N).
	Agents []Agent `json:"agents"`
	// Synthesis joins the work of several agents; nil for a single one.
	Synthesis *Agent `json:"synthesis,omitempty"`
	// Review looks at the stage's result, as Routing.Review says; nil = no agent does.
	Review *Agent `json:"review,omitempty"`
	// OutputKey names the stage's output for other stages; "" = the stage's name.
	OutputKey string  `json:"output_key,omitempty"`
	Routing   Routing `json:"routing,omitzero"`
	// Evidence: the agents' replies name what they rest on.
	Evidence bool `json:"evidence,omitempty"`
	Hooks
}

// Hooks name functions of the workers' program that work on a stage; "" = none.
type Hooks struct {
	PreProcess  string `json:"pre_process,omitempty"`  // before the agents
	PostProcess string `json:"post_process,omitempty"` // on what the stage hands on
}

// Key is what the stage hands on under.
func (s Stage) Key() string { return cmp.Or(s.OutputKey, s.Name) }

// All are the agents of the stage and those that they may dispatch, in the order in which they
// begin.
func (s Stage) All() []Agent {
	all := withSubs(s.Agents)
	for _, extra := range []*Agent{s.Synthesis, s.Review} {
		if extra != nil {
			all = append(all, *extra)
		}
	}
	return all
}

// Steers reports whether what the stage hands on decides where its chain goes.
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
