package transcript

import "time"

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
