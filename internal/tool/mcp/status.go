package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/inquest-dev/inquest/internal/clip"
	"github.com/inquest-dev/inquest/internal/tool"
)

// statusError is an answer that is no answer.
type statusError struct {
	code   int
	status string // "503 Service Unavailable"
	text   string // what the server says about it, without secrets
	lost   bool   // it does not know the session (any more)
}

func (e *statusError) Error() string {
	if e.text == "" {
		return "it answered " + e.status
	}
	return "it answered " + e.status + ": " + e.text
}

// refused makes an error of a status. Of the session that a server does not know
// (any more), it is sure that the request was not processed. MCP asks for a 404;
// many servers say 400 and "no valid session ID".
func (w *web) refused(resp *http.Response, body []byte, receipt *receipt) error {
	status := fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	text := plain(w.secrets.redact(explanation(body))) // before half a secret is clipped off
	lower := strings.ToLower(clip.Bytes(string(body), maxErrorText))
	lost := resp.StatusCode == http.StatusNotFound ||
		resp.StatusCode == http.StatusBadRequest && strings.Contains(lower, "session")
	err := &statusError{resp.StatusCode, status, text, lost}
	if resp.Request.Method == http.MethodPost && resp.StatusCode/100 == 4 {
		receipt.setSent(false) // it was understood, and refused
	}
	if lost && resp.Request.Method == http.MethodPost {
		w.fail(err)
	}
	return err
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
