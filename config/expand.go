package config

import (
	"errors"

	"github.com/inquest-dev/inquest/internal/braces"
)

// sessionID is known only when a tool is called, so its template is left.
const sessionID = "SESSION_ID"

var errTemplate = errors.New(`not a template: only {{.NAME}} may stand in double braces; for the braces themselves write {{"{{"}}`)

// expand puts variables in the place of {{.NAME}}, and names those that are
// not set. Their values are taken as they are.
func expand(text string, env Env) (expanded string, missing []string, err error) {
	expanded, err = braces.Expand(text, func(name, whole string) (string, error) {
		value, ok := env(name)
		switch {
		case name == sessionID:
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
