package mcp

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/inquest-dev/inquest/value"
)

// The types of transports.
const (
	Stdio = "stdio" // a process that we start
	HTTP  = "http"  // streamable HTTP
	SSE   = "sse"   // the HTTP with server-sent events of MCP before 2025
)

// Transport says how a server is reached, field by field as config.Transport. Its values are expanded already, so
// they may hold secrets: they are kept out of errors and logs. Only
// {{.SESSION_ID}} is left for us, in what is sent over HTTP; a server whose
// transport has one gets a session of its own for every execution.
type Transport struct {
	Type string // Stdio, HTTP or SSE; "" = Stdio

	// Command and Args are the program of a Stdio server.
	Command string
	Args    []string
	// Env is added to the little that a server is given of the worker's environment.
	Env map[string]string

	// URL is the endpoint of an HTTP or SSE server. What follows is sent to its
	// scheme, host and port, and to no other.
	URL         string
	BearerToken string // "" = no Authorization header
	// VerifySSL = false accepts any certificate, from this server only; nil = true.
	VerifySSL *bool
	// Timeout bounds the start and every request of a server of any type; 0 = a minute
	// for the start, and for requests only what ctx says.
	Timeout       value.Duration
	CustomHeaders map[string]string
	// SessionCleanupURL gets a DELETE when a session is over for good; "" = none. It
	// may be on another host, which is sent neither the token nor the headers.
	SessionCleanupURL string
	// Roots are the folders that the server is told to work in, by their absolute paths.
	Roots []string
}

// sessionTemplate is what config leaves for us to expand.
var sessionTemplate = regexp.MustCompile(`\{\{\s*\.SESSION_ID\s*\}\}`)

// perExecution reports whether executions cannot share a session.
func (t Transport) perExecution() bool {
	if t.Type != HTTP && t.Type != SSE {
		return false
	}
	for _, value := range t.CustomHeaders {
		if sessionTemplate.MatchString(value) {
			return true
		}
	}
	return sessionTemplate.MatchString(t.URL + " " + t.BearerToken + " " + t.SessionCleanupURL)
}

// forExecution puts an execution's id where {{.SESSION_ID}} stands.
func (t Transport) forExecution(id string) Transport {
	// The id has slashes in it, and is one segment or one value of a URL.
	escaped := strings.ReplaceAll(url.QueryEscape(id), "+", "%20")
	t.URL = sessionTemplate.ReplaceAllLiteralString(t.URL, escaped)
	t.SessionCleanupURL = sessionTemplate.ReplaceAllLiteralString(t.SessionCleanupURL, escaped)
	t.BearerToken = sessionTemplate.ReplaceAllLiteralString(t.BearerToken, id)
	headers := make(map[string]string, len(t.CustomHeaders))
	for name, value := range t.CustomHeaders {
		headers[name] = sessionTemplate.ReplaceAllLiteralString(value, id)
	}
	t.CustomHeaders = headers
	return t
}

// secrets are the values that must be seen by nobody but the server.
func (t Transport) secrets() secrets {
	values := []string{t.BearerToken}
	for _, value := range t.Env {
		values = append(values, value)
	}
	for _, value := range t.CustomHeaders {
		values = append(values, value, value[strings.LastIndexByte(value, ' ')+1:]) // "Basic dXNlcjpw"
	}
	for _, text := range []string{t.URL, t.SessionCleanupURL} {
		values = append(values, secretsOfURL(text)...)
	}
	return newSecrets(values)
}

func secretsOfURL(text string) (values []string) {
	u, err := url.Parse(text)
	if err != nil {
		return []string{text}
	}
	password, _ := u.User.Password()
	values = append(values, password, url.QueryEscape(password))
	for _, all := range u.Query() {
		for _, value := range all {
			values = append(values, value, url.QueryEscape(value))
		}
	}
	return values
}
