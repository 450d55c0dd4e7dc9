package agent

import (
	"fmt"
	"slices"
	"strings"
)

// Identity identifies a person, as verified by the channel that the person used.
type Identity struct {
	Name string `json:"name"`
	// Groups are the person's groups and roles.
	Groups []string `json:"groups,omitempty"`
	// Channel is the channel that verified the identity.
	Channel string `json:"channel"`
}

// The channels that verify identities.
const (
	ChannelCLI     = "cli"     // by the user of the operating system
	ChannelProgram = "program" // a Go program that uses the client
	ChannelHTTP    = "http"    // by a token of the HTTP API
	ChannelMCP     = "mcp"     // like http, through an agent or editor that acts for the person
	ChannelSlack   = "slack"   // by Slack, as a user of the configured workspace
)

// maxGroups limits the groups of an identity, which is written to history with each decision.
const maxGroups = 200

// Check returns an error for an invalid identity. A nil identity is valid: the person is unverified.
func (i *Identity) Check() error {
	switch {
	case i == nil:
		return nil
	case i.Name == "" || i.Channel == "":
		return fmt.Errorf(`"identity" has no name or no channel: set both`)
	case len(i.Groups) > maxGroups:
		return fmt.Errorf(`"identity" has %d groups; the limit is %d`, len(i.Groups), maxGroups)
	}
	for _, text := range append([]string{i.Name, i.Channel}, i.Groups...) {
		if err := CheckBy(text); err != nil {
			return fmt.Errorf(`"identity": %.40q: %w`, text, err)
		}
	}
	return nil
}

// Person is the prefix of a person's name in a list of groups and roles.
const Person = "@"

// Among reports whether a list contains the person, by a group, a role or @name. Names only match entries with @, so a
// person's name never counts as a group.
func (i *Identity) Among(list []string) bool {
	return i != nil && slices.ContainsFunc(list, func(entry string) bool {
		if name, person := strings.CutPrefix(entry, Person); person {
			return name == i.Name
		}
		return slices.Contains(i.Groups, entry)
	})
}

// Named returns the name to show for a person: the given name, with the verified name if that differs.
func (i *Identity) Named(by string) string {
	switch {
	case i == nil || i.Name == by:
		return by
	case by == "":
		return i.Name
	}
	return fmt.Sprintf("%s (%s)", by, i.Name)
}
