package agent

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxBy is the maximum length of a person's name, in bytes.
const MaxBy = 200

// CheckBy returns an error for an invalid person's name. Names are displayed beside answers and decisions, so they must
// not contain text that is invisible or changes the text around it.
func CheckBy(by string) error {
	switch {
	case len(by) > MaxBy:
		return fmt.Errorf("the name of a person or group is longer than %d bytes", MaxBy)
	case !utf8.ValidString(by) || strings.ContainsFunc(by, unseen):
		return errors.New("the name of a person or group has control or invisible characters")
	}
	return nil
}

// CleanBy makes a name valid if an error cannot be reported to its author.
func CleanBy(by string) string {
	by = strings.Map(func(r rune) rune {
		if unseen(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(by, ""))
	return strings.ToValidUTF8(by[:min(len(by), MaxBy)], "") // drops a character that was cut in half
}

// PersonOf returns the person's name that a Temporal client gave as its identity. The SDK's default identity, "<process
// id>@<host>@<queue>", names a process, so the result is empty.
func PersonOf(identity string) string {
	pid, _, _ := strings.Cut(identity, "@")
	if pid != "" && pid != identity && strings.Trim(pid, "0123456789") == "" {
		return ""
	}
	return CleanBy(identity)
}

// unseen reports whether a character is a control, a line end, or one that reverses, joins or hides the text around it.
func unseen(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || r == '\u2800' || r == '\u3164' || r == '\uffa0'
}
