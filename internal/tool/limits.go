package tool

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/plan"
)

// limits are the permissions of one tool. All of them apply.
type limits []plan.Permission

// maxResults is the parameter that a permission caps.
const maxResults = "max_results"

func (l limits) approval() bool {
	return slices.ContainsFunc(l, func(p plan.Permission) bool { return p.RequiresApproval })
}

func (l limits) timeout() time.Duration {
	return least(l, func(p plan.Permission) time.Duration { return p.Timeout.D() })
}

func (l limits) rate() int {
	return least(l, func(p plan.Permission) int { return p.RatePerMinute })
}

func (l limits) results() int {
	return least(l, func(p plan.Permission) int { return p.MaxResults })
}

// least returns the smallest limit that is set, or zero.
func least[N int | time.Duration](l limits, bound func(plan.Permission) N) (out N) {
	for _, p := range l {
		if n := bound(p); n > 0 && (out == 0 || n < out) {
			out = n
		}
	}
	return out
}

// apply caps the arguments, in place, and refuses arguments that are not allowed.
func (l limits) apply(spec Spec, args map[string]any) error {
	if most := l.results(); most > 0 {
		capResults(spec.Schema, args, most)
	}
	for _, p := range l {
		for _, parameter := range slices.Sorted(maps.Keys(p.Allowed)) {
			if refusal := allow(spec.Name, args, parameter, p.Allowed[parameter]); refusal != nil {
				return refusal
			}
		}
	}
	return nil
}

// encode encodes the arguments of the call.
func (l limits) encode(args map[string]any) (json.RawMessage, error) {
	for key, value := range args {
		if _, number := value.(json.Number); l.results() > 0 && strings.EqualFold(key, maxResults) && !number {
			return nil, &Refusal{ErrorInvalidArguments, fmt.Sprintf("arguments: %s must be a number, at most %d", maxResults, l.results())}
		}
	}
	text, err := canonical(args)
	if err != nil {
		return nil, &Refusal{ErrorInvalidArguments, err.Error()}
	}
	return text, nil
}

// capResults lowers the requested number of results to most, and sets it if the call has none. Values below one are
// capped as well, because some servers interpret them as "all".
func capResults(schema json.RawMessage, args map[string]any, most int) {
	said := false
	for key, value := range args {
		if !strings.EqualFold(key, maxResults) {
			continue // some servers ignore case
		}
		number, ok := value.(json.Number)
		said = said || value != nil
		if n, err := strconv.ParseFloat(number.String(), 64); ok && (err != nil || n < 1 || n > float64(most)) {
			args[key] = json.Number(strconv.Itoa(most))
		}
	}
	if said {
		return
	}
	if bound, ok := mostResults(schema); ok {
		args[maxResults] = json.Number(strconv.Itoa(min(most, bound)))
	}
}

// mostResults returns the maximum that a schema itself allows, if it has the parameter.
func mostResults(schema json.RawMessage) (most int, ok bool) {
	var document struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &document) != nil {
		return 0, false
	}
	property, ok := document.Properties[maxResults]
	var bounds struct {
		Maximum *int `json:"maximum"`
	}
	if json.Unmarshal(property, &bounds) != nil || bounds.Maximum == nil || *bounds.Maximum < 1 {
		return math.MaxInt, ok
	}
	return *bounds.Maximum, ok
}
