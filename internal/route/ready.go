package route

import "slices"

// ready returns the stages that may start now.
func (w Walk) ready() []int {
	switch {
	case w.End != "" || w.Back > 0:
		return nil
	case !w.Graph():
		if w.running() || w.Next >= len(w.Chain.Stages) {
			return nil
		}
		return []int{w.Next}
	}
	var out []int
	for n := range w.Chain.Stages {
		if w.State.Stages[n] == "" && w.unblocked(n) {
			out = append(out, n)
		}
	}
	return out
}

// unblocked reports whether everything that a stage waits for is done.
func (w Walk) unblocked(n int) bool {
	routing := w.Chain.Stages[n].Routing
	succeeded := func(name string) bool { return w.State.Stages[w.index(name)] == Succeeded }
	switch {
	case len(routing.Requires) == 0:
	case routing.JoinAny:
		if !slices.ContainsFunc(routing.Requires, succeeded) {
			return false
		}
	default:
		for _, name := range routing.Requires {
			if !succeeded(name) {
				return false
			}
		}
	}
	for _, name := range routing.After {
		if m := w.index(name); !w.over(m) {
			return false
		}
	}
	return true
}

// over reports whether a stage has ended, or can no longer start in this pass.
func (w Walk) over(n int) bool {
	switch w.State.Stages[n] {
	case Succeeded, Failed:
		return true
	case Running, Asking:
		return false
	}
	routing := w.Chain.Stages[n].Routing
	lost := func(name string) bool {
		m := w.index(name)
		return w.State.Stages[m] != Succeeded && w.over(m)
	}
	if len(routing.Requires) == 0 {
		return false
	}
	if routing.JoinAny {
		return !slices.ContainsFunc(routing.Requires, func(name string) bool { return !lost(name) })
	}
	return slices.ContainsFunc(routing.Requires, lost)
}
