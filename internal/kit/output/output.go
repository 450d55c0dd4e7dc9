// Package output reads the output of a stage for later stages: a JSON object in its
// agent's final text (spec: pipeline, "Pipeline stages").
package output

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/kit/walk"
)

// The errors of a text without an output.
var (
	ErrNone     = errors.New("no valid JSON object found in response")
	ErrTemplate = errors.New("the JSON object in the response is a template: placeholders stand for its values")
)

// Object returns the object in a text that meets a contract. Models quote other objects too, such as the arguments of a
// call, so all objects of the text are candidates: those in code fences before others, and later ones before earlier ones.
// Templates, evidence blocks and objects inside a candidate are no candidates. meets reports how an object violates the
// contract; a nil function accepts every object.
//
// If no candidate meets the contract, Object returns the first with its violation. Without candidates, the object is nil
// and the error is ErrNone or ErrTemplate.
func Object(text string, meets func(map[string]json.RawMessage) error) (map[string]json.RawMessage, error) {
	var best map[string]json.RawMessage
	violation := ErrNone
	for _, raw := range candidates(text) {
		var object map[string]json.RawMessage
		err := json.Unmarshal([]byte(raw), &object)
		switch {
		case err != nil:
			continue
		case isTemplate([]byte(raw)):
			object, err = nil, ErrTemplate
		case meets != nil:
			err = meets(object)
		}
		if err == nil {
			return object, nil
		}
		if best == nil {
			best, violation = object, err
		}
	}
	return best, violation
}

const (
	// maxCandidates limits how many objects of a text are checked: in fences, and outside of them.
	maxCandidates = 1000
	// Tries to decode text that looks like an unfinished object may read minWork bytes and maxPasses times the text's
	// length together. A try costs at least tryCost bytes, because the decoder reads that many at once.
	minWork   = 1 << 20
	maxPasses = 16
	tryCost   = 512
	// evidenceFence begins a block of evidence, which agents write after their result.
	evidenceFence = "```evidence"
)

// candidates returns the outermost objects of a text, in order of preference. Its time is linear in the length of the
// text.
func candidates(text string) []string {
	var fenced, bare []string
	fences, end, budget := 0, 0, minWork+maxPasses*len(text)
	for at := 0; ; {
		next := strings.IndexByte(text[at:], '{')
		if next < 0 {
			break
		}
		if at += next; !mayOpen(text[at:]) {
			at++
			continue
		}
		length, ok := decode(text[at:])
		budget -= max(length, tryCost)
		switch {
		case ok:
			before, object := text[end:at], text[at:at+length]
			fences += strings.Count(before, "```")
			switch {
			case strings.HasSuffix(strings.TrimSpace(before), evidenceFence):
			case fences%2 == 1:
				fenced = append(fenced, object)
			default:
				bare = append(bare, object)
			}
			at += length
			end = at
		case budget > 0:
			at++ // an object may begin within an unfinished one
		default:
			at += length
		}
	}
	return append(latest(fenced), latest(bare)...)
}

// mayOpen reports whether a text that begins with a brace may begin with an object.
func mayOpen(text string) bool {
	rest := strings.TrimLeft(text[1:], " \t\r\n")
	return rest != "" && (rest[0] == '"' || rest[0] == '}')
}

// decode returns the length of the object at the beginning of a text. Without one, it returns how many bytes before the
// syntax error cannot be part of any object that encloses the error.
func decode(text string) (length int, ok bool) {
	decoder := json.NewDecoder(strings.NewReader(text))
	var object json.RawMessage
	err := decoder.Decode(&object)
	if err == nil {
		return int(decoder.InputOffset()), true
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return max(1, int(syntax.Offset)-1), false
	}
	return len(text), false
}

// latest returns the last objects, in reverse order.
func latest(objects []string) []string {
	objects = objects[max(0, len(objects)-maxCandidates):]
	slices.Reverse(objects)
	return objects
}

// placeholder matches a text that stands for a value. The last form names types, as in "string | null".
var placeholder = regexp.MustCompile(`(?is)^\s*(?:\.{3}|…|<[^<>]*>|\{\{.*\}\}|todo|tbd|placeholder` +
	`|(?:(?:string|number|integer|boolean|object|array|null)\s*(?:\|\s*|$))+)\s*$`)

// isTemplate reports whether all texts among an object's values are placeholders. Numbers and booleans are ignored,
// because templates have examples of them. An object without texts is no template.
func isTemplate(raw json.RawMessage) bool {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return false
	}
	texts, actual := 0, false
	walk.Texts(value, func(text string) {
		texts++
		actual = actual || !placeholder.MatchString(text)
	})
	return texts > 0 && !actual
}

// Missing returns an error that lists the required fields that an agent's output lacks, or nil.
func Missing(agent string, object map[string]json.RawMessage, required []string) error {
	var problems []error
	for _, field := range required {
		if _, ok := object[field]; !ok {
			problems = append(problems, fmt.Errorf("agent '%s' output missing required field: %s", agent, field))
		}
	}
	return errors.Join(problems...)
}
