package toolresult

import (
	"encoding/json"
	"strings"
)

// Text returns the text for a model. For a success that only has a message, this is the message. Otherwise it is the result as
// JSON, on one line, with sorted keys and without HTML escaping. Equal results always have the same text, and it is valid UTF-8.
// Values that cannot be encoded as JSON appear as Normalize converts them. Data that Normalize refuses is left out.
func (r Result) Text() string {
	if r.Status == StatusSuccess && r.Error == nil && r.Message != "" && r.Signal == "" && len(r.Data) == 0 {
		return strings.ToValidUTF8(r.Message, "\uFFFD")
	}
	text, err := encode(r)
	if err == nil {
		return text
	}
	plain, err := r.copy()
	if err != nil {
		plain = r.withoutData()
	}
	text, _ = encode(plain) // it is now valid JSON
	return text
}

func (r Result) withoutData() Result {
	r.Data = nil
	if r.Error != nil {
		own := *r.Error
		own.Details = nil
		r.Error = &own
	}
	return r
}

// printed returns a value as text: a string unchanged, other values as JSON. Empty values (null, {}, []) and values that JSON does
// not have become an empty string.
func printed(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	text, err := encode(v)
	if err != nil || text == "null" || text == "{}" || text == "[]" {
		return ""
	}
	return text
}

func encode(v any) (string, error) {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return strings.TrimSuffix(text.String(), "\n"), err
}
