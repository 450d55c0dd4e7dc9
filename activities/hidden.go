package activities

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/inquest-dev/inquest/internal/reveal"
	"github.com/inquest-dev/inquest/internal/tool"
)

// maxHidden bounds what masking may hide of a call that a person approves, in bytes.
const maxHidden = 512

// notPlain are the characters by which hidden text could do more than a token does.
const notPlain = ";|&$`<>(){}'\"\\"

// refuseHidden refuses a call that a person would approve without seeing what it does:
// the model chooses what looks like a secret, and so what masking hides.
func refuseHidden(name, hidden string) error {
	suspect := func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(notPlain, r) }
	if len(hidden) <= maxHidden && strings.IndexFunc(hidden, suspect) < 0 && !reveal.Hides(hidden) {
		return nil
	}
	return notToBeSeen(name, fmt.Sprintf("%d bytes of its arguments look like secrets, would be masked, and are more than a plain token", len(hidden)))
}

// notToBeSeen refuses a call that cannot be shown to the person who has to approve it.
func notToBeSeen(name, why string) error {
	return &tool.Refusal{Type: tool.ErrorPermissionDenied, Message: fmt.Sprintf(
		"Tool %s was not called: a person has to approve the call, and cannot be shown all of it. %s. "+
			"Refer to a credential by its name (a variable, a file) instead of writing it, and ask again.", name, why)}
}

var marker = regexp.MustCompile(`\[MASKED[A-Z0-9_]*\]`)

// hiddenIn is what of a text its masked version does not show, all of it together.
func hiddenIn(whole, masked string) string {
	if whole == masked {
		return ""
	}
	shown, rest, hidden := marker.Split(masked, -1), whole, ""
	for n, part := range shown {
		at := strings.Index(rest, part)
		if n == len(shown)-1 {
			at = strings.LastIndex(rest, part)
		}
		if at < 0 || n == 0 && at > 0 {
			return between(whole, masked)
		}
		hidden, rest = hidden+rest[:at], rest[at+len(part):]
	}
	if rest != "" {
		return between(whole, masked)
	}
	return hidden
}

// between is a text without the beginning and the end that another one has, too.
func between(a, b string) string {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a
}
