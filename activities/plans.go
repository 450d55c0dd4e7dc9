package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/inquest-dev/inquest/internal/plan"
)

// maxKept bounds what is kept in memory of each kind; a worker seldom runs more
// investigations at a time.
const maxKept = 64

// kept caches JSON documents of the store by their hashes. Every activity needs a plan and
// catalogues, and all activities of an investigation need the same ones. Nobody changes a
// cached document.
type kept[T any] struct {
	mu    sync.Mutex
	known map[string]T
}

// get reads a document; what it is, errors say.
func (k *kept[T]) get(ctx context.Context, blobs Blobs, what, hash string) (document T, err error) {
	k.mu.Lock()
	document, ok := k.known[hash]
	k.mu.Unlock()
	if ok {
		return document, nil
	}
	body, err := blobs.Blob(ctx, hash)
	if err != nil {
		return document, storeFailure(fmt.Errorf("read %s %s: %w", what, hash, err))
	}
	err = json.Unmarshal(body, &document)
	switch {
	case errors.Is(err, plan.ErrNewer):
		return document, cannot(ctx, fmt.Errorf("read %s %s: %w", what, hash, err))
	case err != nil:
		return document, final(ErrorConfiguration, fmt.Errorf("read %s %s: %w", what, hash, err))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil || len(k.known) >= maxKept {
		k.known = map[string]T{} // what is in use comes back with its next activity
	}
	k.known[hash] = document
	return document, nil
}

// plan reads a plan by its hash.
func (a *Activities) plan(ctx context.Context, hash string) (plan.Plan, error) {
	return a.plans.get(ctx, a.Blobs, "plan", hash)
}
