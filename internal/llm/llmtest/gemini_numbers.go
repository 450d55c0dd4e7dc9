package llmtest

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
)

// geminiEnums are the names of Gemini's enums in the order of their numbers, from generative_service.proto of
// google.ai.generativelanguage.v1beta.
var geminiEnums = map[string][]string{
	"finishReason": {"FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER", "LANGUAGE", "BLOCKLIST",
		"PROHIBITED_CONTENT", "SPII", "MALFORMED_FUNCTION_CALL", "IMAGE_SAFETY", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"},
	"blockReason": {"BLOCK_REASON_UNSPECIFIED", "SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "IMAGE_SAFETY"},
	"category": {"HARM_CATEGORY_UNSPECIFIED", "HARM_CATEGORY_DEROGATORY", "HARM_CATEGORY_TOXICITY", "HARM_CATEGORY_VIOLENCE",
		"HARM_CATEGORY_SEXUAL", "HARM_CATEGORY_MEDICAL", "HARM_CATEGORY_DANGEROUS", "HARM_CATEGORY_HARASSMENT",
		"HARM_CATEGORY_HATE_SPEECH", "HARM_CATEGORY_SEXUALLY_EXPLICIT", "HARM_CATEGORY_DANGEROUS_CONTENT", "HARM_CATEGORY_CIVIC_INTEGRITY"},
	"probability": {"HARM_PROBABILITY_UNSPECIFIED", "NEGLIGIBLE", "LOW", "MEDIUM", "HIGH"},
	"modality":    {"MODALITY_UNSPECIFIED", "TEXT", "IMAGE", "VIDEO", "AUDIO", "DOCUMENT"},
	"language":    {"LANGUAGE_UNSPECIFIED", "PYTHON"},
	"outcome":     {"OUTCOME_UNSPECIFIED", "OUTCOME_OK", "OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED"},
}

var geminiEnum = regexp.MustCompile(`"(\w+)"(\s*:\s*)"([A-Z_]+)"`)

// numbered converts the enums of an answer to numbers, for a client that asks for them: "$alt=json;enum-encoding=int",
// like generative-ai-go.
func numbered(answer string) string {
	return geminiEnum.ReplaceAllStringFunc(answer, func(field string) string {
		part := geminiEnum.FindStringSubmatch(field)
		n := slices.Index(geminiEnums[part[1]], part[3])
		if n < 0 {
			return field
		}
		return `"` + part[1] + `"` + part[2] + strconv.Itoa(n)
	})
}

// EnumsAs returns a transport that changes the form of enums that a client requests from Gemini: "$alt".
func EnumsAs(alt string) http.RoundTripper { return enumsAs(alt) }

type enumsAs string

// RoundTrip sends a changed copy of a request.
func (alt enumsAs) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	query := req.URL.Query()
	query.Del("$alt")
	if alt != "" {
		query.Set("$alt", string(alt))
	}
	req.URL.RawQuery = query.Encode()
	return http.DefaultTransport.RoundTrip(req)
}
