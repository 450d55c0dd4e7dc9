package strict

import (
	"errors"

	"github.com/inquest-dev/inquest/internal/kit/braces"
)

// Env looks up a variable. It returns false if the variable is not set.
type Env func(name string) (string, bool)

// Variables give the values of {{.NAME}}.
type Variables struct {
	Lookup Env    // nil leaves every text unchanged
	Kept   string // the name of a variable that is not expanded
}

var errTemplate = errors.New(`only {{.NAME}} is allowed in double braces; for the braces themselves write {{"{{"}}`)

// Expand replaces {{.NAME}} by the values of variables, without expanding those again. It also returns the names of
// variables that are not set.
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
