// Package token estimates how many tokens a text has, and knows how many tokens a
// model accepts. It works offline: the encodings are part of the program.
package token

import (
	"crypto/sha256"
	"iter"
	"sync"
	"unicode"

	"github.com/tiktoken-go/tokenizer"
	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/picture"
)

// The tokens of a message and a conversation in addition to their text (spec: conversation, "Compression").
const (
	perMessage      = 4
	perConversation = 2
)

// Messages estimates the tokens of a conversation: 2, and for each message 4, its
// content, its images and the arguments of its calls. It is additive: the tokens
// of a message do not depend on its neighbours.
//
// As in the specification's formula, the names of tools are left out: they are
// short, and the 4 tokens of a message cover them. Thinking is left out because it
// is not sent back to providers. The usage that a provider reports corrects both
// omissions.
func Messages(model string, msgs []agent.Message) int {
	total := perConversation
	for _, m := range msgs {
		total += perMessage + Count(model, m.Content)
		for _, i := range m.Images {
			total += picture.Tokens(model, i.Width, i.Height)
		}
		for _, call := range m.ToolCalls {
			total += Count(model, call.Arguments)
		}
	}
	return total
}

// Count estimates the tokens of a text for a model. The text may be any bytes. The
// time is linear in their number. It is safe for concurrent use.
func Count(_, text string) int {
	if text == "" {
		return 0
	}
	encoding := encoder()
	key := keyOf(encoding.GetName(), text)
	if n, ok := counted.get(key); ok {
		return n
	}
	n := count(encoding, text)
	counted.put(key, n)
	return n
}

// counted caches counts, because the same transcript is counted before every model
// call.
var counted = newMemo(memoSize)

// encoder returns o200k, for every model: the vocabularies of older encodings would add
// megabytes to each binary, and the provider's own count corrects the estimate.
// It is a function, because a variable would link the vocabulary into programs that count no tokens.
func encoder() tokenizer.Codec {
	o200k.once.Do(func() { o200k.codec = codec.NewO200kBase() })
	return o200k.codec
}

var o200k struct {
	once  sync.Once
	codec tokenizer.Codec
}

func count(encoding tokenizer.Codec, text string) int {
	total := 0
	for piece := range pieces(text) {
		n, err := encoding.Count(piece)
		if err != nil { // the splitter failed on this piece: it is safer to count too many
			n = len(piece)
		}
		total += n
	}
	return total
}

// maxSpace is the longest run of white space that is counted as one piece. The
// encodings' splitter takes quadratic time for such a run with line breaks in it
// (eight minutes for a megabyte). Usual texts have shorter runs and stay whole.
const maxSpace = 64

// pieces cuts a text within its runs of white space that are longer than maxSpace, and nowhere else.
func pieces(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start, run := 0, 0
		for i, r := range text {
			if run == maxSpace {
				if !yield(text[start:i]) {
					return
				}
				start, run = i, 0
			}
			if run++; !unicode.IsSpace(r) {
				run = 0
			}
		}
		yield(text[start:])
	}
}

// memoSize is how many counts a generation of the memo holds, at about 64 bytes
// each: enough for dozens of long investigations at once.
const memoSize = 8192

// key identifies a text by its hash, so that the memo keeps no text in memory.
type key struct {
	encoding string
	sum      [sha256.Size]byte
}

func keyOf(encoding, text string) key {
	return key{encoding, sha256.Sum256([]byte(text))}
}

// memo keeps the most recently used counts. It has two generations: when the young
// one is full, it becomes the old one, and the previous old one is dropped.
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
