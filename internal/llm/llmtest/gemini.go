package llmtest

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// geminiFormat is the format of generateContent: a stream of events or, as an array, the same objects in one JSON text.
type geminiFormat struct{ array bool }

// geminiReply is a chunk of a stream, or a complete reply.
type geminiReply struct {
	Candidates []geminiCandidate `json:"candidates,omitempty"`
	Usage      *geminiUsage      `json:"usageMetadata,omitempty"`
	Model      string            `json:"modelVersion"`
}

type geminiCandidate struct {
	Content geminiContent `json:"content"`
	Finish  string        `json:"finishReason,omitempty"`
	Index   int           `json:"index"`
}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

type geminiPart struct {
	Text      *string         `json:"text,omitempty"`
	Thought   bool            `json:"thought,omitempty"`
	Call      *geminiCall     `json:"functionCall,omitempty"`
	Response  *geminiResponse `json:"functionResponse,omitempty"`
	Signature string          `json:"thoughtSignature,omitempty"`
}

type geminiCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type geminiResponse struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Response json.RawMessage `json:"response"`
}

type geminiUsage struct {
	Prompt     int `json:"promptTokenCount"`
	Candidates int `json:"candidatesTokenCount"`
	Total      int `json:"totalTokenCount"`
}

// chunks sends one part at a time. Like Gemini, it sends a call in one piece, and the last chunk has the finish reason,
// the usage, and a part without content.
func (f geminiFormat) chunks(r Reply, req Request) []string {
	var out []string
	send := func(p geminiPart) { out = append(out, f.render(r, req, []geminiPart{p}, false)) }
	for _, text := range split(r.thinking, r.size) {
		send(geminiPart{Text: &text, Thought: true})
	}
	for _, text := range split(r.text, r.size) {
		send(geminiPart{Text: &text})
	}
	for _, part := range r.geminiCalls() {
		send(part)
	}
	if r.fault.noFinish {
		return out
	}
	return append(out, f.render(r, req, []geminiPart{r.lastPart()}, true))
}

func (f geminiFormat) whole(r Reply, req Request) string {
	var parts []geminiPart
	if r.thinking != "" {
		parts = append(parts, geminiPart{Text: &r.thinking, Thought: true})
	}
	if r.text != "" {
		parts = append(parts, geminiPart{Text: &r.text})
	}
	return f.render(r, req, slices.Concat(parts, r.geminiCalls(), []geminiPart{r.lastPart()}), true)
}

func (f geminiFormat) say(r Reply, req Request, text string) string {
	return f.render(r, req, []geminiPart{{Text: &text}}, false)
}

func (geminiFormat) render(r Reply, req Request, parts []geminiPart, last bool) string {
	out := geminiReply{Model: r.model}
	if out.Model == "" {
		out.Model = req.Model
	}
	candidate := geminiCandidate{Content: geminiContent{Role: "model", Parts: parts}}
	if last {
		candidate.Finish = r.geminiFinish()
		if use := r.tokens(req); use != nil {
			out.Usage = &geminiUsage{Prompt: use.Prompt, Candidates: use.Completion, Total: use.Total}
		}
	}
	out.Candidates = []geminiCandidate{candidate}
	data, err := json.Marshal(out)
	if err != nil { // a mistake in the script: a call's arguments are not JSON
		return `{"error":{"code":500,"status":"INTERNAL","message":"llmtest: the arguments of a call are not JSON"}}`
	}
	return string(data)
}

func (r Reply) geminiCalls() []geminiPart {
	var out []geminiPart
	for i, c := range r.calls {
		part := geminiPart{Call: &geminiCall{ID: c.ID, Name: c.Name, Args: json.RawMessage(c.Args)}}
		if i == 0 {
			part.Signature = r.signature
		}
		out = append(out, part)
	}
	return out
}

func (r Reply) lastPart() geminiPart {
	empty := geminiPart{Text: new(string)}
	if len(r.calls) == 0 {
		empty.Signature = r.signature
	}
	return empty
}

// geminiFinish returns the finish reason in Gemini's words. A custom reason of the script is returned unchanged.
func (r Reply) geminiFinish() string {
	switch r.finish {
	case "", "stop", "tool_calls":
		return "STOP"
	case "length":
		return "MAX_TOKENS"
	case "content_filter":
		return "SAFETY"
	}
	return r.finish
}

// frame ends lines like Google: each event is one line.
func (f geminiFormat) frame(n int, data string) string {
	switch {
	case !f.array:
		return "data: " + strings.ReplaceAll(data, "\n", " ") + "\r\n\r\n"
	case n == 0:
		return "[" + data
	}
	return ",\r\n" + data
}

func (f geminiFormat) end(n int, _ bool) string {
	if !f.array {
		return ""
	}
	return strings.Repeat("[", max(1-n, 0)) + "]"
}

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

type geminiError struct {
	Code    int              `json:"code"`
	Message string           `json:"message"`
	Status  string           `json:"status"`
	Details []map[string]any `json:"details,omitempty"`
}

// refusal returns an error in Gemini's form, which has fewer statuses than OpenAI and uses details and messages
// instead.
func (f geminiFormat) refusal(broken fault) (int, string) {
	e := geminiError{Message: broken.message}
	switch broken.code {
	case "rate_limit_exceeded":
		e.Code, e.Status = http.StatusTooManyRequests, "RESOURCE_EXHAUSTED"
	case "insufficient_quota":
		e.Code, e.Status = http.StatusTooManyRequests, "RESOURCE_EXHAUSTED"
		e.detail("QuotaFailure", "violations", []map[string]string{{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}})
	case "invalid_api_key":
		e.Code, e.Status = http.StatusBadRequest, "INVALID_ARGUMENT"
		e.detail("ErrorInfo", "reason", "API_KEY_INVALID")
	case "authentication_error":
		e.Code, e.Status = http.StatusUnauthorized, "UNAUTHENTICATED"
	case "context_length_exceeded":
		e.Code, e.Status = http.StatusBadRequest, "INVALID_ARGUMENT"
		e.Message = "The input token count (9000) exceeds the maximum number of tokens allowed (8192)."
	case "overloaded_error":
		e.Code, e.Status = http.StatusServiceUnavailable, "UNAVAILABLE"
	case "server_error":
		e.Code, e.Status = http.StatusInternalServerError, "INTERNAL"
	default:
		e.Code, e.Status = http.StatusBadRequest, "INVALID_ARGUMENT"
	}
	if broken.wait > 0 {
		e.detail("RetryInfo", "retryDelay", strconv.FormatFloat(broken.wait.Seconds(), 'f', -1, 64)+"s")
	}
	body, _ := json.Marshal(map[string]geminiError{"error": e}) // cannot fail: strings and maps
	if broken.status == http.StatusOK {
		return http.StatusOK, string(body)
	}
	if f.array && broken.status != 0 { // Google answers a request for an array with an array
		return e.Code, "[" + string(body) + "]"
	}
	return e.Code, string(body)
}

func (e *geminiError) detail(kind, name string, value any) {
	e.Details = append(e.Details, map[string]any{"@type": "type.googleapis.com/google.rpc." + kind, name: value})
}
