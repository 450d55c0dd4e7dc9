package transcript

import (
	"errors"
	"fmt"
	"time"

	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// Step holds all rows that one activity appends, in one transaction.
type Step struct {
	Scope
	Writer
	// Rows are in key order. The first row's key identifies the step.
	Rows []Row
	// Intent is written before the rows as a separate step, unless it exists already; nil means none.
	Intent *Row
	// Requires lists entries of the investigation that the writer knows of. A store that lacks one writes nothing and returns a
	// BehindError.
	Requires []Mark
	// Recall is the agent definition that may find these texts with conversation_search; empty means none.
	Recall string
}

// Row is an entry that has not been appended yet.
type Row struct {
	Key
	Kind Kind
	Body
	At time.Time // of the event; zero means when it is appended
	// Acts are added to the audit trail together with the row. They belong to its investigation and, unless they name another, its
	// execution.
	Acts []audit.Act
}

// Known is the stored state before an activity makes a step.
type Known struct {
	Step       []Entry  // the step, if the same run has appended it
	Log        []Entry  // entries of the execution, in key order
	Catalogues []string // hashes of its servers' catalogues, each a tool.Catalogue, sorted by server
	Unread     int      // unread letters for the execution, before a model call
}

// Live is the part of a reply that has arrived so far, for people to watch. If a local attempt at a reply finds a tail from its own
// try, it knows that another attempt has begun. A new attempt starts a new tail, and the finished reply replaces it.
type Live struct {
	Scope
	Iteration int    `json:"iteration"`
	Attempt   int    `json:"attempt"`
	Text      string `json:"text,omitempty"`
	Thinking  string `json:"thinking,omitempty"`
}

// ErrStaleRun means that another workflow run has taken over the execution after a Temporal reset. The old run must stop
// writing.
var ErrStaleRun = errors.New("replaced by a newer workflow run")

// BehindError means that the store lacks entries that were committed: it was restored from a backup, or lost its last commits in a
// failover.
type BehindError struct {
	Investigation string
	Missing       []Mark // at least one
}

func (e *BehindError) Error() string {
	return fmt.Sprintf("entries of %s that were already written are missing from the store: %d", e.Investigation, len(e.Missing))
}

// Letter is a message from a person to agents. It stays in the store until a model call reads it and quotes it in an entry of its
// execution.
type Letter struct {
	Investigation string
	Seq           int64 // order of an investigation's letters, from 1
	// Source is the workflow that accepted the letter: "" is the investigation, others are a stage's run or an execution. Ordinal
	// counts its letters, from 1.
	Source  string
	Ordinal int
	RunID   string // of the source
	// Agent and Stage are the recipients. Without an agent, all agents of the stage get the letter; without a stage, the first
	// stage that reads it.
	Agent string
	Stage string
	By    string
	Text  string
	At    time.Time
}
