package tool

import (
	"cmp"
	"encoding/json"
	"strings"
)

// ValidateArguments returns arguments as text if they satisfy a schema.
func (v *Validator) ValidateArguments(schema json.RawMessage, args string) (json.RawMessage, error) {
	object, err := parseArguments(args)
	if err == nil {
		err = v.check(schema, object)
	}
	if err != nil {
		return nil, err
	}
	return json.RawMessage(cmp.Or(strings.TrimSpace(ValidText(args)), "{}")), nil
}
