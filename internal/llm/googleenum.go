package llm

import (
	"bytes"
	"encoding/json"
)

// googleEnums are the enums of Gemini's answers that are used, by field, with the names of their values by number.
// Google answers with names or numbers, as the client asks ("$alt=json;enum-encoding=int").
// https://github.com/googleapis/googleapis, google/ai/generativelanguage/v1beta
var googleEnums = map[string][]string{
	"finishReason": {"FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER", "LANGUAGE", "BLOCKLIST",
		"PROHIBITED_CONTENT", "SPII", "MALFORMED_FUNCTION_CALL", "IMAGE_SAFETY", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"},
	"blockReason": {"BLOCK_REASON_UNSPECIFIED", "SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "IMAGE_SAFETY"},
	"language":    {"LANGUAGE_UNSPECIFIED", "PYTHON"},
	"outcome":     {"OUTCOME_UNSPECIFIED", "OUTCOME_OK", "OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED"},
	"modality":    {"MODALITY_UNSPECIFIED", "TEXT", "IMAGE", "VIDEO", "AUDIO", "DOCUMENT"},
	// The values of these are not used, but they must be strings.
	"category": nil, "probability": nil, "severity": nil, "urlRetrievalStatus": nil, "trafficType": nil, "status": nil,
}

// GoogleNames returns Gemini's answer with the names of its enums. An answer that is not a JSON object is returned
// unchanged. A number without a known name becomes a string.
func GoogleNames(answer []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(answer))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil || !nameEnums(value) {
		return answer
	}
	return compact(value)
}

// compact encodes decoded JSON, without HTML escapes.
func compact(value any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // cannot fail: it came from JSON
	return bytes.TrimSpace(out.Bytes())
}

// nameEnums reports whether it has changed anything. It leaves the contents of models and tools alone.
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
