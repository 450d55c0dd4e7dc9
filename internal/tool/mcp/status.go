package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/inquest-dev/inquest/internal/clip"
	"github.com/inquest-dev/inquest/internal/tool"
)

// statusError is an HTTP status in the place of an answer.
type statusError struct {
	code   int
	status string // "503 Service Unavailable"
	text   string // what the server says about it, without secrets
	lost   bool   // the server does not know the session, by the rules of the protocol
}

// gateway: a gateway answers in the place of its server.
func (e *statusError) gateway() bool {
	switch e.code {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

func (e *statusError) Error() string {
	if e.text == "" {
		return "it answered " + e.status
	}
	return "it answered " + e.status + ": " + e.text
}

// sessionHeader names the session of a request over streamable HTTP.
const sessionHeader = "Mcp-Session-Id"

// refused makes an error of a status. No status proves that the request was not processed: gateways and servers pass
// on the status of something behind them. A status only says that the session is lost if the request named a session.
// MCP asks for a 404 then; many servers answer 400 and "no valid session ID".
func (w *web) refused(resp *http.Response, body []byte) error {
	status := fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	text := plain(w.secrets.redact(explanation(body))) // before half a secret is clipped off
	named := w.transport.Type == SSE || resp.Request.Header.Get(sessionHeader) != ""
	lost := named && (resp.StatusCode == http.StatusNotFound ||
		resp.StatusCode == http.StatusBadRequest && aboutSession(clip.Bytes(string(body), maxErrorText)))
	err := &statusError{resp.StatusCode, status, text, lost}
	if lost && resp.Request.Method == http.MethodPost {
		w.fail(err)
	}
	return err
}

var badSession = regexp.MustCompile(`\b(id|invalid|missing|unknown|expired|not found)\b`)

// aboutSession reports whether a text says that a session is not known.
func aboutSession(text string) bool {
	lower := strings.ToLower(text)
	return strings.Contains(lower, "session") && badSession.MatchString(lower)
}

// maxStatusText is how much of a server's explanation is shown, in bytes.
const maxStatusText = 300

// explanation is the message of a JSON-RPC error, or else all that a server says.
func explanation(body []byte) string {
	var answer struct{ Error struct{ Message string } }
	if err := json.Unmarshal(body, &answer); err == nil && answer.Error.Message != "" {
		return answer.Error.Message
	}
	return clip.Bytes(string(body), 10*maxStatusText)
}

// plain is a text as one line; nothing if it is a page for a browser.
func plain(text string) string {
	text = tool.ValidText(strings.Join(strings.Fields(text), " "))
	if strings.HasPrefix(text, "<") {
		return ""
	}
	return clip.Bytes(text, maxStatusText)
}
