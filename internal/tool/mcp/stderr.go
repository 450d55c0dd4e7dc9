package mcp

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"

	"github.com/inquest-dev/inquest/internal/tool"
)

// tail keeps the end of a server's standard error, without the secrets that the server was given. It limits memory
// without blocking the server.
type tail struct {
	limit   int
	secrets secrets
	logger  *slog.Logger

	mu      sync.Mutex
	kept    []byte // up to twice the limit, so that it is rarely moved
	pending []byte // possibly the beginning of a secret
}

func newTail(limit int, secrets secrets, logger *slog.Logger) *tail {
	return &tail{limit: limit, secrets: secrets, logger: logger}
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := string(t.pending) + string(p)
	var clean strings.Builder
	for text != "" && !t.secrets.begun(text) {
		n := max(1, t.secrets.at(text))
		clean.WriteString(t.secrets.redact(text[:n]))
		text = text[n:]
	}
	t.pending = append(t.pending[:0], text...)
	t.keep(clean.String())
	return len(p), nil
}

func (t *tail) keep(text string) {
	for line := range strings.Lines(text) {
		t.logger.Debug("MCP server stderr", "line", strings.TrimSpace(tool.ValidText(line)))
	}
	t.kept = append(t.kept, text[max(0, len(text)-t.limit):]...)
	if len(t.kept) > 2*t.limit {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-t.limit:]...)
	}
}

// lastLine returns the last complete line of the output that is not blank, or an empty string. An incomplete line may end in a part of a
// secret.
func (t *tail) lastLine() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	whole := t.kept[:bytes.LastIndexAny(t.kept, "\r\n")+1]
	text := strings.TrimSpace(strings.ToValidUTF8(string(whole), ""))
	return strings.TrimSpace(text[strings.LastIndexAny(text, "\r\n")+1:])
}

// text returns the kept output, as valid UTF-8.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := append(bytes.Clone(t.kept), t.secrets.redact(string(t.pending))...)
	return strings.TrimSpace(strings.ToValidUTF8(string(all[max(0, len(all)-t.limit):]), ""))
}
