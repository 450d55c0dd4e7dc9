package prompt

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/braces"
)

// variables are what a custom prompt may have in it.
func variables(d Data) map[string]string {
	return map[string]string{"Agent": line(d.Agent), "Chain": line(d.Chain), "Stage": line(d.Stage), "AlertType": line(d.AlertType)}
}

// Check says what is wrong with a custom prompt; nil = nothing is.
func Check(text string) error {
	_, err := fill(text, Data{})
	return err
}

// fill puts the variables into a custom prompt.
func fill(text string, d Data) (string, error) {
	if strings.TrimSpace(text) == "" {
		return "", errors.New("a prompt must not be empty")
	}
	known := variables(d)
	filled, err := braces.Expand(text, func(name, _ string) (string, error) {
		value, ok := known[name]
		if !ok {
			return "", fmt.Errorf("a prompt has no variable %s; there are: %s", name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		return value, nil
	})
	if errors.Is(err, braces.ErrSyntax) {
		err = errors.New(`only {{.Name}} may stand in double braces; for the braces themselves write {{"{{"}}`)
	}
	return filled, err
}
