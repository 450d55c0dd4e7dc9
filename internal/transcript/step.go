package transcript

import (
	"errors"
	"time"

	"github.com/inquest-dev/inquest/internal/audit"
)

// Step is what one activity appends: all of its rows, in one transaction.
type Step struct {
	Scope
	Writer
	// Rows are in key order; the first row's key is the identity of the step.
	Rows []Row
	// Intent goes before the rows as a step of its own, unless it is there; nil = none.
	Intent *Row
	// Recall is the agent (its definition) that may find what is said here by
	// conversation_search; "" = nobody may.
	Recall string
}

// Row is an entry that is not in the log yet.
type Row struct {
	Key
	Kind Kind
	Body
	At time.Time // when it happened; zero = when it is appended
	// Acts go into the audit trail with the row: of the investigation, and of the execution if they name none.
	Acts []audit.Act
}

// Known is what a store knows before an activity makes a step.
type Known struct {
	Step       []Entry  // the step, if the same run has appended it
	Log        []Entry  // entries of the execution, in key order
	Catalogues []string // hashes of what its servers offer, each a tool.Catalogue, sorted by server
	Unread     int      // letters for the execution, before a model call
}

// Live is the part of a reply that has arrived so far. People watch it; and a local attempt at a
// reply that finds one of its own try knows that another attempt has begun. A new attempt starts
// it afresh, and the finished reply replaces it.
type Live struct {
	Scope
	Iteration int    `json:"iteration"`
	Attempt   int    `json:"attempt"`
	Text      string `json:"text,omitempty"`
	Thinking  string `json:"thinking,omitempty"`
}

// ErrStaleRun: another workflow run has taken over the execution, after a
// Temporal reset; the run that is told so must not write any more.
var ErrStaleRun = errors.New("replaced by a newer workflow run")

// Letter is what a person says to agents. It lies in the store until a model call
// reads it, which quotes it in an entry of its execution.
type Letter struct {
	Investigation string
	Seq           int64 // orders an investigation's letters, from 1
	// Source is the workflow that took the letter in: "" is the investigation, others
	// are a stage's run or an execution. Ordinal counts its letters, from 1.
	Source  string
	Ordinal int
	RunID   string // of the source
	// Agent and Stage are whom it is for. No agent means all of the stage's; no stage,
	// the first that reads it.
	Agent string
	Stage string
	By    string
	Text  string
	At    time.Time
}
