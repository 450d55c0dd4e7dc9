package workflows

import (
	"encoding/json"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Decide says what becomes of a call that waits for a person. Exactly one of Approved, Ask
// and HandTo is set.
type Decide struct {
	CallID   string `json:"call_id"`
	Approved *bool  `json:"approved,omitempty"`
	// Arguments are approved in the place of those that the agent has written.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Ask puts a question to the agent in the place of the call, which is not made: the agent
	// answers, and may ask for the call again.
	Ask string `json:"ask,omitempty"`
	// HandTo leaves the decision to a group, a role, or a person as @name.
	HandTo string `json:"hand_to,omitempty"`
	By     string `json:"by,omitempty"` // a name that nobody has checked
	Reason string `json:"reason,omitempty"`
	// Digest is that of the call that the person has seen. A decision about another one
	// is refused; "" = it is about whichever waits.
	Digest string `json:"digest,omitempty"`
	// Identity is who decides, as the channel has checked it; nil = it has not.
	Identity *agent.Identity `json:"identity,omitempty"`
}
