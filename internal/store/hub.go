package store

import "sync"

// hub wakes those who follow an investigation when it has changed.
type hub struct {
	mu        sync.Mutex
	followers map[string]map[chan struct{}]struct{}
}

func newHub() *hub { return &hub{followers: map[string]map[chan struct{}]struct{}{}} }

// subscribe returns a channel that has a value after each wake, several wakes
// being one, and a function that ends it.
func (h *hub) subscribe(investigation string) (<-chan struct{}, func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	wake := make(chan struct{}, 1)
	if h.followers[investigation] == nil {
		h.followers[investigation] = map[chan struct{}]struct{}{}
	}
	h.followers[investigation][wake] = struct{}{}
	return wake, func() { h.unsubscribe(investigation, wake) }
}

func (h *hub) unsubscribe(investigation string, wake chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.followers[investigation], wake)
	if len(h.followers[investigation]) == 0 {
		delete(h.followers, investigation)
	}
}

func (h *hub) wake(investigation string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wakeLocked(investigation)
}

// wakeAll is for when it is not known what has changed.
func (h *hub) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for investigation := range h.followers {
		h.wakeLocked(investigation)
	}
}

func (h *hub) wakeLocked(investigation string) {
	for wake := range h.followers[investigation] {
		select {
		case wake <- struct{}{}:
		default: // it will look anyway
		}
	}
}
