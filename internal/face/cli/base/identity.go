package base

import (
	"os/user"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Identity returns the user of the terminal, or nil if the operating system cannot name one.
func Identity() *agent.Identity {
	who, err := LocalIdentity()
	if err != nil {
		return nil
	}
	return &who
}

// Person returns who makes a change under a name.
func Person(name string) agent.Identity {
	return agent.Identity{Name: Identity().Named(name), Channel: agent.ChannelCLI}
}

// UserName returns the name of the user who steers. Agents see it.
func UserName() string {
	me, err := user.Current()
	if err != nil {
		return ""
	}
	return me.Username
}

// LocalIdentity returns the user of the operating system with the names of the user's groups.
func LocalIdentity() (agent.Identity, error) {
	me, err := user.Current()
	if err != nil {
		return agent.Identity{}, err
	}
	out := agent.Identity{Name: me.Username, Channel: agent.ChannelCLI}
	ids, err := me.GroupIds()
	if err != nil {
		return out, nil // the user has a name, but no known groups
	}
	for _, id := range ids {
		if group, err := user.LookupGroupId(id); err == nil {
			out.Groups = append(out.Groups, group.Name)
		}
	}
	return out, nil
}
