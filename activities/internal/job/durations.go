package job

import (
	"time"
)

// Timeouts and intervals for tool calls and quick model calls.
const (
	// quickTime is how long a workflow task, and everyone who signals the workflow, waits for a call.
	quickTime = time.Second
	// Abandoned is how long a call that began within a workflow task may run without supervision. It is longer than the
	// task, and longer than a stall of the machine that must not cancel the call.
	Abandoned = 15 * time.Second
	// Fresh is how long after its intent was written a request may go out without checking the journal again. No other
	// attempt gives a call up that soon.
	Fresh = time.Second
	// ShowAfter is how long a call may take before live views show it. showAfterInTask applies to calls made within a workflow task:
	// it is the delay before the intent is journaled or a reply's live tail starts.
	ShowAfter       = 250 * time.Millisecond
	ShowAfterInTask = 20 * time.Millisecond
	// timesEvery is the minimum time between two syncs of a tool's or model's call times with the store. After a change of
	// the verdict, verdictEvery applies instead. A sync happens only at a call.
	timesEvery, verdictEvery = 10 * time.Second, time.Second
	timesTimeout             = 2 * time.Second
)
