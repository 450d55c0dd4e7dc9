package plan

// Approvers say who decides on a call that needs a person. The zero value lets any one person who can reach the agent
// decide.
type Approvers struct {
	// Who are groups and roles that may decide, and people, as @name. Empty means everybody.
	Who []string `json:"who,omitempty"`
	// Needed is how many different people have to approve. Zero means one.
	Needed int `json:"approvals_needed,omitempty"`
	// NotOwn means that people may not approve calls of work that they requested.
	NotOwn bool `json:"not_own,omitempty"`
	// EscalateTo may decide as well, one after the other, each after the previous one's time is up.
	EscalateTo []string `json:"escalate_to,omitempty"`
}

// Checks reports whether only certain people may decide.
func (a Approvers) Checks() bool { return len(a.Who) > 0 || a.Needed > 1 || a.NotOwn }

// Over merges a more specific rule over a more general one, and never weakens it: the larger number applies, and NotOwn
// stays set.
func (a Approvers) Over(more Approvers) Approvers {
	if len(a.Who) == 0 {
		a.Who, a.EscalateTo = more.Who, more.EscalateTo
	}
	a.Needed, a.NotOwn = max(a.Needed, more.Needed), a.NotOwn || more.NotOwn
	return a
}
