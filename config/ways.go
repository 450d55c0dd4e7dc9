package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/spell"
)

// targets are what routing may name besides stages.
var targets = []string{plan.TargetEnd, plan.TargetClarification, plan.TargetConfirmation}

// validate checks where the chain may go.
func (c chart) validate(p path, v *validator) {
	c.validateOutputs(p, v)
	for i := range c.names {
		at := p.Key("stages").Index(i)
		c.validateTargets(at, v, i)
		c.validateWaits(at, v, i)
	}
	c.Bounds.validate(p.Key("bounds"), v, c)
	c.Interrupts.validate(p.Key("interrupts"), v, c)
	if cycle := c.cycle(); cycle != nil {
		v.Errorf(p.Key("stages"), "these stages wait for each other: %s", strings.Join(cycle, " → "))
	}
	reached := c.reached()
	for i, name := range c.names {
		if !reached[name] && !c.graph {
			v.Add(SeverityWarning, p.Key("stages").Index(i), "no way of the chain leads to the stage %q", name)
		}
	}
}

// validateOutputs finds stages that hand on under one key. That two have one name
// is a finding of its own.
func (c chart) validateOutputs(p path, v *validator) {
	taken := map[string]int{}
	for i, f := range c.flows {
		key := f.outputKey(c.names[i])
		first, again := taken[key]
		switch {
		case !again:
			taken[key] = i
		case c.names[first] != c.names[i]:
			at := p.Key("stages").Index(i)
			v.Errorf(c.Stages[i].flowPath(at, "output_key"), "the output key %q is that of stages[%d]", key, first)
		}
	}
}

// validateTargets checks what the i-th stage's routing names.
func (c chart) validateTargets(p path, v *validator, i int) {
	s, f := c.Stages[i], c.flows[i]
	for n, r := range f.RoutingRules {
		c.validateTarget(s.flowPath(p, "routing_rules").Index(n).Key("target"), v, i, r.Target)
	}
	for key, target := range map[string]string{"default_next": f.DefaultNext, "error_next": f.ErrorNext, "loop_target": f.LoopTarget} {
		c.validateTarget(s.flowPath(p, key), v, i, target)
	}
}

// validateTarget checks one target of the i-th stage; "" is none. The stages of a
// graph start when they may, so nothing can send it forward.
func (c chart) validateTarget(p path, v *validator, i int, target string) {
	switch to := slices.Index(c.names, target); {
	case target == "" || slices.Contains(targets, target):
	case to < 0:
		v.Errorf(p, "no stage named %q%s; a target is a stage or one of %s", target,
			spell.DidYouMean(target, slices.Concat(c.names, targets)), strings.Join(targets, ", "))
	case c.graph && to > i:
		v.Errorf(p, "%q is further on, and a chain with requires or after goes there by itself: a target is a stage before, or one of %s",
			target, strings.Join(targets, ", "))
	}
}

// validateWaits checks what the i-th stage waits for.
func (c chart) validateWaits(p path, v *validator, i int) {
	for key, names := range map[string][]string{"requires": c.flows[i].Requires, "after": c.flows[i].After} {
		for n, name := range names {
			at := c.Stages[i].flowPath(p, key).Index(n)
			switch known := v.stage(at, name, c); {
			case !known: // reported already
			case name == c.names[i]:
				v.Errorf(at, "the stage %q cannot wait for itself", name)
			case slices.Index(names, name) < n:
				v.Errorf(at, "the stage %q is named twice", name)
			}
		}
	}
}

// stage reports whether the chain has a stage of that name, and says so if not.
func (v *validator) stage(p path, name string, c chart) bool {
	known := slices.Contains(c.names, name)
	switch {
	case name == "":
		v.Errorf(p, "a stage is required")
	case !known:
		v.Errorf(p, "the chain has no stage %q%s", name, spell.DidYouMean(name, c.names))
	}
	return known && name != ""
}

// cycle is a way along which stages wait for each other, from one of them back to
// it; nil = there is none. A stage that waits for itself is a finding of its own.
func (c chart) cycle() []string {
	waits := map[string][]string{}
	for i, f := range c.flows {
		waits[c.names[i]] = slices.Concat(f.Requires, f.After)
	}
	done := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(waits)) {
		if cycle := cycleFrom([]string{name}, waits, done); cycle != nil {
			return cycle
		}
	}
	return nil
}

// cycleFrom looks along a way, each stage of which waits for the next.
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
