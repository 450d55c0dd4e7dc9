package transcript

import "slices"

// Sharing says which entries of an investigation its fork gets, and with which texts.
type Sharing struct {
	From, Fork string // IDs of the investigations
	// Until is the number of the last entry of From that counts, and Rows how many entries are shared.
	Until int64
	Rows  int
	// Iterations are how many of the first iterations of an execution are shared. Others share nothing.
	Iterations map[string]int
	// Without are the numbers of entries that are not shared, although their iterations are.
	Without []int64
	// Given replaces results, by their numbers in From.
	Given map[int64]Given
}

// Given is the text that replaces the result of a tool.
type Given struct {
	Text string
	Blob string // see Result.Blob
	Size int    // of the whole text, in bytes
	By   string // the person who gave it
}

// Shares reports whether an entry of From is shared: not superseded ones, nor failed model calls.
func (s Sharing) Shares(e Entry) bool {
	last, known := s.Iterations[e.Execution]
	return known && e.Iteration <= last && e.Seq <= s.Until && !e.Superseded && e.Kind != KindTry && e.Kind != KindFallback &&
		!slices.Contains(s.Without, e.Seq)
}

// With returns the body of a result with a given text. Its call and the decision on it stay.
func (b Body) With(g Given) Body {
	return Body{
		Text: g.Text, Call: b.Call, Status: "success", Untrusted: append(slices.Clone(b.Untrusted), "a result that "+g.By+" gave"),
		Result: Result{Decision: b.Decision, Rule: b.Rule, Digest: b.Digest, Blob: g.Blob, Size: g.Size, Given: g.By},
	}
}

// Recording returns the body of a result as the answer to the same call in another investigation. What people decided, and for how long it
// paused heartbeats, stays behind. from names the result: see Result.Recorded.
func (b Body) Recording(call *Call, from string) Body {
	return Body{
		Text: b.Text, Call: call, Status: b.Status, ErrorType: b.ErrorType, Untrusted: b.Untrusted,
		Result: Result{
			Recorded: from, Blob: b.Blob, Size: b.Size, Artifacts: b.Artifacts, Kept: b.Kept, Images: b.Images, Fault: b.Fault,
		},
	}
}
