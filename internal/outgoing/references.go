package outgoing

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// find looks up a reference within a document: "#", "#/$defs/x" or "#anchor".
func find(root any, ref string) (any, bool) {
	pointer, local := strings.CutPrefix(ref, "#")
	if decoded, err := url.PathUnescape(pointer); err == nil {
		pointer = decoded
	}
	switch {
	case !local:
		return nil, false
	case pointer == "":
		return root, true
	case pointer[0] != '/':
		return anchored(root, pointer)
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch at := root.(type) {
		case part:
			root = at[token]
		case []any:
			n, err := strconv.Atoi(token)
			if err != nil || n < 0 || n >= len(at) {
				return nil, false
			}
			root = at[n]
		default:
			return nil, false
		}
	}
	return root, root != nil
}

// anchored finds the part of a schema that has a name.
func anchored(value any, name string) (any, bool) {
	switch value := value.(type) {
	case part:
		if value["$anchor"] == name || value["$id"] == "#"+name {
			return value, true
		}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if found, ok := anchored(value[key], name); ok {
				return found, true
			}
		}
	case []any:
		for _, item := range value {
			if found, ok := anchored(item, name); ok {
				return found, true
			}
		}
	}
	return nil, false
}
