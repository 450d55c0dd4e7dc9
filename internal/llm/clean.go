package llm

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/internal/clip"
)

const (
	maxMessage = 500 // characters of an error's message
	minSecret  = 4   // characters; replacing shorter ones would only garble a text
	redacted   = "[redacted]"
)

// credential matches what looks like a key, whole or masked by the provider, which
// still shows its ends: "sk-abc***xyz".
var credential = regexp.MustCompile(
	`(?i)\b(?:sk|gsk|xai|hf|nvapi|pplx|csk)[-_][\w*.-]{6,}|\bAIza[\w-]{10,}|\bbearer\s+[^\s"',;]+|[^\s"':]*\*{3,}[^\s"',;]*`)

// Clean makes a text of a provider fit for an error: one line of valid UTF-8, at
// most 500 characters, without the secrets and without anything that looks like
// a key.
func Clean(text string, secrets ...string) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	for _, secret := range secrets {
		if len(secret) >= minSecret {
			text = strings.ReplaceAll(text, secret, redacted)
		}
	}
	text = credential.ReplaceAllString(text, redacted)
	return clip.Fit(oneLine(text), maxMessage)
}

func oneLine(text string) string {
	blank := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	return strings.Join(strings.FieldsFunc(text, blank), " ")
}
