package strict

import (
	"errors"

	"github.com/inquest-dev/inquest/internal/braces"
)

// Env looks a variable up; false = it is not set.
type Env func(name string) (string, bool)

// Variables are what {{.NAME}} stands for.
type Variables struct {
	Lookup Env    // nil: every text stays as it is
	Kept   string // the name of a variable that is left as it is
}

var errTemplate = errors.New(`not a template: only {{.NAME}} may stand in double braces; for the braces themselves write {{"{{"}}`)

// Expand puts variables in the place of {{.NAME}}, and names those that are
// not set. Their values are taken as they are.
func (v Variables) Expand(text string) (expanded string, missing []string, err error) {
	if v.Lookup == nil {
		return text, nil, nil
	}
	expanded, err = braces.Expand(text, func(name, whole string) (string, error) {
		value, ok := v.Lookup(name)
		switch {
		case name == v.Kept:
			value = whole
		case !ok:
			missing = append(missing, name)
		}
		return value, nil
	})
	if err != nil {
		return "", nil, errTemplate
	}
	return expanded, missing, nil
}
