package plan

// Approvers say who decides on a call that needs a person. With the zero value, whoever
// reaches the agent does, alone.
type Approvers struct {
	// Who are groups and roles that may decide, and people, as @name; empty = everybody.
	Who []string `json:"who,omitempty"`
	// Needed is how many different people have to approve; 0 = one.
	Needed int `json:"approvals_needed,omitempty"`
	// NotOwn: whoever has asked for the work may not approve its calls.
	NotOwn bool `json:"not_own,omitempty"`
	// EscalateTo may decide, too, one after the other, as the time of those before is up.
	EscalateTo []string `json:"escalate_to,omitempty"`
}

// Checks reports whether it matters who decides.
func (a Approvers) Checks() bool { return len(a.Who) > 0 || a.Needed > 1 || a.NotOwn }

// Over lays what is said of fewer calls over what is said of more. It takes no rule away:
// of two numbers the larger one holds, and who must not approve stays so.
func (a Approvers) Over(more Approvers) Approvers {
	if len(a.Who) == 0 {
		a.Who, a.EscalateTo = more.Who, more.EscalateTo
	}
	a.Needed, a.NotOwn = max(a.Needed, more.Needed), a.NotOwn || more.NotOwn
	return a
}
