package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/tool"
)

// statusError is an unsuccessful HTTP status.
type statusError struct {
	code   int
	status string // "503 Service Unavailable"
	text   string // the server's explanation, without secrets
	lost   bool   // the server does not know the session, according to the protocol
	advice string // what people can do about it, if known
}

// gateway reports whether a gateway answered instead of its server.
func (e *statusError) gateway() bool {
	switch e.code {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

func (e *statusError) Error() string {
	said := "it answered " + e.status
	if e.text != "" {
		said += ": " + e.text
	}
	if e.advice != "" {
		said += ". " + e.advice
	}
	return said
}

// sessionHeader names the session of a request over streamable HTTP.
const sessionHeader = "Mcp-Session-Id"

// refused converts a status to an error. No status proves that the request was not processed, because gateways and
// servers pass on the status of servers behind them. A status only says that the session is lost if the request named a
// session. MCP requires a 404 for that; many servers answer 400 and "no valid session ID".
func (w *web) refused(resp *http.Response, body []byte) error {
	status := fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	text := plain(w.secrets.redact(explanation(body))) // before a secret is cut in half
	named := w.transport.Type == SSE || resp.Request.Header.Get(sessionHeader) != ""
	lost := named && (resp.StatusCode == http.StatusNotFound ||
		resp.StatusCode == http.StatusBadRequest && aboutSession(clip.Bytes(string(body), maxErrorText)))
	err := &statusError{resp.StatusCode, status, text, lost, w.advice(resp)}
	if lost && resp.Request.Method == http.MethodPost {
		w.fail(err)
	}
	return err
}

var badSession = regexp.MustCompile(`\b(id|invalid|missing|unknown|expired|not found)\b`)

// aboutSession reports whether a text says that a session is unknown.
func aboutSession(text string) bool {
	lower := strings.ToLower(text)
	return strings.Contains(lower, "session") && badSession.MatchString(lower)
}

// maxStatusText is how much of a server's explanation is shown, in bytes.
const maxStatusText = 300

// explanation returns the message of a JSON-RPC error, or otherwise the server's whole text.
func explanation(body []byte) string {
	var answer struct{ Error struct{ Message string } }
	if err := json.Unmarshal(body, &answer); err == nil && answer.Error.Message != "" {
		return answer.Error.Message
	}
	return clip.Bytes(string(body), 10*maxStatusText)
}

// plain returns a text as one line, or an empty string if it is a web page.
func plain(text string) string {
	text = tool.ValidText(strings.Join(strings.Fields(text), " "))
	if strings.HasPrefix(text, "<") {
		return ""
	}
	return clip.Bytes(text, maxStatusText)
}
