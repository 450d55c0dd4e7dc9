package toolcall

// callState is the progress of a call, from the journal and from this attempt.
type callState int

const (
	notBegun callState = iota
	// An earlier attempt has begun the call, and its intent is in the journal.
	begun
	// A run that Temporal has since reset has begun the call. This run's journal has no intent.
	begunBeforeReset
	// Temporal knows that an earlier attempt has written the intent, but the store has lost it.
	lost
	// The databases were restored from a backup after the call was requested, so it may have been made already.
	restored
	// This attempt has begun the call: its intent is written, or is written with the result.
	intended
	// The call is not made: the result is our text.
	refused
	// The same after an earlier attempt has begun the call and journaled its intent.
	refusedAfterIntent
)

// begunEarlier reports whether an earlier attempt has begun the call, or may have.
func (s callState) begunEarlier() bool {
	return s == begun || s == begunBeforeReset || s == lost || s == restored
}

// recorded reports whether this run's journal has the intent, or gets it with the result. The intent records the decision.
func (s callState) recorded() bool { return s == begun || s == intended || s == refusedAfterIntent }

// refuse makes our text the result of the call.
func (c *toolCall) refuse() {
	if c.state.recorded() {
		c.state = refusedAfterIntent
		return
	}
	c.state = refused
}

func (s callState) refused() bool { return s == refused || s == refusedAfterIntent }
