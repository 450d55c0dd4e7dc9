// Package mask takes secrets out of texts, before anything stores them, logs
// them or sends them to a model.
//
// A [Masker] has patterns, by name, and those of the configuration. What a
// pattern finds becomes a marker that tells its kind, [MASKED_PASSWORD]; the key
// beside it stays, so that a reader still sees what was there. Masking is
// idempotent, takes time linear in the text, and fails closed: after an error
// the text must not be used.
//
// Mask first and cut second: a secret that was cut in two is not recognised.
//
// The patterns are scanners and not regular expressions: one pass finds the keys
// of all of them in YAML, JSON, headers, URLs and shell commands alike. Documents
// are read leniently and never parsed whole, because what looks like a Secret
// must be masked in text that no parser accepts.
package mask

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/inquest-dev/inquest/internal/agent"
)

// ErrNotMasked: the text could not be masked, and must not be used.
var ErrNotMasked = errors.New("not masked")

// maxRounds is how often a text is masked until nothing changes any more. Two
// are enough, the second to see it, unless a pattern of the configuration
// matches what it has written itself.
const maxRounds = 5

// Masker masks texts. It may be used concurrently.
type Masker struct {
	on     set
	custom []custom
}

// New makes a masker. The error names every pattern that is unknown, and every
// one that is not a regular expression.
func New(m agent.Masking) (*Masker, error) {
	out := &Masker{}
	var errs []error
	for _, name := range m.Patterns {
		k, ok := kindOf(name)
		if !ok {
			errs = append(errs, fmt.Errorf("unknown masking pattern %q", name))
		}
		out.on |= setOf(k)
	}
	for i, p := range m.Custom {
		c, err := compile(p)
		if err != nil {
			errs = append(errs, fmt.Errorf("custom masking pattern %d: %w", i+1, err))
		}
		out.custom = append(out.custom, c)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return out, nil
}

// Text masks a text of any kind and size. A text that is one JSON document
// stays one, unless a pattern of the configuration cuts through its structure.
func (m *Masker) Text(text string) (string, error) { return m.settle(text, m.round) }

// JSON masks a JSON document, which stays one: the texts in it, and whatever
// stands under a key that is named as a secret. If a pattern of the configuration
// cuts through the structure, the document becomes one JSON string.
func (m *Masker) JSON(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return raw, nil
	}
	if !json.Valid(raw) {
		return nil, fmt.Errorf("%w: it is not JSON", ErrNotMasked)
	}
	masked, err := m.settle(string(raw), func(text string) string {
		text = m.document(text, 0)
		if !json.Valid([]byte(text)) {
			return quoted(text)
		}
		return text
	})
	if err != nil {
		return nil, err
	}
	return json.RawMessage(masked), nil
}

// settle masks until nothing changes any more, which makes masking idempotent
// whatever the patterns are. A bug must neither end the process nor let the
// text through.
func (m *Masker) settle(text string, round func(string) string) (masked string, err error) {
	defer func() {
		if recover() != nil { // what it says may quote the text
			masked, err = "", fmt.Errorf("%w: internal error", ErrNotMasked)
		}
	}()
	for range maxRounds {
		masked = round(text)
		if masked == text {
			return masked, nil
		}
		text = masked
	}
	return "", fmt.Errorf("%w: a pattern matches what it writes", ErrNotMasked)
}

// round masks a text once.
func (m *Masker) round(text string) string { return m.nested(text, 0) }

// nested masks a text that was found in others, depth levels down.
func (m *Masker) nested(text string, depth int) string {
	if isDocument(text) {
		return m.document(text, depth)
	}
	return m.plain(text)
}

// plain masks a text that is not one JSON document. What is most certain of what
// it finds comes first: nothing later looks into a marker.
func (m *Masker) plain(text string) string {
	for _, c := range m.custom {
		text = c.mask(text)
	}
	if m.on.any(certificate, privateKey, sshKey) {
		text = m.pemBlocks(text)
	}
	if m.on.any(kubernetesSecret) {
		text = secretsInText(text, 0)
	}
	if m.on.any(basicAuth, databaseDSN) {
		text = m.userinfo(text)
	}
	if m.on&keyed != 0 {
		text = m.keys(text)
	}
	if m.on&prefixed != 0 {
		text = m.words(text)
	}
	if m.on.any(email) {
		text = emails(text)
	}
	if m.on.any(base64Secret, base64Short) {
		text = m.base64(text)
	}
	return text
}

// isDocument reports whether a text is a JSON object or list, and nothing else.
func isDocument(text string) bool {
	i := 0
	for i < len(text) && isSpace(text[i]) {
		i++
	}
	return i < len(text) && (text[i] == '{' || text[i] == '[') && json.Valid([]byte(text))
}
