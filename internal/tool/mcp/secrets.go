package mcp

import (
	"cmp"
	"slices"
	"strings"
)

// minSecret is the minimum length, in bytes, of a server's value that is redacted from texts. Shorter values ("1",
// "yes") are settings that occur everywhere.
const minSecret = 4

const redacted = "[redacted]"

// secrets redacts, from texts, the values that a server's configuration gave to it.
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
		return text // the zero value has no secrets
	}
	return s.replacer.Replace(text)
}

// redactError keeps an error's identity, and redacts the secrets from its text.
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

// at returns the length of the secret at the start of the text, or zero.
func (s secrets) at(text string) int {
	for _, secret := range s.values {
		if strings.HasPrefix(text, secret) {
			return len(secret)
		}
	}
	return 0
}
