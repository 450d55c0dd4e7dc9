package agent

import (
	"errors"
)

// ConversationRequest starts a conversation, from our CLI, the Temporal CLI and
// the Temporal UI alike. It holds no secrets.
type ConversationRequest struct {
	// Agent is the name of the agent's definition; required.
	Agent string `json:"agent"`
	// Provider replaces the agent's model: an llm_providers entry or "provider:model".
	Provider string `json:"provider,omitempty"`
	// Project is whose agent it is, where it is made at run time; "" = the default one's.
	Project string `json:"project,omitempty"`
}

const conversationFields = `{"agent", "provider", "project"}`

// ParseConversationRequest reads a conversation's arguments as ParseRequest does
// an investigation's.
func ParseConversationRequest(inputs ...[]byte) (ConversationRequest, error) {
	var req ConversationRequest
	if err := parseInput(&req, conversationFields, inputs...); err != nil {
		return req, err
	}
	if req.Agent == "" {
		return req, errors.New(`"agent" is missing: give the name of an agent's definition`)
	}
	return req, errors.Join(tooLong(field{"agent", req.Agent}, field{"provider", req.Provider}, field{"project", req.Project})...)
}
