package transcript

import "slices"

// Untrusted returns the sources of untrusted text in the entries, each once, oldest first. The first such text taints the execution
// permanently. Taint is derived from the journal, so it survives restarts and resets with it.
func Untrusted(entries []Entry) (sources []string) {
	for _, e := range entries {
		if !e.Superseded {
			sources = Sources(sources, e.Untrusted)
		}
	}
	return sources
}

// Sources adds sources that are not in the list yet.
func Sources(sources, more []string) []string {
	for _, source := range more {
		if !slices.Contains(sources, source) {
			sources = append(sources, source)
		}
	}
	return sources
}
