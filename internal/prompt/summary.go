package prompt

// SummaryData is the input for the summary of a tool's result.
type SummaryData struct {
	Tool, Arguments string
	// Result is as much of the result as fits. Bytes is the length of the full result, and LeftOut is how much is
	// missing at the mark in the middle.
	Result         string
	Bytes, LeftOut int
	// MaxTokens is the maximum length of the summary.
	MaxTokens int
}

// argumentsLimit is how much of a call's arguments the summarising model sees, in bytes.
const argumentsLimit = 2000

// Summary renders the two messages that ask for the summary of a result. The tool's result is between tags that its
// text cannot close.
func Summary(d SummaryData) (system, user string, err error) {
	d.Arguments = cut(d.Arguments, argumentsLimit)
	if system, err = execute("system", d, "templates/summary.tmpl"); err == nil {
		user, err = execute("user", d, "templates/summary.tmpl")
	}
	return system, user, err
}
