package evidence

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// English compounds that look like identifiers and are none: parts of words with hyphens, and words with a slash.
var (
	compound = regexp.MustCompile(`(?i)^(?:non|pre|re|self|high|low|long|short|well|multi|cross|single|follow|mid|near|co|sub|` +
		`two|three|four|five|first|second|third|one|zero|root|real|full|cold|hard|soft|so|in|over|under|on|off|once|fast|slow)(?:-\pL+)+$|` +
		`^\pL+(?:-\pL+)*-(?:related|based|side|level|wide|term|time|day|up|down|off|in|out|of|to|the|and|or|like|free|running|known|` +
		`specific|hour|minute|second|run|fold|existing|aware|bound|heavy|only|blocking|ended|over|by|on|case|effect|loop|through|back|` +
		`range|scale|class|point|check|reported|facing|driven|induced|triggered|caused|dependent|limited|intensive|prone|rate|mortem)(?:-\pL+)*$`)
	slashed = regexp.MustCompile(`(?i)^(?:and/or|24/7|n/a|i/o|tcp/ip|ci/cd|client/server|read/write|start/stop|up/down|on/off|yes/no|` +
		`pass/fail|cpu/memory|memory/cpu|\pL+/(?:s|sec|second|min|minute|h|hour|day))$`)
	abbreviation = regexp.MustCompile(`^(?:[A-Z]{2,}s|e\.g|i\.e|a\.m|p\.m|k8s|K8s)$`)
	camel        = regexp.MustCompile(`\p{Ll}\p{Lu}|\p{Lu}{2}\p{Ll}`)
	shout        = regexp.MustCompile(`^\p{Lu}{6,}$`)
)

// isName reports whether a token is an identifier, a host, a path or a version. A text cannot replace these by other words.
func isName(token string) bool {
	switch {
	case abbreviation.MatchString(token), compound.MatchString(token), slashed.MatchString(token):
		return false
	case camel.MatchString(token), shout.MatchString(token):
		return true
	}
	letters, figures := strings.ContainsFunc(token, unicode.IsLetter), strings.ContainsFunc(token, unicode.IsDigit)
	if !letters {
		return figures // not a number, but an address or a version
	}
	return figures || strings.ContainsAny(token, "-_./:@\\")
}

// has reports whether a text, in folded form, contains a name that is not part of another one.
func has(text, name string) bool {
	name = strings.ToLower(name)
	for from := 0; name != ""; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		i += from
		if beginsName(text, i, name) && endsName(text[i+len(name):], name) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		from = i + size
	}
	return false
}

func beginsName(text string, i int, name string) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	if i == 0 {
		return true
	}
	if wordly(before) && wordly(first(name)) {
		return false
	}
	switch before {
	case '-': // of an option, or of another name
		return !wordly(last(text[:i-1]))
	case '_', '@':
		return false
	case '.': // the beginning of a host with a domain
		return i > 1 && text[i-2] == ' '
	}
	return true
}

// podSuffix matches the suffix that Kubernetes appends to the name of a pod's owner.
var podSuffix = regexp.MustCompile(`^-(?:[a-z0-9]{6,10}-)?[bcdfghjklmnpqrstvwxz2456789]{5}(?:[^a-z0-9-]|$)`)

// endsName reports whether a name ends before the text after it. A host may be followed by its domain, a pod by its suffix.
func endsName(after, name string) bool {
	next, size := utf8.DecodeRuneInString(after)
	if after == "" {
		return true
	}
	if wordly(next) && wordly(last(name)) {
		return false
	}
	then, _ := utf8.DecodeRuneInString(after[size:])
	switch next {
	case '_', '@':
		return false
	case '-':
		return podSuffix.MatchString(after)
	case '.':
		return !unicode.IsDigit(then) && (!strings.Contains(name, ".") || !unicode.IsLetter(then))
	case '/':
		return !strings.Contains(name, "/") || !wordly(then)
	case ':':
		return !unicode.IsDigit(then) || !strings.Contains(name, ":") // a port, a tag
	}
	return true
}

func wordly(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

func first(text string) rune {
	r, _ := utf8.DecodeRuneInString(text)
	return r
}

func last(text string) rune {
	r, _ := utf8.DecodeLastRuneInString(text)
	return r
}

// beginsAlone and alone report that a position is not within a longer number or word.
func beginsAlone(text string, from int) bool {
	before, size := utf8.DecodeLastRuneInString(text[:from])
	if from == 0 || before == 'T' || before == '_' {
		return true
	}
	if before == ':' || before == '.' { // depends on the text before: "at:14:02" stands alone, "12:14:02" does not
		earlier := last(text[:from-size])
		return !unicode.IsDigit(earlier) || before == ':' && from > 5 && isoYear.MatchString(text[:from])
	}
	return !wordly(before)
}

// isoYear matches the end of a date that a colon separates from its time: "22/Nov/2026:14:02:05".
var isoYear = regexp.MustCompile(`\d{4}:$`)

func alone(text string, from, to int) bool {
	after := first(text[to:])
	return beginsAlone(text, from) && (to == len(text) || !unicode.IsDigit(after) && (!unicode.IsLetter(after) || after == 'T'))
}
