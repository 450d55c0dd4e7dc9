package plan

import "github.com/inquest-dev/inquest/internal/agent"

// Memory says what an investigation's agents get from earlier investigations of the project.
type Memory struct {
	// MaxInject is how many learnings are in prompts, and MaxKnown how many the agent that learns is shown.
	MaxInject int `json:"max_inject,omitempty"`
	MaxKnown  int `json:"max_known,omitempty"`
	// Embedding is the model that compares the meaning of texts. Nil means that only words are compared.
	Embedding *Embedding `json:"embedding,omitempty"`
	// Shown are the learnings in prompts, chosen when the plan is recorded. Problem says why they were found by their words only.
	Shown   []Learning `json:"shown,omitempty"`
	Problem string     `json:"problem,omitempty"`
	// Known are the earlier learnings that the agent that learns is shown, chosen when it begins.
	Known []Learning `json:"known,omitempty"`
	// Trial means that agents cannot look up earlier investigations, and that it does not count as a use of learnings to show them.
	Trial bool `json:"trial,omitempty"`
}

// LearningsFor returns the learnings in the prompts of agents with a pattern. Only agents that investigate have any.
func (p *Plan) LearningsFor(pattern agent.Pattern) []Learning {
	if p.Memory == nil || p.Conversation || pattern != agent.Iterating {
		return nil
	}
	return p.Memory.Shown
}

// Embedding is a model that turns texts into vectors. The worker that calls it reads the key from the environment variable
// APIKeyEnv.
type Embedding struct {
	Provider   string `json:"provider"`
	Model      string `json:"model"`
	BaseURL    string `json:"base_url,omitempty"`
	APIKeyEnv  string `json:"api_key_env,omitempty"`
	Dimensions int    `json:"dimensions,omitempty"` // zero means the model's own
}

// Learning is a learning as it was when it was shown to agents.
type Learning struct {
	ID       int64  `json:"id"`
	Kind     string `json:"kind"`
	Polarity string `json:"polarity"`
	Text     string `json:"text"`
	From     string `json:"from"` // the investigation that taught it
}
