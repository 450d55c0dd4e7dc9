package prompt

// SummaryData is what a summary of a tool's result is asked for with.
type SummaryData struct {
	Tool, Arguments string
	// Result is as much of the result as fits; Bytes is the length of the whole,
	// and LeftOut is how much of it is missing, at the mark in the middle.
	Result         string
	Bytes, LeftOut int
	// MaxTokens is how long the summary may be.
	MaxTokens int
}

// argumentsLimit is how much of a call's arguments is shown to who summarises its result, in bytes.
const argumentsLimit = 2000

// Summary renders the two messages that ask for the summary of a result. What a
// tool returned stands between tags that its text cannot close.
func Summary(d SummaryData) (system, user string, err error) {
	d.Arguments = cut(d.Arguments, argumentsLimit)
	if system, err = execute("system", d, "templates/summary.tmpl"); err == nil {
		user, err = execute("user", d, "templates/summary.tmpl")
	}
	return system, user, err
}
