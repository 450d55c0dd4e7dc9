package record

import (
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Score is how an investigation was judged once. That has a life of its own: the investigation has ended before.
type Score struct {
	Investigation string       `json:"investigation"`
	N             int          `json:"n"` // from 1: it can be asked for again
	Status        agent.Status `json:"status"`
	Score         *int         `json:"score,omitempty"` // 0 to 100; nil = there is none
	Judgement
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
	// Run is that of the workflow that judges.
	Run string `json:"-"`
}

// Judgement is what there is to say of a score.
type Judgement struct {
	// Tags name what was wrong with the investigation (spec: pipeline, "Around the result").
	Tags       []string `json:"failure_tags,omitempty"`
	Assessment string   `json:"assessment,omitempty"`
	// MissingTools says which tools would have helped.
	MissingTools string `json:"missing_tools,omitempty"`
	// PromptHash is that of what the judge was told besides the investigation: scores with different ones do not compare.
	PromptHash string      `json:"prompt_hash,omitempty"`
	Execution  string      `json:"execution,omitempty"` // that the transcript has
	Model      string      `json:"model,omitempty"`
	By         string      `json:"by,omitempty"` // who asked for it; "" = the chain
	Usage      agent.Usage `json:"usage,omitzero"`
	Error      string      `json:"error,omitempty"`
}
