package configuration

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/kit/spell"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/route"
)

// chart is a chain with the routes between its stages.
type chart struct {
	*config.Chain
	names []string    // of the stages
	walk  route.Chain // as it is walked
}

func chartOf(c *config.Chain) chart {
	out := chart{Chain: c, walk: route.Chain{Bounds: plannedBounds(c.Bounds, config.Budgets{}, 0)}}
	for _, s := range c.Stages {
		f, _ := stageFlow(s)
		out.names = append(out.names, s.Name)
		skeleton := plan.StageSkeleton{Name: s.Name, OutputKey: f.OutputKey, Routing: stageRouting(s, c.Interrupts)}
		out.walk.Stages = append(out.walk.Stages, skeleton)
	}
	return out
}

// loops reports whether the chain may go back: by a rule, for another pass, or with an answer. Error routes do not
// count.
func (c chart) loops() bool {
	for i := range c.names {
		for _, e := range c.walk.WaysFrom(i) {
			jump := e.Kind == route.EdgeRule || e.Kind == route.EdgeDefault || e.Kind == route.EdgeLoop || e.Kind == route.EdgeApproved ||
				e.Kind == route.EdgeSentBack
			if jump && slices.Contains(c.names[:i+1], e.To) {
				return true
			}
		}
	}
	return slices.ContainsFunc(c.resumeStages(), func(name string) bool {
		i := slices.Index(c.names, name)
		return i >= 0 && i+1 < len(c.names)
	})
}

// longest returns the sum of the stages' needs, by index, on the longest path through the chain that never goes back.
// For a graph it is the sum of all stages.
func (c chart) longest(needs []int) (sum int) {
	rest := make([]int, len(needs)+1) // from a stage to the end
	for i, need := range slices.Backward(needs) {
		for _, e := range c.walk.WaysFrom(i) {
			next := slices.Index(c.names, e.To)
			if e.To == plan.TargetConfirmation {
				next = i + 1 // after approval
			}
			if next > i {
				rest[i] = max(rest[i], rest[next])
			}
		}
		rest[i] += need
		sum += need
	}
	if c.walk.Graph() {
		return sum
	}
	return rest[0]
}

// targets are the routing targets that are not stages.
var targets = []string{plan.TargetEnd, plan.TargetClarification, plan.TargetConfirmation}

// validate checks the chain's routes.
func (c chart) validate(p path, v *validator) {
	c.validateOutputs(p, v)
	for i := range c.names {
		at := p.Key("stages").Index(i)
		c.validateTargets(at, v, i)
		c.validateWaits(at, v, i)
	}
	validateBounds(c.Bounds, p.Key("bounds"), v, c)
	validateInterrupts(c.Interrupts, p.Key("interrupts"), v, c)
	cycle := c.cycle()
	if cycle != nil {
		v.Errorf(p.Key("stages"), "these stages wait for each other: %s", strings.Join(cycle, " → "))
	}
	reached := c.reached()
	for i, name := range c.names {
		if !reached[name] && !c.walk.Graph() {
			v.Add(config.SeverityWarning, p.Key("stages").Index(i), "the chain never reaches the stage %q", name)
		}
	}
	if cycle == nil {
		c.validateEnd(p, v, reached)
	}
}

// validateEnd finds reachable stages from which only a failure, a limit or people lead to an end.
func (c chart) validateEnd(p path, v *validator, reached map[string]bool) {
	ends := map[string]bool{} // stages from which the chain reaches an end
	for grown := true; grown; {
		grown = false
		for i, name := range c.names {
			if !ends[name] && slices.ContainsFunc(c.walk.WaysFrom(i), func(e route.Edge) bool {
				to := c.asked(i, e.To)
				known := slices.Contains(c.names, to) // an unknown target is reported elsewhere
				return e.Kind != route.EdgeError && e.Kind != route.EdgeSentBack && (ends[to] || !known)
			}) {
				ends[name], grown = true, true
			}
		}
	}
	var stuck []string
	for i, name := range c.names {
		if reached[name] && !ends[name] && !c.repeatsQuestion(i) {
			stuck = append(stuck, name)
		}
	}
	if len(stuck) > 0 {
		v.Add(config.SeverityWarning, p.Key("stages"),
			"the chain cannot reach an end from these stages: %s. They repeat until a limit is reached or an agent's output ends the chain",
			strings.Join(stuck, ", "))
	}
}

