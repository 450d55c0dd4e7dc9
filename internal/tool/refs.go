package tool

import (
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// find returns what a reference within a schema refers to: "#", "#/$defs/x" or "#name".
func find(root any, ref string) (target any, ok bool) {
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
	target = root
	for token := range strings.SplitSeq(pointer[1:], "/") {
		if target, ok = child(target, strings.NewReplacer("~1", "/", "~0", "~").Replace(token)); !ok {
			return nil, false
		}
	}
	return target, true
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

// anchored is the part of a schema that has a name.
func anchored(schema any, name string) (any, bool) {
	switch schema := schema.(type) {
	case map[string]any:
		if schema["$anchor"] == name || schema["$dynamicAnchor"] == name || schema["$id"] == "#"+name {
			return schema, true
		}
		for _, part := range schema {
			if found, ok := anchored(part, name); ok {
				return found, true
			}
		}
	case []any:
		for _, part := range schema {
			if found, ok := anchored(part, name); ok {
				return found, true
			}
		}
	}
	return nil, false
}

var errOtherNames = errors.New("it refers to parts of itself as if they were other documents")

// selfContained refuses a schema with references that find does not follow, or with
// documents of their own within it: nobody could say what a check would take.
func selfContained(root any) error {
	document, _ := root.(map[string]any)
	id := "$id"
	if draft, _ := document["$schema"].(string); strings.Contains(draft, "draft-04") {
		id = "id"
	}
	outermost := maps.Clone(document)
	delete(outermost, id)
	if !closed(root, outermost, id) {
		return errOtherNames
	}
	return nil
}

func closed(root, part any, id string) bool {
	switch part := part.(type) {
	case map[string]any:
		for key, value := range part {
			text, isText := value.(string)
			if key == id && isText && !strings.HasPrefix(text, "#") || !closed(root, value, id) {
				return false
			}
			if isText && (key == "$ref" || key == "$dynamicRef" || key == "$recursiveRef") {
				if _, found := find(root, text); !found {
					return false
				}
			}
		}
	case []any:
		return !slices.ContainsFunc(part, func(item any) bool { return !closed(root, item, id) })
	}
	return true
}
