package tool

import (
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// references resolves references within a schema and caches them, because each search takes time in proportion to the
// schema.
type references struct {
	root  any
	named map[string]any // by anchor; nil if several parts have the name
	known map[string]any // by reference
}

func referencesOf(root any) references {
	r := references{root: root, named: map[string]any{}, known: map[string]any{}}
	r.anchors(root)
	return r
}

// find returns the target of a reference: "#", "#/$defs/x" or "#name". It returns nil if there is none.
func (r references) find(ref string) any {
	target, known := r.known[ref]
	if !known {
		target = r.lookFor(ref)
		r.known[ref] = target
	}
	return target
}

func (r references) lookFor(ref string) any {
	pointer, local := strings.CutPrefix(ref, "#")
	if decoded, err := url.PathUnescape(pointer); err == nil {
		pointer = decoded
	}
	switch {
	case !local:
		return nil
	case pointer == "":
		return r.root
	case pointer[0] != '/':
		return r.named[pointer]
	}
	target, ok := r.root, true
	for token := range strings.SplitSeq(pointer[1:], "/") {
		if target, ok = child(target, strings.NewReplacer("~1", "/", "~0", "~").Replace(token)); !ok {
			return nil
		}
	}
	return target
}

func child(of any, token string) (any, bool) {
	switch of := of.(type) {
	case map[string]any:
		value, ok := of[token]
		return value, ok
	case []any:
		n, err := strconv.Atoi(token)
		if err == nil && n >= 0 && n < len(of) {
			return of[n], true
		}
	}
	return nil, false
}

// anchors records the named parts of a schema.
func (r references) anchors(part any) {
	switch part := part.(type) {
	case map[string]any:
		for _, name := range namesOf(part) {
			if _, twice := r.named[name]; twice {
				r.named[name] = nil // ambiguous
				continue
			}
			r.named[name] = part
		}
		for _, value := range part {
			r.anchors(value)
		}
	case []any:
		for _, value := range part {
			r.anchors(value)
		}
	}
}

// namesOf returns the names of a part of a schema, each once.
func namesOf(part map[string]any) []string {
	anchor, _ := part["$anchor"].(string)
	dynamic, _ := part["$dynamicAnchor"].(string)
	id, _ := part["$id"].(string)
	id, named := strings.CutPrefix(id, "#")
	if !named {
		id = ""
	}
	names := []string{anchor, dynamic, id}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

var errOtherNames = errors.New(`it has a "$ref" or an "$id" with the URL of a document: references must begin with "#"`)

// selfContained refuses a schema with references that find does not follow, or with embedded documents, because the
// cost of checking it is unknown.
func selfContained(refs references) error {
	document, _ := refs.root.(map[string]any)
	id := "$id"
	if draft, _ := document["$schema"].(string); strings.Contains(draft, "draft-04") {
		id = "id"
	}
	outermost := maps.Clone(document)
	delete(outermost, id)
	if !refs.closed(outermost, id) {
		return errOtherNames
	}
	return nil
}

func (r references) closed(part any, id string) bool {
	switch part := part.(type) {
	case map[string]any:
		for key, value := range part {
			text, isText := value.(string)
			if key == id && isText && !strings.HasPrefix(text, "#") || !r.closed(value, id) {
				return false
			}
			if isText && (key == "$ref" || key == "$dynamicRef" || key == "$recursiveRef") {
				if r.find(text) == nil {
					return false
				}
			}
		}
	case []any:
		return !slices.ContainsFunc(part, func(item any) bool { return !r.closed(item, id) })
	}
	return true
}
