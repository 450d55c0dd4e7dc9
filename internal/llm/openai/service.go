package openai

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
)

// host returns the name of the service's host.
func (c *Client) host() string {
	u, err := url.Parse(c.guard.BaseURL)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// at reports whether the service is in one of some domains.
func (c *Client) at(domains ...string) bool {
	return slices.ContainsFunc(domains, func(domain string) bool { return strings.HasSuffix("."+c.host(), "."+domain) })
}

// stamped adds the service's host to a reply's state.
func (c *Client) stamped(state json.RawMessage) json.RawMessage {
	if len(state) == 0 {
		return nil
	}
	return append(fmt.Appendf(nil, `{"at":%q,`, c.host()), state[1:]...) // a non-empty object
}

// ours removes the states of other services from messages, even if they have a model of the same name: Groq refuses
// unknown fields, and no service can read what another one has encrypted.
func (c *Client) ours(messages []agent.Message) []agent.Message {
	out := slices.Clone(messages)
	for n, m := range out {
		var state struct {
			At string `json:"at"`
		}
		if m.ProviderState != nil && (json.Unmarshal(m.ProviderState, &state) != nil || state.At != c.host()) {
			out[n].ProviderState = nil
		}
	}
	return out
}
