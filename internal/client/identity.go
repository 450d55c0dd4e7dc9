package client

import (
	"os/user"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Identity is a user of the system, authenticated by the channel.
type Identity = agent.Identity

// LocalIdentity returns the user of the operating system with the names of the user's groups.
func LocalIdentity() (Identity, error) {
	me, err := user.Current()
	if err != nil {
		return Identity{}, err
	}
	out := Identity{Name: me.Username, Channel: agent.ChannelCLI}
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
