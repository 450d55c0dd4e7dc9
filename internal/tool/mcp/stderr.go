package mcp

import (
	"bytes"
	"cmp"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/inquest-dev/inquest/internal/tool"
)

// minSecret is the length, in bytes, from which a value of a server's
// environment is taken out of what it writes. Shorter ones ("1", "yes") are
// settings, and stand in every other line.
const minSecret = 4

const redacted = "[redacted]"

// tail keeps the end of what a server writes to its standard error, without the
// secrets that it was given. However much that is, the server is not held up
// and the memory is bounded.
type tail struct {
	limit    int
	secrets  []string // longest first
	replacer *strings.Replacer
	logger   *slog.Logger

	mu      sync.Mutex
	kept    []byte // up to twice the limit, so that it is moved only now and then
	pending []byte // may be the beginning of a secret
}

func newTail(limit int, env map[string]string, logger *slog.Logger) *tail {
	t := &tail{limit: limit, logger: logger}
	for _, value := range env {
		if len(value) >= minSecret {
			t.secrets = append(t.secrets, value)
		}
	}
	slices.SortFunc(t.secrets, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var pairs []string
	for _, secret := range t.secrets {
		pairs = append(pairs, secret, redacted)
	}
	t.replacer = strings.NewReplacer(pairs...)
	return t
}

// redact takes the secrets out of a text.
func (t *tail) redact(text string) string { return t.replacer.Replace(text) }

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := string(t.pending) + string(p)
	var clean strings.Builder
	for text != "" && !t.begun(text) {
		n := max(1, t.secretAt(text))
		clean.WriteString(t.redact(text[:n]))
		text = text[n:]
	}
	t.pending = append(t.pending[:0], text...)
	t.keep(clean.String())
	return len(p), nil
}

// begun reports whether the whole text may be the beginning of a secret.
func (t *tail) begun(text string) bool {
	return slices.ContainsFunc(t.secrets, func(secret string) bool {
		return len(secret) > len(text) && strings.HasPrefix(secret, text)
	})
}

// secretAt is the length of the secret that the text begins with; 0 = none.
func (t *tail) secretAt(text string) int {
	for _, secret := range t.secrets {
		if strings.HasPrefix(text, secret) {
			return len(secret)
		}
	}
	return 0
}

func (t *tail) keep(text string) {
	for line := range strings.Lines(text) {
		t.logger.Debug("MCP server says", "line", strings.TrimSpace(tool.ValidText(line)))
	}
	t.kept = append(t.kept, text[max(0, len(text)-t.limit):]...)
	if len(t.kept) > 2*t.limit {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-t.limit:]...)
	}
}

// text returns what was kept, as valid UTF-8.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := append(bytes.Clone(t.kept), t.redact(string(t.pending))...)
	return strings.TrimSpace(strings.ToValidUTF8(string(all[max(0, len(all)-t.limit):]), ""))
}
