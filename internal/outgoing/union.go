package outgoing

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// alternatives returns the schemas of anyOf and oneOf.
func alternatives(in part) (options []any, union bool) {
	for _, word := range []string{"anyOf", "oneOf"} {
		if some, ok := in[word].([]any); ok && len(some) > 0 {
			return some, true
		}
	}
	return nil, false
}

// union writes a schema with several options. Servers accept nothing beside anyOf, so the shared keywords are written
// into each option. Options that are objects are joined into one object, which accepts more.
func (r *rewriter) union(in part, options []any, at place) (_ part, possible bool) {
	base := without(in, "anyOf", "oneOf")
	shared := annotations(base, at)
	object := slices.Equal(typesOf(base), []string{"object"})
	plain := without(base, words...)
	if object {
		plain = part{"type": "object"}
	}
	var written []any
	known := map[string]bool{}
	nullable := false
	for _, option := range options {
		one, possible := joinAny(plain, option)
		if null := slices.Equal(typesOf(one), []string{"null"}); possible && null {
			nullable = true
			continue
		}
		if possible {
			one, possible = r.rewrite(one, at.in(2))
		}
		if same := text(one); possible && !known[same] {
			known[same] = true
			written = append(written, one)
		}
	}
	everything := slices.ContainsFunc(written, func(one any) bool { return len(without(one.(part), words...)) == 0 })
	objects := !slices.ContainsFunc(written, func(one any) bool { return one.(part)["type"] != "object" })
	listed := enumOf(written)
	var out part
	switch {
	case len(written) == 0 && !nullable:
		return nil, false
	case len(written) == 0:
		return r.typed(shared, "null", at), true
	case object:
		return r.extended(r.typed(base, "object", at), written, at), true
	case len(written) == 1:
		out = written[0].(part)
	case listed != nil:
		out = listed
	case everything:
		return r.anything(shared, at), true
	case r.form.unions:
		out = part{"anyOf": written}
	case objects:
		out = r.joined(written, at)
	default: // use the first and describe the others
		out = maps.Clone(written[0].(part))
		others := text(written[1:])
		describe(out, "Or: "+others[1:len(others)-1])
	}
	if said, ok := shared["description"].(string); ok {
		out = maps.Clone(out)
		if out["description"] != said {
			out["description"] = strings.TrimSpace(said + "\n" + describing(out))
		}
	}
	return r.nullable(out, nullable, at), true
}

// extended returns an object with the properties of the options added.
func (r *rewriter) extended(object part, options []any, at place) part {
	properties, isObject := object["properties"].(part)
	if !isObject {
		properties = part{} // it has become a string
	}
	more := r.joined(options, at)
	for name, property := range more["properties"].(part) {
		if properties[name] == nil || len(without(properties[name].(part), words...)) == 0 {
			properties[name] = property
		}
	}
	required, _ := object["required"].([]any)
	needs, _ := more["required"].([]any)
	for _, need := range needs {
		if !slices.Contains(required, need) {
			required = append(slices.Clip(required), need)
		}
	}
	if len(properties) == 0 {
		return object
	}
	out := maps.Clone(object)
	out["type"], out["properties"] = "object", properties
	if len(required) > 0 {
		out["required"] = required
	}
	if said := describing(more); said != "" {
		describe(out, said)
	}
	return out
}

// nullable adds null to the values of a schema, if the form can express it.
func (r *rewriter) nullable(out part, nullable bool, at place) part {
	switch {
	case !nullable:
	case slices.Contains(r.form.keywords, "nullable"):
		out = maps.Clone(out)
		out["nullable"] = true
	case r.form.unions:
		options, several := out["anyOf"].([]any)
		if !several {
			options = []any{without(out, words...)}
		}
		outer := annotations(out, at)
		outer["anyOf"] = append(slices.Clip(options), part{"type": "null"})
		return outer
	}
	return out
}

// joined returns an object that accepts what any of several objects accepts, and describes how they differ.
func (r *rewriter) joined(options []any, at place) part {
	properties, required, sets := part{}, []any(nil), []string(nil)
	out := part{"type": "object", "properties": properties}
	first := true
	meanings := map[string][]any{} // by property, in the different objects
	for _, option := range options {
		one := option.(part)
		if one["type"] != "object" {
			continue
		}
		own, _ := one["properties"].(part)
		for name, property := range own {
			meanings[name] = append(meanings[name], property)
		}
		needs, _ := one["required"].([]any)
		if sets = append(sets, names(needs)); first {
			required, first = needs, false
		}
		required = slices.DeleteFunc(slices.Clone(required), func(name any) bool { return !slices.Contains(needs, name) })
		for _, word := range []string{"additionalProperties", "description"} {
			if value := one[word]; value != nil && out[word] == nil && value != false {
				out[word] = value
			}
		}
	}
	if first {
		return part{"type": "null", "properties": part{}} // none of the options is an object
	}
	for _, name := range slices.Sorted(maps.Keys(meanings)) {
		properties[name] = r.either(meanings[name], at.in(2))
	}
	if len(required) > 0 {
		out["required"] = required
	}
	slices.Sort(sets)
	if sets = slices.Compact(sets); len(sets) > 1 && sets[0] != "" {
		describe(out, "One of these sets of arguments is required: {"+strings.Join(sets, "}; {")+"}.")
	}
	return out
}

// either returns a schema that accepts what any of several rewritten schemas accepts.
func (r *rewriter) either(written []any, at place) any {
	differs := func(other any) bool { return !reflect.DeepEqual(other, written[0]) }
	if !slices.ContainsFunc(written, differs) {
		return written[0]
	}
	var options []any
	for _, one := range written {
		options = append(options, optionsOf(one)...)
	}
	out, _ := r.union(part{}, options, at)
	return out
}

func optionsOf(value any) []any {
	if options, ok := value.(part)["anyOf"].([]any); ok {
		return options
	}
	return []any{value}
}
