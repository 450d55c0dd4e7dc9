package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/inquest-dev/inquest/internal/clip"
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

// advice says what to do about a 401 or 403. A server that requires OAuth names the document that describes how to get
// tokens (RFC 9728). Getting one may take a person and a browser, so advice shows the address instead.
func (w *web) advice(resp *http.Response) string {
	if resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
		return ""
	}
	var metadata, scope string
	challenges, _ := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate")) // an invalid header is ignored
	for _, challenge := range challenges {
		metadata, scope = cmp.Or(metadata, challenge.Params["resource_metadata"]), cmp.Or(scope, challenge.Params["scope"])
	}
	shown := func(text string) string { return plain(w.secrets.redact(text)) }
	if !strings.HasPrefix(metadata, "https://") && !strings.HasPrefix(metadata, "http://") {
		metadata = ""
	}
	unknown := resp.StatusCode == http.StatusUnauthorized && w.transport.BearerToken == ""
	if metadata == "" && unknown {
		metadata = w.findMetadata(resp.Request)
	}
	switch {
	case metadata != "" && scope != "":
		return fmt.Sprintf("It wants an OAuth token with the scope %q. %s says which server issues them. "+
			"Set the token as transport.bearer_token", shown(scope), shown(metadata))
	case metadata != "":
		return fmt.Sprintf("It wants an OAuth token. %s says which server issues them. Set the token as transport.bearer_token", shown(metadata))
	case unknown:
		return "Set transport.bearer_token or transport.custom_headers"
	}
	return ""
}

// metadataTimeout limits the search for the document that describes how to get tokens.
const metadataTimeout = 3 * time.Second

// findMetadata looks for that document at the server's well-known addresses, without our headers. It returns the
// address, or an empty string if there is none.
func (w *web) findMetadata(refused *http.Request) string {
	ctx, cancel := context.WithTimeout(refused.Context(), metadataTimeout)
	defer cancel()
	client := &http.Client{Transport: w.base, CheckRedirect: noRedirect}
	for _, path := range []string{strings.TrimSuffix(refused.URL.Path, "/"), ""} {
		address := url.URL{Scheme: refused.URL.Scheme, Host: refused.URL.Host, Path: "/.well-known/oauth-protected-resource" + path}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
		if err != nil {
			return ""
		}
		resp, err := client.Do(req)
		if err != nil {
			return "" // the server no longer answers, so the other address would not help
		}
		var document struct {
			Servers []string `json:"authorization_servers"`
		}
		err = json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&document)
		resp.Body.Close()
		if err == nil && resp.StatusCode == http.StatusOK && len(document.Servers) > 0 {
			return address.String()
		}
	}
	return ""
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
