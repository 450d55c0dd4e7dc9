package job

import (
	"log/slog"
	"sync"
	"time"

	"github.com/inquest-dev/inquest/internal/circuit"
	"github.com/inquest-dev/inquest/internal/plan"
)

// troubles are the models that fail for this worker. Every failed call is in its agent's transcript. The log gets one line
// when a conversation fails, one when a second conversation fails before any call is answered, and one when a conversation
// that failed is answered.
type troubles struct {
	mu    sync.Mutex
	known map[circuit.Key]*trouble
}

// trouble is the failures of a model since its last answer.
type trouble struct {
	since   time.Time
	calls   int
	failing map[circuit.Conversation]bool
}

// Failed counts a failed call. A refusal because of the content is not the provider's fault and does not count.
func (t *troubles) Failed(log *slog.Logger, p *plan.Provider, by circuit.Conversation, errorType string, err error) {
	if ContentError(errorType) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	key := circuit.Key{Provider: p.Name, Model: p.Model}
	if t.known == nil {
		t.known = map[circuit.Key]*trouble{}
	}
	now := t.known[key]
	if now == nil {
		now = &trouble{since: time.Now(), failing: map[circuit.Conversation]bool{}}
		t.known[key] = now
	}
	now.calls++
	if now.failing[by] {
		return
	}
	now.failing[by] = true
	failure := log.With("provider", p.Name, "model", p.Model, "error_type", errorType, "error", Clipped(err.Error()))
	switch len(now.failing) {
	case 1:
		failure.Warn("a model call failed", "investigation", by.Investigation, "execution", by.Execution)
	case 2:
		failure.Warn("a model fails for different conversations", "since", now.since.UTC().Format(time.RFC3339), "failed_calls", now.calls)
	}
}

// Answered records a call that was answered. An answer to another conversation says nothing about a single one that failed.
func (t *troubles) Answered(log *slog.Logger, p *plan.Provider, by circuit.Conversation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := circuit.Key{Provider: p.Name, Model: p.Model}
	over := t.known[key]
	if over == nil {
		return
	}
	delete(t.known, key)
	if over.failing[by] || len(over.failing) > 1 {
		log.Warn("a model replied after failed calls",
			"provider", p.Name, "model", p.Model, "after", time.Since(over.since).Round(time.Second), "failed_calls", over.calls)
	}
}
