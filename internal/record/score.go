package record

import (
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Score is one judgement of an investigation, which is made after the investigation has ended.
type Score struct {
	Investigation string       `json:"investigation"`
	N             int          `json:"n"` // from 1, because a score can be requested again
	Status        agent.Status `json:"status"`
	Score         *int         `json:"score,omitempty"` // 0 to 100; nil means none
	Judgement
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
	// Run is the run of the workflow that judges.
	Run string `json:"-"`
}

// Judgement holds the details of a score.
type Judgement struct {
	// Tags name the investigation's failures (spec: pipeline, "Around the result").
	Tags       []string `json:"failure_tags,omitempty"`
	Assessment string   `json:"assessment,omitempty"`
	// MissingTools says which tools would have helped.
	MissingTools string `json:"missing_tools,omitempty"`
	// PromptHash is the hash of the judge's instructions. Scores with different hashes are not comparable.
	PromptHash string      `json:"prompt_hash,omitempty"`
	Execution  string      `json:"execution,omitempty"` // whose transcript this is
	Model      string      `json:"model,omitempty"`
	By         string      `json:"by,omitempty"` // who requested it; empty means the chain
	Usage      agent.Usage `json:"usage,omitzero"`
	Error      string      `json:"error,omitempty"`
}
