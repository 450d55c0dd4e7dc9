package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"

	"github.com/inquest-dev/inquest/internal/kit/sse"
)

// NotAModel returns an error of the kind ErrNotAModel if an answer cannot come from a model's address: a web page, a
// redirect, a server that does not know the path. It returns nil for any other answer. A status of 0 means a successful
// answer.
func NotAModel(status int, body []byte) *Error {
	said := ErrorWords(body)
	failed := &Error{Kind: ErrNotAModel, Status: status, Message: said}
	switch {
	case status == 0 || status == http.StatusOK:
		failed.Status = 0
		if page(body) || wrongAddress.MatchString(said) {
			return failed
		}
	case status >= 300 && status < 400, status == http.StatusMethodNotAllowed:
		return failed
	case status == http.StatusNotFound:
		named := aboutModel.MatchString(said) || notFoundCode.Match(body)
		if page(body) || wrongAddress.MatchString(said) || !named {
			return failed
		}
	}
	return nil
}

var (
	// wrongAddress matches the errors of servers that do not know the path of a request: LM Studio, Groq, OpenAI,
	// Express, Ollama and other Go servers, vLLM and other FastAPI servers, OpenRouter, Kong, Envoy.
	wrongAddress = regexp.MustCompile(`(?i)unexpected endpoint|` +
		`(?:unknown|invalid|unrecognized|unsupported) (?:request )?(?:url|path|route|endpoint)|` +
		`cannot (?:post|get) /|(?:page|route|path|url|endpoint) (?:was )?not found|no (?:such )?(?:route|path|handler|endpoint)\b|` +
		`method not allowed`)
	// aboutModel matches a 404 about something that the request names: a model, or an item of its input. Anthropic
	// calls it the requested resource, Google the requested entity, OpenRouter endpoints.
	aboutModel   = regexp.MustCompile(`(?i)\b(?:models?|deployments?|engines?|items?|endpoints found|requested (?:resource|entity))\b`)
	notFoundCode = regexp.MustCompile(`(?i)"(?:model|deployment)_?not_?found`)

	htmlStart = regexp.MustCompile(`(?i)^\s*<(?:!doctype\s+html|html|head|body|title|meta|script|h1|!--)`)
	htmlTitle = regexp.MustCompile(`(?is)<(?:title|h1)[^>]*>(.*?)</(?:title|h1)>`)
)

// page reports whether a body is a web page.
func page(body []byte) bool {
	return htmlStart.Match(sse.Unmarked(bytes.TrimSpace(body)))
}

// NotJSON returns the error for an answer that is neither an event stream nor JSON. It does not quote the answer, which
// may be a model's text.
func NotJSON(body []byte) *Error {
	failed := &Error{Kind: ErrNotAModel}
	if start := bytes.TrimSpace(body); bytes.HasPrefix(start, []byte("{")) || bytes.HasPrefix(start, []byte("[")) { // truncated JSON
		failed.Kind = ErrMalformed
	}
	failed.Message = fmt.Sprintf("the response is neither an event stream nor JSON (%d bytes)", len(body))
	return failed
}

// ErrorWords returns the error text in the body of an answer: the message of an error object in any form, the title of
// a web page, or plain text. It returns an empty string for JSON without an error.
func ErrorWords(body []byte) string {
	body = bytes.TrimSpace(sse.Unmarked(bytes.TrimSpace(body)))
	if page(body) {
		title := ""
		if m := htmlTitle.FindSubmatch(body); m != nil {
			title = fmt.Sprintf(" %q", html.UnescapeString(strings.TrimSpace(string(m[1]))))
		}
		return "the server sent a web page" + title
	}
	var value any
	if json.Unmarshal(body, &value) != nil {
		return string(body)
	}
	return errorWords(value, 0)
}

// errorFields are the fields in which servers put error texts, the most specific first.
var errorFields = []string{
	"error", "errors", "message", "detail", "error_message", "error_description", "msg", "reason", "title", "code", "error_code",
}

// maxErrorDepth limits the search of ErrorWords.
const maxErrorDepth = 4

// errorWords searches an answer for an error text.
func errorWords(value any, depth int) string {
	if depth > maxErrorDepth {
		return ""
	}
	switch v := value.(type) {
	case string:
		if depth > 0 {
			return strings.TrimSpace(v)
		}
	case float64:
		if depth > 0 && v != 0 {
			return fmt.Sprint(v)
		}
	case []any:
		var all []string
		for _, element := range v {
			if words := errorWords(element, depth+1); words != "" {
				all = append(all, words)
			}
		}
		return strings.Join(all, "; ")
	case map[string]any:
		if place, ok := v["loc"].([]any); ok { // FastAPI names the field there
			if words := errorWords(v["msg"], depth+1); words != "" {
				return wordsOfPlace(place) + ": " + words
			}
		}
		for _, field := range errorFields {
			if words := errorWords(v[field], depth+1); words != "" {
				return words
			}
		}
	}
	return ""
}

// wordsOfPlace returns the place of a field in a request, such as body.messages.0.name.
func wordsOfPlace(place []any) string {
	var names []string
	for _, name := range place {
		names = append(names, fmt.Sprint(name))
	}
	return strings.Join(names, ".")
}
