// Package runbook reads runbooks, the procedures that agents are given: it tells text from addresses and file names, and
// fetches addresses. An address may come from anyone who can send a request, so a fetch reaches only public hosts on an
// allow-list, and is limited in size and time.
package runbook

import (
	"path/filepath"
	"strings"
	"unicode"
)

// MaxSize is the maximum size of a runbook that is fetched or read from a file, in bytes.
const MaxSize = 256 << 10

// IsURL reports whether a runbook is an address instead of text: one line without spaces that begins with https:// or
// http://. Fetch refuses the latter.
func IsURL(text string) bool {
	text = strings.TrimSpace(text)
	scheme, _, ok := strings.Cut(text, "://")
	return ok && (strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "http")) && !strings.ContainsFunc(text, unicode.IsSpace)
}

// File returns the path in a runbook that names a file of the configuration: one line that begins with "file:", followed
// directly by the path.
func File(text string) (path string, ok bool) {
	text = strings.TrimSpace(text)
	path, ok = strings.CutPrefix(text, "file:")
	if !ok || path == "" || path != strings.TrimSpace(path) || strings.ContainsAny(path, "\r\n") {
		return "", false
	}
	return filepath.FromSlash(path), true
}