// asked returns the target of a route from the i-th stage. If the route asks people, the target is the stage that
// continues with the answer.
func (c chart) asked(i int, target string) string {
	r := c.walk.Stages[i].Routing
	switch {
	case target != plan.TargetClarification && target != plan.TargetConfirmation:
		return target
	case target == plan.TargetConfirmation && r.OnApprove != "": // the confirmation is a gate
		return c.names[i]
	}
	return cmp.Or(r.Resume[target], plannedInterrupts(c.Interrupts).Of(target).Resume, c.names[i])
}

// repeatsQuestion reports whether every answer to the i-th stage's question leads to the same question again.
func (c chart) repeatsQuestion(i int) bool {
	r := c.walk.Stages[i].Routing
	asks := r.DefaultNext == plan.TargetClarification || r.DefaultNext == plan.TargetConfirmation && r.OnApprove == ""
	to := slices.Index(c.names, c.asked(i, r.DefaultNext))
	return asks && len(r.Rules) == 0 && to >= 0 && to <= i
}

// validateOutputs finds stages with the same output key. Stages with the same name are reported elsewhere.
func (c chart) validateOutputs(p path, v *validator) {
	key := func(s plan.StageSkeleton) string { return cmp.Or(s.OutputKey, s.Name) }
	for i, s := range c.walk.Stages {
		first := slices.IndexFunc(c.walk.Stages, func(other plan.StageSkeleton) bool { return key(other) == key(s) })
		if c.names[first] != c.names[i] {
			at := p.Key("stages").Index(i)
			v.Errorf(flowPath(c.Stages[i], at, "output_key"), "output key %q is already used by stages[%d]", key(s), first)
		}
	}
}

// validateTargets checks the targets in the i-th stage's routing.
func (c chart) validateTargets(p path, v *validator, i int) {
	s, r := c.Stages[i], c.walk.Stages[i].Routing
	for n, rule := range r.Rules {
		c.validateTarget(flowPath(s, p, "routing_rules").Index(n).Key("target"), v, i, rule.Target)
	}
	for key, target := range map[string]string{"default_next": r.DefaultNext, "error_next": r.ErrorNext, "loop_target": r.LoopTarget} {
		c.validateTarget(flowPath(s, p, key), v, i, target)
	}
	c.validateAnswers(p, v, i)
}

// validateAnswers checks where answers to questions of the i-th stage lead.
func (c chart) validateAnswers(p path, v *validator, i int) {
	s, r := c.Stages[i], c.walk.Stages[i].Routing
	f, _ := stageFlow(s)
	at := flowPath(s, p, "on_approve")
	switch {
	case f.OnApprove == "":
	case !r.Leads(plan.TargetConfirmation):
		v.Errorf(at, "on_approve requires routing_rules or default_next with the target confirmation")
	case f.OnApprove == plan.TargetClarification || f.OnApprove == plan.TargetConfirmation:
		v.Errorf(at, "an approval cannot lead to another question: use a stage or end")
	default:
		c.validateTarget(at, v, i, f.OnApprove)
	}
	for key, name := range flowResumeStages(f) {
		if name != "" {
			v.stage(flowPath(s, p, key), name, c)
		}
	}
	if r.Review != nil && slices.Index(c.names, r.Review.Back) > i {
		v.Errorf(p.Key("agent_review"),
			"rejected work would continue with stage %q: set agent_review_resume_stage to this stage or an earlier one", r.Review.Back)
	}
	if c.repeatsQuestion(i) {
		v.Add(config.SeverityWarning, flowPath(s, p, "default_next"),
			"every answer leads back to the stage %q, which asks the same question: the chain ends after 100 questions", c.asked(i, r.DefaultNext))
	}
}

