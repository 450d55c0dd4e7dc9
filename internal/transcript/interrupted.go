package transcript

// Interrupted describes a call that has an intent and no result, and is no longer running.
const Interrupted = "it was interrupted and may have taken effect"

// Texts that replace a missing result: NotRun if there is no intent either, otherwise Unknown. A repeatable call has no intent at
// first, and counts as not run then.
const (
	NotRun = "This call was not run."
	// Withheld is NotRun for a call in a reply that was requested without tools.
	Withheld = "This call was not run: tools are no longer available."
	Unknown  = "This call has no result: " + Interrupted + "."
)

// Unanswered returns the keys of an execution's intents that have no result.
func Unanswered(entries []Entry) map[Key]bool {
	results, out := map[Key]bool{}, map[Key]bool{}
	for _, e := range entries {
		if e.Kind == KindResult && !e.Superseded {
			results[CallKey(e.Iteration, e.CallIndex())] = true
		}
	}
	for _, e := range entries {
		if e.Kind == KindCall && !e.Superseded && !results[CallKey(e.Iteration, e.CallIndex())] {
			out[e.Key] = true
		}
	}
	return out
}
