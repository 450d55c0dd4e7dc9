package transcript

// Interrupted is what there is to say of a call that has an intent and no result, and that nobody makes any more.
const Interrupted = "it was interrupted and may have taken effect"

// What stands for a call's result where there is none: NotRun if there is no intent either, else Unknown. A call
// that may be repeated has no intent in its first moments, and is taken for one that was not run.
const (
	NotRun = "This call was not run."
	// Withheld is NotRun for a call in a reply that was asked for without tools.
	Withheld = "This call was not run: tools are no longer available."
	Unknown  = "There is no result of this call: " + Interrupted + "."
)

// Unanswered are the keys of the intents among an execution's entries that have no result.
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