// resumeStages returns all resume stages that the chain or its stages name.
func (c chart) resumeStages() []string {
	all := slices.Collect(maps.Values(interruptResumeStages(c.Interrupts)))
	for _, s := range c.walk.Stages {
		all = slices.AppendSeq(all, maps.Values(s.Routing.Resume))
	}
	return all
}

// validateTarget checks one target of the i-th stage. An empty target means none. The stages of a graph start as soon
// as they can, so a target cannot jump forward.
func (c chart) validateTarget(p path, v *validator, i int, target string) {
	switch to := slices.Index(c.names, target); {
	case target == "" || slices.Contains(targets, target):
	case to < 0:
		v.Errorf(p, "unknown target %q%s; available: the stages, and %s", target,
			spell.DidYouMean(target, slices.Concat(c.names, targets)), strings.Join(targets, ", "))
	case c.walk.Graph() && to > i:
		v.Errorf(p, "%q is a later stage, which a chain with requires or after reaches by itself: use an earlier stage, or one of %s",
			target, strings.Join(targets, ", "))
	}
}

// validateWaits checks the stages that the i-th stage waits for.
func (c chart) validateWaits(p path, v *validator, i int) {
	r := c.walk.Stages[i].Routing
	for key, names := range map[string][]string{"requires": r.Requires, "after": r.After} {
		for n, name := range names {
			at := flowPath(c.Stages[i], p, key).Index(n)
			switch known := v.stage(at, name, c); {
			case !known: // reported already
			case name == c.names[i]:
				v.Errorf(at, "stage %q cannot wait for itself", name)
			case slices.Index(names, name) < n:
				v.Errorf(at, "stage %q is listed twice", name)
			}
		}
	}
}

// stage reports whether the chain has a stage of that name, and adds a finding if not.
func (v *validator) stage(p path, name string, c chart) bool {
	known := slices.Contains(c.names, name)
	switch {
	case name == "":
		v.Errorf(p, "a stage is required")
	case !known:
		v.Errorf(p, "unknown stage %q%s", name, spell.Hint(name, c.names))
	}
	return known && name != ""
}

// cycle returns a path on which stages wait for each other in a circle, or nil if there is none. A stage that waits for
// itself is reported elsewhere.
func (c chart) cycle() []string {
	waits := map[string][]string{}
	for _, s := range c.walk.Stages {
		waits[s.Name] = slices.Concat(s.Routing.Requires, s.Routing.After)
	}
	done := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(waits)) {
		if cycle := cycleFrom([]string{name}, waits, done); cycle != nil {
			return cycle
		}
	}
	return nil
}

// cycleFrom extends a path on which each stage waits for the next.
func cycleFrom(way []string, waits map[string][]string, done map[string]bool) []string {
	name := way[len(way)-1]
	if done[name] {
		return nil
	}
	for _, next := range waits[name] {
		if next == name {
			continue
		}
		if begin := slices.Index(way, next); begin >= 0 {
			return append(slices.Clone(way[begin:]), next)
		}
		if cycle := cycleFrom(append(slices.Clone(way), next), waits, done); cycle != nil {
			return cycle
		}
	}
	done[name] = true
	return nil
}

// reached returns the stages that the chain can reach, including those that answers lead to.
func (c chart) reached() map[string]bool {
	reached := map[string]bool{route.Start: true}
	for _, name := range c.resumeStages() {
		reached[name] = true
	}
	edges := c.walk.Ways()
	for grown := true; grown; {
		grown = false
		for _, e := range edges {
			if reached[e.From] && !reached[e.To] {
				reached[e.To], grown = true, true
			}
		}
	}
	return reached
}
