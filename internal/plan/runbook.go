package plan

// RunbookURL is a runbook that has to be fetched.
type RunbookURL struct {
	URL       string `json:"url"`
	Requested bool   `json:"requested,omitempty"` // the request names it, not the configuration
}

// RunbookOrigin says where the text of a plan's runbook comes from. The zero value, as in older plans, means unknown.
type RunbookOrigin struct {
	// Name is the origin in words, or the URL without its query, for models and people.
	Name string `json:"name,omitempty"`
	// Requested means that the request gives the runbook, as text or by its URL.
	Requested bool `json:"requested,omitempty"`
	// Fetched means that the text was fetched from the URL in Name.
	Fetched bool `json:"fetched,omitempty"`
}

// Untrusted names the runbook as a source of untrusted text: text that is not part of the configuration, although the
// configuration may give its URL. It returns an empty string if the runbook is trusted.
func (o RunbookOrigin) Untrusted() string {
	switch {
	case o.Fetched:
		return "the runbook at " + o.Name
	case o.Requested:
		return "the request's runbook"
	}
	return ""
}
