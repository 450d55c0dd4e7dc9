package activities

import "time"

// Timeouts and intervals for tool calls and quick model calls.
const (
	// quickTime is how long a workflow task, and everyone who signals the workflow, waits for a call.
	quickTime = time.Second
	// Abandoned is how long a call that began within a workflow task may run without supervision. It is longer than the
	// task, and longer than a stall that must cancel nothing.
	Abandoned = 15 * time.Second
	// fresh is how long after its intent was written a request may go out without checking the journal again. No other
	// attempt gives a call up that soon.
	fresh = time.Second
	// told is how long a call may take before live views show it. toldLocally applies to calls made within a workflow task:
	// it is the delay before the intent is journaled or a reply's live tail starts.
	told        = 250 * time.Millisecond
	toldLocally = 20 * time.Millisecond
	// timesEvery is how often a worker syncs its call times for a tool or model with the store, at its calls.
	// It reports a change of the verdict sooner, after verdictEvery.
	timesEvery, verdictEvery = 10 * time.Second, time.Second
	timesTimeout             = 2 * time.Second
)
