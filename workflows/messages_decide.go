package workflows

import (
	"encoding/json"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Decide is a person's decision on a call that waits for one. Exactly one of Approved, Ask
// and HandTo is set.
type Decide struct {
	CallID   string `json:"call_id"`
	Approved *bool  `json:"approved,omitempty"`
	// Arguments replace those that the agent wrote, and are approved in their place.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Ask puts a question to the agent. The call is not made: the agent answers, and may request
	// the call again.
	Ask string `json:"ask,omitempty"`
	// HandTo delegates the decision to a group, a role, or a person as @name.
	HandTo string `json:"hand_to,omitempty"`
	By     string `json:"by,omitempty"` // an unverified name
	Reason string `json:"reason,omitempty"`
	// Digest is the digest of the call that the person saw. A decision about another call is
	// refused. If empty, the decision is about the call that currently waits.
	Digest string `json:"digest,omitempty"`
	// Identity is the decider's identity as verified by the channel. Nil means that it was not verified.
	Identity *agent.Identity `json:"identity,omitempty"`
}
