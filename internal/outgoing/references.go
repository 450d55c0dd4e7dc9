package outgoing

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// find looks up a reference within a document: "#", "#/$defs/x" or "#anchor".
func (r *rewriter) find(ref string) (any, bool) {
	root := r.root
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
		if r.anchors == nil {
			r.anchors = map[string]part{}
			r.gather(root)
		}
		found, ok := r.anchors[pointer]
		return found, ok
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

// gather finds the named parts of a schema. If two have the same name, the first is used.
func (r *rewriter) gather(value any) {
	switch value := value.(type) {
	case part:
		id, _ := value["$id"].(string)
		anchor, _ := value["$anchor"].(string)
		for _, name := range []string{anchor, strings.TrimPrefix(id, "#")} {
			if _, known := r.anchors[name]; name != "" && name != id && !known {
				r.anchors[name] = value
			}
		}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			r.gather(value[key])
		}
	case []any:
		for _, item := range value {
			r.gather(item)
		}
	}
}
