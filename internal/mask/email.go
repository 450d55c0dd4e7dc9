package mask

import (
	"slices"
	"strings"
)

const (
	maxLocal  = 64  // bytes before the @
	maxDomain = 253 // bytes after it
)

// notTLD are what ends the names of systemd's units, which have an @ too.
var notTLD = []string{"service", "socket", "timer", "target", "mount", "slice", "scope", "device", "swap", "path"}

// emails masks addresses of people.
func emails(text string) string {
	out := rewrite{text: text}
	for i := 0; ; {
		next := strings.IndexByte(text[i:], '@')
		if next < 0 {
			return out.String()
		}
		at := i + next
		i = at + 1
		start := at
		for start > out.done && at-start < maxLocal && isLocalByte(text[start-1]) {
			start--
		}
		for start < at && text[start] == '.' {
			start++
		}
		end := domainEnd(text, i)
		if start < at && end > i && text[start:at] != "git" && !strings.HasSuffix(text[:start], "://") {
			out.replace(start, end, email.marker())
			i = end
		}
	}
}

func isLocalByte(c byte) bool { return isAlnum(c) || strings.IndexByte("._%+-'", c) >= 0 && c != '\'' }

// domainEnd is where a domain ends that begins at i; i = there is none.
func domainEnd(text string, i int) int {
	end := i
	for end < len(text) && end-i < maxDomain && (isAlnum(text[end]) || text[end] == '-' || text[end] == '.') {
		end++
	}
	for end > i && (text[end-1] == '.' || text[end-1] == '-') {
		end--
	}
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
