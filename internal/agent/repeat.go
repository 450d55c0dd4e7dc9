package agent

import (
	"fmt"
	"time"
)

// Repeat says that an execution has requested a call before, of the same tool with the same arguments.
type Repeat struct {
	// Times is how often the call was made, or may have been made. The last time it ended at At. Unknown means that it is
	// unknown whether the call took effect then.
	Times   int       `json:"times,omitempty"`
	At      time.Time `json:"at,omitzero"`
	Unknown bool      `json:"unknown,omitempty"`
	// InReply is how many earlier calls of the same reply are the same.
	InReply int `json:"in_reply,omitempty"`
	// Approved means that a person has approved a repetition. Denied means that one was denied, by By, or by nobody's
	// decision if By is empty.
	Approved bool   `json:"approved,omitempty"`
	Denied   bool   `json:"denied,omitempty"`
	By       string `json:"by,omitempty"`
}

// String describes the earlier calls, as the continuation of a sentence about the agent.
func (r Repeat) String() string {
	if r.Times == 0 {
		return "requests the same call more than once in one reply"
	}
	times, last := "once", ""
	if r.Times > 1 {
		times, last = fmt.Sprintf("%d times", r.Times), "last "
	}
	result := "success"
	if r.Unknown {
		result = "unknown"
	}
	return fmt.Sprintf("made the same call %s before (%sat %s, result: %s)", times, last, r.At.UTC().Format("2006-01-02 15:04:05 UTC"), result)
}

// Reminder tells the agent about the earlier calls, if there are any, in a sentence.
func (r Repeat) Reminder() string {
	if r.Unknown {
		return "You " + r.String() + ", and whether it took effect is unknown."
	}
	return "You " + r.String() + ", and that result stands."
}
