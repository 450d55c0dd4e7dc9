package client

import (
	"os/user"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Identity is the user of the system, as the channel has checked it.
type Identity = agent.Identity

// LocalIdentity is the user of the operating system, with the names of his groups.
func LocalIdentity() (Identity, error) {
	me, err := user.Current()
	if err != nil {
		return Identity{}, err
	}
	out := Identity{Name: me.Username, Channel: agent.ChannelCLI}
	ids, err := me.GroupIds()
	if err != nil {
		return out, nil // he has a name, and is in no group that anybody knows of
	}
	for _, id := range ids {
		if group, err := user.LookupGroupId(id); err == nil {
			out.Groups = append(out.Groups, group.Name)
		}
	}
	return out, nil
}
