package mcp

import (
	"cmp"
	"slices"
	"strings"
)

// minSecret is the length, in bytes, from which a value that a server is given
// is taken out of texts. Shorter ones ("1", "yes") are settings, and stand in
// every other line.
const minSecret = 4

const redacted = "[redacted]"

// secrets takes the values that a server was given out of texts.
type secrets struct {
	values   []string // longest first
	replacer *strings.Replacer
}

func newSecrets(values []string) secrets {
	var s secrets
	for _, value := range values {
		if len(value) >= minSecret {
			s.values = append(s.values, value)
		}
	}
	slices.SortFunc(s.values, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	s.values = slices.Compact(s.values)
	var pairs []string
	for _, secret := range s.values {
		pairs = append(pairs, secret, redacted)
	}
	s.replacer = strings.NewReplacer(pairs...)
	return s
}

func (s secrets) redact(text string) string {
	if s.replacer == nil {
		return text // the zero value knows none
	}
	return s.replacer.Replace(text)
}

// redactError keeps what an error is, and takes the secrets out of its text.
func (s secrets) redactError(err error) error {
	if text := err.Error(); s.redact(text) != text {
		return redactedError{err, s.redact(text)}
	}
	return err
}

type redactedError struct {
	error
	text string
}

func (e redactedError) Error() string { return e.text }
func (e redactedError) Unwrap() error { return e.error }

// begun reports whether the whole text may be the beginning of a secret.
func (s secrets) begun(text string) bool {
	return slices.ContainsFunc(s.values, func(secret string) bool {
		return len(secret) > len(text) && strings.HasPrefix(secret, text)
	})
}

// at is the length of the secret that the text begins with; 0 = none.
func (s secrets) at(text string) int {
	for _, secret := range s.values {
		if strings.HasPrefix(text, secret) {
			return len(secret)
		}
	}
	return 0
}
