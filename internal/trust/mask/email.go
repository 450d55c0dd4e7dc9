package mask

import (
	"slices"
	"strings"
)

const (
	maxLocal  = 64  // bytes before the @
	maxDomain = 253 // bytes after it
)

// notTLD are suffixes of systemd unit names, which also contain an @.
var notTLD = []string{"service", "socket", "timer", "target", "mount", "slice", "scope", "device", "swap", "path"}

// emails masks people's email addresses.
func emails(text string) string {
	out := rewrite{text: text}
	for i := 0; ; {
		next := strings.IndexByte(text[i:], '@')
		if next < 0 {
			return out.String()
		}
		at := i + next
		i = at + 1
		start := back(text, at, max(out.done, at-maxLocal), isLocalByte)
		start = past(text[:at], start, func(c byte) bool { return c == '.' })
		end := domainEnd(text, i)
		person := text[start:at] != "git" && !strings.HasSuffix(text[i:end], ".gserviceaccount.com")
		if start < at && end > i && person && !strings.HasSuffix(text[:start], "://") {
			out.replace(start, end, email.marker())
			i = end
		}
	}
}

func isLocalByte(c byte) bool { return isAlnum(c) || strings.IndexByte("._%+-'", c) >= 0 && c != '\'' }

// domainEnd returns the end of the domain that begins at i; i means that there is none.
func domainEnd(text string, i int) int {
	end := near(text, i, maxDomain, func(c byte) bool { return isAlnum(c) || c == '-' || c == '.' })
	end = i + len(strings.TrimRight(text[i:end], ".-"))
	dot := strings.LastIndexByte(text[i:end], '.')
	if dot <= 0 {
		return i
	}
	tld := text[i+dot+1 : end]
	letters := !strings.ContainsFunc(tld, func(r rune) bool { return !isLower(byte(r)) && !isUpper(byte(r)) })
	if len(tld) < 2 || !letters || slices.Contains(notTLD, tld) {
		return i
	}
	return end
}
