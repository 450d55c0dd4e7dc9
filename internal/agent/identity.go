package agent

import (
	"fmt"
	"slices"
	"strings"
)

// Identity is who somebody is, as the channel has checked it by which he came.
type Identity struct {
	Name string `json:"name"`
	// Groups are the groups and roles that he has.
	Groups []string `json:"groups,omitempty"`
	// Channel has checked all of this.
	Channel string `json:"channel"`
}

// The channels that check who somebody is.
const (
	ChannelCLI     = "cli"     // by the user of the operating system
	ChannelProgram = "program" // a Go program that uses the client
	ChannelHTTP    = "http"    // by a token of the HTTP API
	ChannelMCP     = "mcp"     // as one of those, and an agent or editor speaks for him
)

// maxGroups bounds the groups of an identity: it goes into history with each decision.
const maxGroups = 200

// Check says what is wrong with an identity. Nil is right: nobody was checked.
func (i *Identity) Check() error {
	switch {
	case i == nil:
		return nil
	case i.Name == "" || i.Channel == "":
		return fmt.Errorf(`"identity" has no name, or no channel that has checked it`)
	case len(i.Groups) > maxGroups:
		return fmt.Errorf(`"identity" has %d groups; %d are possible`, len(i.Groups), maxGroups)
	}
	for _, text := range append([]string{i.Name, i.Channel}, i.Groups...) {
		if err := CheckBy(text); err != nil {
			return fmt.Errorf(`"identity": %.40q: %w`, text, err)
		}
	}
	return nil
}

// Person marks the name of a person in a list of groups and roles.
const Person = "@"

// Among reports whether a list names the person: by a group or a role, or as @name. Only
// there is a name a name, so that nobody is in a group because he is called like it.
func (i *Identity) Among(list []string) bool {
	return i != nil && slices.ContainsFunc(list, func(entry string) bool {
		if name, person := strings.CutPrefix(entry, Person); person {
			return name == i.Name
		}
		return slices.Contains(i.Groups, entry)
	})
}

// Named is the name of who does something: as he gives it, with the one that was checked
// if that is another.
func (i *Identity) Named(by string) string {
	switch {
	case i == nil || i.Name == by:
		return by
	case by == "":
		return i.Name
	}
	return fmt.Sprintf("%s (%s)", by, i.Name)
}
