package llm

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/internal/kit/clip"
)

const (
	maxMessage = 500 // characters of an error's message
	minSecret  = 4   // characters; replacing shorter ones would only garble a text
	redacted   = "[redacted]"
)

// credential matches text that looks like a key, in full or masked by the provider, which still shows the ends:
// "sk-abc***xyz".
var credential = regexp.MustCompile(
	`(?i)\b(?:sk|gsk|xai|hf|nvapi|pplx|csk)[-_][\w*.-]{6,}|\bAIza[\w-]{10,}|\bbearer\s+[^\s"',;]+|[^\s"':]*\*{3,}[^\s"',;]*`)

// Clean makes a provider's text suitable for an error: one line of valid UTF-8, at most 500 characters, without the
// secrets or anything that looks like a key.
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
