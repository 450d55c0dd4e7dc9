package runbook

import (
	"sync"
	"time"
)

// maxCached is the maximum number of cached runbooks.
const maxCached = 64

// cache holds runbooks that were fetched, by address. It is safe for concurrent use.
type cache struct {
	now func() time.Time

	mu      sync.Mutex
	entries map[string]cached
}

type cached struct {
	text string
	at   time.Time // when it was fetched
}

func newCache(now func() time.Time) *cache { return &cache{now: now, entries: map[string]cached{}} }

// get returns the text of an address, unless it was fetched more than ttl ago.
func (c *cache) get(address string, ttl time.Duration) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, ok := c.entries[address]
	if !ok || c.now().Sub(entry.at) >= ttl {
		return "", false
	}
	return entry.text, true
}

// put adds a text. If the cache is full, it replaces the oldest one.
func (c *cache) put(address, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.entries[address]; !known && len(c.entries) >= maxCached {
		c.dropOldest()
	}
	c.entries[address] = cached{text, c.now()}
}

func (c *cache) dropOldest() {
	var oldest string
	// any order: any of the oldest entries can go
	for address, entry := range c.entries {
		if first, ok := c.entries[oldest]; !ok || entry.at.Before(first.at) {
			oldest = address
		}
	}
	delete(c.entries, oldest)
}
