package activities

import (
	"log/slog"
	"sync"
	"time"

	"github.com/inquest-dev/inquest/internal/plan"
)

// troubles are the providers that do not answer this worker. Every failed call is in its agent's transcript. The log
// gets one line when a provider's trouble begins, and one when it ends.
type troubles struct {
	mu    sync.Mutex
	known map[string]*trouble // by provider and model
}

type trouble struct {
	since time.Time
	calls int // calls that have failed since
}

// failed counts a failed call. A refusal because of the content is not the provider's fault and does not count.
func (t *troubles) failed(log *slog.Logger, p plan.Provider, errorType string, err error) {
	if ContentError(errorType) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	key := p.Name + "/" + p.Model
	if known := t.known[key]; known != nil {
		known.calls++
		return
	}
	if t.known == nil {
		t.known = map[string]*trouble{}
	}
	t.known[key] = &trouble{since: time.Now(), calls: 1}
	log.Warn("a model's provider is in trouble", "provider", p.Name, "model", p.Model, "error_type", errorType, "error", clipped(err.Error()))
}

// answered records a call that was answered.
func (t *troubles) answered(log *slog.Logger, p plan.Provider) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := p.Name + "/" + p.Model
	if over := t.known[key]; over != nil {
		log.Warn("a model's provider answers again",
			"provider", p.Name, "model", p.Model, "after", time.Since(over.since).Round(time.Second), "failed_calls", over.calls)
		delete(t.known, key)
	}
}
