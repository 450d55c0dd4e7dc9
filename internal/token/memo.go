package token

import (
	"crypto/sha256"
	"sync"
)

// memoSize is how many counts a generation of the memo holds, about 64 bytes
// each: enough for some dozens of long investigations at once.
const memoSize = 8192

// key names a text by its hash, so that the memo keeps no text alive.
type key struct {
	encoding string
	sum      [sha256.Size]byte
}

func keyOf(encoding, text string) key {
	return key{encoding, sha256.Sum256([]byte(text))}
}

// memo remembers the counts that were used last. It has two generations: when
// the young one is full it becomes the old one, and the old one is forgotten.
type memo struct {
	mu         sync.Mutex
	size       int
	young, old map[key]int
}

func newMemo(size int) *memo {
	return &memo{size: size, young: map[key]int{}}
}

func (m *memo) get(k key) (int, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n, ok := m.young[k]; ok {
		return n, true
	}
	n, ok := m.old[k]
	if ok {
		m.add(k, n)
	}
	return n, ok
}

func (m *memo) put(k key, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(k, n)
}

func (m *memo) add(k key, n int) {
	if len(m.young) >= m.size {
		m.old, m.young = m.young, make(map[key]int, m.size)
	}
	m.young[k] = n
}
