package activities

import "time"

// What a call of a tool, or a quick one of a model, waits for, and for how long.
const (
	// quickTime is how long a workflow task waits for a call, and with it all who signal the workflow.
	quickTime = time.Second
	// Abandoned is how long a call that was begun within a workflow task may be under way with
	// nobody attending to it: longer than the task, and than a stall that must cut nothing.
	Abandoned = 15 * time.Second
	// fresh is how long after its intent was written a request may go out without another look at the journal.
	// Nobody gives a call up so soon.
	fresh = time.Second
	// told is how long a call may take before those who watch are told that it runs, and
	// toldLocally before the journal is, or a reply's live tail, if the call is made within a workflow task.
	told        = 250 * time.Millisecond
	toldLocally = 20 * time.Millisecond
	// timesEvery is how often a worker compares what it knows of a tool or a model with the store: by
	// the way, when that is called. What changes the verdict is told sooner.
	timesEvery, verdictEvery = 10 * time.Second, time.Second
	timesTimeout             = 2 * time.Second
)
