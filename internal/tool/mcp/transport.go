package mcp

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/inquest-dev/inquest/value"
)

// The types of transports.
const (
	Stdio = "stdio" // a child process
	HTTP  = "http"  // streamable HTTP
	SSE   = "sse"   // HTTP with server-sent events, as in MCP before 2025
)

// Transport says how to reach a server, with the fields of config.Transport. Its values are expanded already and may be
// secret, so they are kept out of errors and logs. Only {{.SESSION_ID}} remains in values sent over HTTP. A server
// whose transport contains it gets a separate session for every execution.
type Transport struct {
	Type string // Stdio, HTTP or SSE; empty means Stdio

	// Command and Args are the program of a Stdio server.
	Command string
	Args    []string
	// Env is added to the few variables of the worker's environment that a server gets.
	Env map[string]string

	// URL is the endpoint of an HTTP or SSE server. The values below are sent only to its scheme, host and port.
	URL         string
	BearerToken string // empty means no Authorization header
	// VerifySSL = false accepts any certificate, only from this server. Nil means true.
	VerifySSL *bool
	// Timeout limits the start and every request of a server of any type. Zero means ten minutes for the start of a
	// process, one minute for that of any other server, and no limit besides ctx for requests.
	Timeout       value.Duration
	CustomHeaders map[string]string
	// SessionCleanupURL gets a DELETE request when a session ends permanently. Empty means none. It may be on another
	// host, which gets neither the token nor the headers.
	SessionCleanupURL string
	// Roots are the directories that the server may work in, as absolute paths.
	Roots []string
}

// sessionTemplate matches the variable that config does not expand.
var sessionTemplate = regexp.MustCompile(`\{\{\s*\.SESSION_ID\s*\}\}`)

// remote reports whether the server runs without us.
func (t Transport) remote() bool { return t.Type == HTTP || t.Type == SSE }

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

// forExecution replaces {{.SESSION_ID}} with an execution's id.
func (t Transport) forExecution(id string) Transport {
	// The id contains slashes, and must stay one segment or one value of a URL.
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

// secrets returns the values that only the server may see.
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
