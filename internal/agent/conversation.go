package agent

import (
	"errors"
)

// ConversationRequest starts a conversation from our CLI, the Temporal CLI or the Temporal UI. It holds no secrets.
type ConversationRequest struct {
	// Agent is the name of the agent's definition; required.
	Agent string `json:"agent"`
	// Provider replaces the agent's model: an llm_providers entry or "provider:model".
	Provider string `json:"provider,omitempty"`
	// Project is the project of an agent that was made at run time. Empty means the default project.
	Project string `json:"project,omitempty"`
}

const conversationFields = `{"agent", "provider", "project"}`

// ParseConversationRequest parses a conversation's arguments, as ParseRequest does for an investigation.
func ParseConversationRequest(inputs ...[]byte) (ConversationRequest, error) {
	var req ConversationRequest
	if err := parseInput(&req, conversationFields, inputs...); err != nil {
		return req, err
	}
	if req.Agent == "" {
		return req, errors.New(`"agent" is missing: give the name of an agent definition`)
	}
	return req, errors.Join(tooLong(field{"agent", req.Agent}, field{"provider", req.Provider}, field{"project", req.Project})...)
}
