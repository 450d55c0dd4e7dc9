package agent

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxBy bounds the name of who says, asks or decides something, in bytes.
const MaxBy = 200

// CheckBy says what is wrong with such a name: it is shown beside what it stands
// for, and must neither hide nor look like anything else.
func CheckBy(by string) error {
	switch {
	case len(by) > MaxBy:
		return fmt.Errorf("\"by\" is longer than %d bytes", MaxBy)
	case !utf8.ValidString(by) || strings.ContainsFunc(by, unseen):
		return errors.New(`"by" has control or invisible characters`)
	}
	return nil
}

// CleanBy makes a name fit, where nobody can be told what is wrong with it.
func CleanBy(by string) string {
	by = strings.Map(func(r rune) rune {
		if unseen(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(by, ""))
	return strings.ToValidUTF8(by[:min(len(by), MaxBy)], "") // a character that was cut goes
}

// PersonOf returns whose name a Temporal client gave as its identity. The SDK's default identity, "<process id>@<host>@<queue>",
// names a process, and the result is empty.
func PersonOf(identity string) string {
	pid, _, _ := strings.Cut(identity, "@")
	if pid != "" && pid != identity && strings.Trim(pid, "0123456789") == "" {
		return ""
	}
	return CleanBy(identity)
}

// unseen: controls, line ends, and what turns, joins or hides the text around it.
func unseen(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || r == '\u2800' || r == '\u3164' || r == '\uffa0'
}
