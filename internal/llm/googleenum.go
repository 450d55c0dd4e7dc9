package llm

import (
	"bytes"
	"encoding/json"
)

// googleEnums are the enums of Gemini's answers that somebody reads, by their
// field, and the names of their values, by number. Google answers in names or in
// numbers, as the client asks ("$alt=json;enum-encoding=int").
// https://github.com/googleapis/googleapis, google/ai/generativelanguage/v1beta
var googleEnums = map[string][]string{
	"finishReason": {"FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER", "LANGUAGE", "BLOCKLIST",
		"PROHIBITED_CONTENT", "SPII", "MALFORMED_FUNCTION_CALL", "IMAGE_SAFETY", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"},
	"blockReason": {"BLOCK_REASON_UNSPECIFIED", "SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "IMAGE_SAFETY"},
	"language":    {"LANGUAGE_UNSPECIFIED", "PYTHON"},
	"outcome":     {"OUTCOME_UNSPECIFIED", "OUTCOME_OK", "OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED"},
	"modality":    {"MODALITY_UNSPECIFIED", "TEXT", "IMAGE", "VIDEO", "AUDIO", "DOCUMENT"},
	// Of these nobody reads the value, only that it is a text.
	"category": nil, "probability": nil, "severity": nil, "urlRetrievalStatus": nil, "trafficType": nil, "status": nil,
}

// GoogleNames returns an answer of Gemini with the names of its enums; what is no
// JSON object as it is. A number that has no name here is written as a text.
func GoogleNames(answer []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(answer))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil || !nameEnums(value) {
		return answer
	}
	return compact(value)
}

// compact writes what came from JSON as JSON, with nothing escaped for HTML.
func compact(value any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // it came from JSON: this cannot fail
	return bytes.TrimSpace(out.Bytes())
}

// nameEnums reports whether it has changed anything. What belongs to the model and
// to tools is left alone.
func nameEnums(value any) (changed bool) {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			changed = nameEnums(element) || changed
		}
	case map[string]any:
		for field, element := range v {
			names, enum := googleEnums[field]
			number, ok := element.(json.Number)
			switch {
			case enum && ok:
				v[field], changed = enumName(names, number), true
			case field != "args" && field != "response":
				changed = nameEnums(element) || changed
			}
		}
	}
	return changed
}

func enumName(names []string, number json.Number) string {
	if n, err := number.Int64(); err == nil && n >= 0 && n < int64(len(names)) {
		return names[n]
	}
	return number.String()
}
