package transcript

import "slices"

// Untrusted is where untrusted text in the entries comes from, each source once, oldest first. An execution is tainted
// by it from then on: it is derived from the journal, so it survives whatever the journal does.
func Untrusted(entries []Entry) (sources []string) {
	for _, e := range entries {
		if !e.Superseded {
			sources = Sources(sources, e.Untrusted)
		}
	}
	return sources
}

// Sources adds sources to others, each once.
func Sources(sources, more []string) []string {
	for _, source := range more {
		if !slices.Contains(sources, source) {
			sources = append(sources, source)
		}
	}
	return sources
}
