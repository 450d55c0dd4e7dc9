package config

import (
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// Approvals say who may decide on calls that need a person.
type Approvals struct {
	// Approvers are the groups, roles and people (as @name) who may decide. The channel by which they come verifies who
	// they are; for starter it is the user of the operating system. A decision by an unverified person is refused.
	Approvers []string `yaml:"approvers" default:"everybody who reaches the agent"`
	// ApprovalsNeeded is how many different people have to approve a call. One person is enough to deny it.
	ApprovalsNeeded *int `yaml:"approvals_needed" min:"1" max:"10" default:"1"`
	// ApproveOwn lets people approve the calls of investigations that they requested, and of conversations that they
	// take part in.
	ApproveOwn *bool `yaml:"approve_own" default:"true"`
	// EscalateTo are further groups, roles and people who may decide. Each is added when nobody has decided within
	// another approval_timeout.
	EscalateTo []string `yaml:"escalate_to" default:"none"`
}

func (a Approvals) check(p path, v *validator) {
	for key, names := range map[string][]string{"approvers": a.Approvers, "escalate_to": a.EscalateTo} {
		for i, name := range names {
			if strings.TrimPrefix(name, agent.Person) == "" || agent.CheckBy(name) != nil {
				v.Errorf(p.Key(key).Index(i), "the name of a group or a role is required, or @ and that of a person")
			}
		}
	}
	if len(a.EscalateTo) > 0 && len(a.Approvers) == 0 {
		v.Errorf(p.Key("escalate_to"), "it needs approvers beside it, whom those come after")
	}
}

func (a Approvals) plan() plan.Approvers {
	out := plan.Approvers{Who: a.Approvers, NotOwn: a.ApproveOwn != nil && !*a.ApproveOwn, EscalateTo: a.EscalateTo}
	if n := value(a.ApprovalsNeeded); n > 1 {
		out.Needed = n
	}
	return out
}
