package toolresult

import (
	"encoding/json"
	"strings"
)

// Text is what a model is shown: of a success that is nothing but a message, the
// message; of everything else the result as JSON, on one line, with sorted keys
// and nothing escaped for HTML. The same result always has the same text, and it
// is valid UTF-8. What cannot be written as JSON is shown as Normalize has it,
// and data that Normalize refuses is left out.
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
	text, _ = encode(plain) // which has nothing any more that JSON lacks
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

// printed is a value as text: a string as it is, other values as JSON. What says
// nothing (null, {}, []) is "", as is what JSON lacks.
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
