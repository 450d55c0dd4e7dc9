package learning

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// maxBits limits the length of codes, and so the time of a query. After the rotation, some of the numbers say as much as any others.
const maxBits = 768

// Code returns the signs of a vector's first numbers after a rotation, one bit each. Codes take at most a thirty-second of the space of
// vectors and are enough to choose the few whose vectors are compared. The rotation spreads what differs between texts over all numbers.
// Without it, most signs would be the same for all texts.
func Code(values []float32) []byte {
	code := make([]byte, codeSize(len(values)))
	for n, x := range rotated(values) {
		if x > 0 {
			code[n/8] |= 1 << (n % 8)
		}
	}
	return code
}

// codeSize returns the length of the codes of vectors, a multiple of eight bytes.
func codeSize(numbers int) int { return (min(numbers, maxBits) + 63) / 64 * 8 }

// rotated returns the first maxBits numbers of a vector after a fixed rotation, which keeps angles: it changes signs, transforms blocks,
// mixes the blocks, and repeats.
func rotated(values []float32) []float32 {
	size := len(values)
	out, block := append([]float32{}, values...), size&-size // the largest power of two that divides the size
	for round := range uint32(2) {
		for n := range out {
			if bits.OnesCount32((uint32(n)+round+1)*2654435761)%2 == 1 { // like a coin, but always the same
				out[n] = -out[n]
			}
		}
		for start := 0; start < size; start += block {
			transform(out[start : start+block])
		}
		mixed := make([]float32, size)
		for n, x := range out {
			mixed[n%block*(size/block)+n/block] = x
		}
		out = mixed
	}
	return out[:min(size, maxBits)]
}

// transform multiplies a vector with a Hadamard matrix. Its length is a power of two.
func transform(v []float32) {
	for half := 1; half < len(v); half *= 2 {
		for start := 0; start < len(v); start += 2 * half {
			for n := start; n < start+half; n++ {
				v[n], v[n+half] = v[n]+v[n+half], v[n]-v[n+half]
			}
		}
	}
}

// Estimator estimates how near vectors are to the vector of a query from their codes.
type Estimator struct {
	// The query's rotated numbers, rounded to low + step * n with n of 0 to 15. Plane k holds bit k of each n.
	low, step float32
	planes    [4][]uint64
}

// NewEstimator returns the estimator for a query.
func NewEstimator(query []float32) Estimator {
	var e Estimator
	for k := range e.planes {
		e.planes[k] = make([]uint64, codeSize(len(query))/8)
	}
	if len(query) == 0 {
		return e
	}
	numbers := rotated(query)
	e.low = slices.Min(numbers)
	e.step = max(slices.Max(numbers)-e.low, math.SmallestNonzeroFloat32) / 15
	for n, x := range numbers {
		rounded := uint64((x-e.low)/e.step + 0.5)
		for k := range e.planes {
			e.planes[k][n/64] |= rounded >> k & 1 << (n % 64)
		}
	}
	return e
}

// Size is the length of the codes that the estimator compares.
func (e Estimator) Size() int { return 8 * len(e.planes[0]) }

// Nearness returns a number that grows with the cosine between the query and the vector of a code. The code must have the length Size.
func (e Estimator) Nearness(code []byte) float32 {
	ones, sum := 0, 0
	for n, plane := range e.planes[0] {
		word := binary.LittleEndian.Uint64(code[8*n:])
		ones += bits.OnesCount64(word)
		sum += bits.OnesCount64(word&plane) + bits.OnesCount64(word&e.planes[1][n])<<1 +
			bits.OnesCount64(word&e.planes[2][n])<<2 + bits.OnesCount64(word&e.planes[3][n])<<3
	}
	return e.low*float32(ones) + e.step*float32(sum)
}
