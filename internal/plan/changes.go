package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Change is a setting that two plans do not share. A nil value means that the plan does not have the setting.
type Change struct {
	// Path names the setting by its keys, and members of lists by their names: "stages[analysis].agents[logs].max_iterations".
	Path string `json:"path"`
	A    any    `json:"a,omitempty" doc:"A's value, as in the plan; the names of the members if their order differs; absent means none"`
	B    any    `json:"b,omitempty" doc:"B's value, as in the plan; the names of the members if their order differs; absent means none"`
}

// Changes returns what differs between two plans, in the order of the paths. It leaves out the version, the store and the fork,
// because they are not settings.
func Changes(a, b Plan) ([]Change, error) {
	var both [2]any
	for n, p := range []Plan{a, b} {
		p.Version, p.Store, p.Fork = 0, "", nil
		text, err := json.Marshal(p)
		if err == nil {
			err = json.Unmarshal(text, &both[n])
		}
		if err != nil {
			return nil, fmt.Errorf("compare plans: %w", err)
		}
	}
	var found []Change
	changes("", both[0], both[1], &found)
	return found, nil
}

func changes(path string, a, b any, found *[]Change) {
	if reflect.DeepEqual(a, b) {
		return
	}
	inA, okA := a.(map[string]any)
	inB, okB := b.(map[string]any)
	format := "%s.%s"
	if path == "" {
		format = "%s%s"
	}
	if !okA || !okB {
		namesA, namesB := members(a), members(b)
		if inA, inB = namesA.all, namesB.all; inA == nil || inB == nil {
			*found = append(*found, Change{path, a, b})
			return
		}
		if format = "%s[%s]"; !slices.Equal(namesA.order, namesB.order) {
			*found = append(*found, Change{path, namesA.order, namesB.order})
		}
	}
	keys := maps.Clone(inA)
	maps.Copy(keys, inB)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		changes(strings.TrimSuffix(fmt.Sprintf(format, path, key), "."), inA[key], inB[key], found) // a skill's own text has no key
	}
}

// named holds the members of a list by name. A nil map means that some members have no name, or the same one.
type named struct {
	all   map[string]any
	order []string
}

func members(list any) (out named) {
	of, _ := list.([]any)
	all := map[string]any{}
	for _, one := range of {
		member, _ := one.(map[string]any)
		name, _ := member["name"].(string)
		if all[name] != nil || name == "" {
			return named{}
		}
		all[name], out.order = one, append(out.order, name)
	}
	if of != nil {
		out.all = all
	}
	return out
}
