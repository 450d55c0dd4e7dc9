package record

import (
	"slices"
	"strings"
)

// InTree orders agents so that each is followed by those that it dispatched. Their names begin with its own.
func InTree[T any](agents []T, name func(T) string) (out []T) {
	for _, a := range agents {
		at := len(out)
		if slash := strings.LastIndexByte(name(a), '/'); slash >= 0 {
			for n := range out {
				if strings.HasPrefix(name(out[n])+"/", name(a)[:slash+1]) {
					at = n + 1
				}
			}
		}
		out = slices.Insert(out, at, a)
	}
	return out
}
