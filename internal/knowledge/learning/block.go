package learning

import "container/heap"

// BlockSize is the number of codes in a block.
const BlockSize = 256

// blockHead is the number of bytes at the beginning of a block that say which of its learnings have a code.
const blockHead = BlockSize / 8

// Block holds the codes of up to BlockSize vectors of one size: a bit for each that says whether there is one, then the codes.
type Block []byte

// NewBlock returns an empty block for codes of some length.
func NewBlock(size int) Block { return make(Block, blockHead+BlockSize*size) }

// Size returns the length of each code.
func (b Block) Size() int { return max(0, len(b)-blockHead) / BlockSize }

// Has reports whether number n has a code.
func (b Block) Has(n int64) bool { return len(b) > blockHead && b[n/8]&(1<<(n%8)) != 0 }

// Set stores the code of number n, which has the length Size.
func (b Block) Set(n int64, code []byte) {
	b[n/8] |= 1 << (n % 8)
	copy(b[blockHead+int(n)*b.Size():], code)
}

// Clear removes the code of number n.
func (b Block) Clear(n int64) { b[n/8] &^= 1 << (n % 8) }

// Nearest collects the IDs of the vectors that seem nearest to a query.
type Nearest struct {
	estimate Estimator
	most     int
	found    nearest
}

// NewNearest returns a collection of at most the given number of IDs.
func NewNearest(query []float32, most int) *Nearest {
	return &Nearest{estimate: NewEstimator(query), most: most}
}

// Add adds the vectors of a block. The first number of the block has the ID first. Codes of vectors of another size are ignored.
func (o *Nearest) Add(first int64, b Block) {
	size := o.estimate.Size()
	if b.Size() != size {
		return
	}
	for n := range int64(BlockSize) {
		if !b.Has(n) {
			continue
		}
		one := nearOne{first + n, o.estimate.Nearness(b[blockHead+int(n)*size:][:size])}
		if len(o.found) < o.most {
			heap.Push(&o.found, one)
		} else if one.nearness > o.found[0].nearness {
			o.found[0] = one
			heap.Fix(&o.found, 0)
		}
	}
}

// IDs returns the IDs in no particular order. The result is never nil.
func (o *Nearest) IDs() []int64 {
	ids := make([]int64, len(o.found))
	for n, one := range o.found {
		ids[n] = one.id
	}
	return ids
}

type nearOne struct {
	id       int64
	nearness float32
}

// nearest is a heap, the least near first.
type nearest []nearOne

func (h nearest) Len() int           { return len(h) }
func (h nearest) Less(a, b int) bool { return h[a].nearness < h[b].nearness }
func (h nearest) Swap(a, b int)      { h[a], h[b] = h[b], h[a] }
func (h *nearest) Push(x any)        { *h = append(*h, x.(nearOne)) }
func (h *nearest) Pop() any          { panic("IDs are replaced, never removed") }
