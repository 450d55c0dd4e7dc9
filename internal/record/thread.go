package record

import (
	"encoding/json"
	"time"
)

// Thread is a conversation, open or closed.
type Thread struct {
	ID         string
	WorkflowID string // the thread's name
	Agent      string
	Project    string // empty means the default project
	About      string // ID of the investigation that it is about; empty means none
	Turns      int
	StartedAt  time.Time
	ActiveAt   time.Time  // end of the last turn
	EndedAt    *time.Time // nil: no end was recorded
}

// Turn is one message in a conversation, or a heartbeat, and how it was answered. The texts are in the transcript.
type Turn struct {
	N         int       `json:"-"` // from 1
	Message   string    `json:"-"` // ID of the message; empty means a heartbeat
	Run       string    `json:"-"` // run of the workflow that recorded it
	Author    string    `json:"author,omitempty"`
	Execution string    `json:"execution"`
	First     int       `json:"first"` // the turn's first iteration
	Last      int       `json:"last"`  // its last iteration
	At        time.Time `json:"at"`
	// Reply is the workflow's reply as JSON, without its text. If the turn failed, ErrorType and Error say why.
	Reply     json.RawMessage `json:"reply,omitempty"`
	ErrorType string          `json:"error_type,omitempty"`
	Error     string          `json:"error,omitempty"`
}

// ThreadFilter selects conversations. The zero value of a field selects all.
type ThreadFilter struct {
	Projects []string // nil means all projects, and an empty list means none
	Agent    string
	About    string
	Words    string // only turns with all of these words; needed by FindTurns
	Before   Thread // only those that started before it, which has StartedAt and ID
	Limit    int
}

// FoundTurn is a turn that a search found, with its texts.
type FoundTurn struct {
	Thread Thread
	Turn   Turn
	Texts  []string // the messages and the replies, in order
}
