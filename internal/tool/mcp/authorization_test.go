package mcp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool/mcp"
)

// TestAuthorization checks that a refusal names the server that issues tokens, the scope, and the key of the configuration
// for the token. SELF stands for the server's address.
func TestAuthorization(t *testing.T) {
	t.Parallel()
	const resource, root, own = "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource",
		"/.well-known/oauth-authorization-server"
	const document = `{"resource":"SELF/mcp","authorization_servers":["https://login.example.com/realms/ops"]}`
	const token = "Get an OAuth token from https://login.example.com/realms/ops (see SELF"
	const end = "), and set it as transport.bearer_token"
	for name, tc := range map[string]struct {
		status    int
		challenge string
		documents map[string]string
		token     string // that is configured
		want      string
	}{
		"named in the header": {401, `Bearer resource_metadata="SELF/meta"`, map[string]string{"/meta": document}, "",
			"It requires authorization. " + token + "/meta" + end},
		"with a scope": {401, `Bearer resource_metadata="SELF/meta", scope="mcp:read"`, map[string]string{"/meta": document}, "",
			`Get an OAuth token with the scope "mcp:read" from https://login.example.com/realms/ops (see SELF/meta` + end},
		"a wrong token": {401, `Bearer error="invalid_token", resource_metadata="SELF/meta"`, map[string]string{"/meta": document}, "secret-1",
			"It rejects the configured credentials. " + token + "/meta" + end},
		"a scope that the token lacks": {403, `Bearer error="insufficient_scope", scope="mcp:write", resource_metadata="SELF/meta"`,
			map[string]string{"/meta": document}, "secret-1", "The configured credentials do not allow this request. " +
				`Get an OAuth token with the scope "mcp:write" from https://login.example.com/realms/ops (see SELF/meta` + end},
		"at the address for the path": {401, "", map[string]string{resource: document}, "", token + resource + end},
		"at the root":                 {401, "Bearer", map[string]string{root: document}, "", token + root + end},
		"forbidden, without a token":  {403, "", map[string]string{root: document}, "", "It denies access. " + token + root + end},
		"a server with tokens of its own": {401, "", map[string]string{own: `{"issuer":"SELF"}`}, "",
			"Get an OAuth token from SELF (see SELF" + own + end},
		"two servers": {401, "",
			map[string]string{root: `{"authorization_servers":["https://a.example","javascript:1","https://b.example"]}`}, "",
			"Get an OAuth token from https://a.example or https://b.example (see SELF"},
		"about another server": {401, `Bearer resource_metadata="SELF/meta"`,
			map[string]string{"/meta": `{"resource":"https://evil.example","authorization_servers":["https://evil.example"]}`}, "",
			"It requires authorization. Set transport.bearer_token or transport.custom_headers"},
		"a document after a byte order mark": {401, `Bearer resource_metadata="SELF/meta"`, map[string]string{"/meta": "\uFEFF" + document}, "",
			"It requires authorization. " + token + "/meta" + end},
		"a document that cannot be read": {401, `Bearer resource_metadata="SELF/meta"`, map[string]string{"/meta": "<html>"}, "",
			"Get an OAuth token from the authorization server named in SELF/meta, and set it as transport.bearer_token"},
		"a document elsewhere": {401, `Bearer resource_metadata="http://other.example/meta"`, nil, "",
			"Get an OAuth token from the authorization server named in http://other.example/meta, and set it as transport.bearer_token"},
		"no address": {401, `Bearer resource_metadata="javascript:alert(1)"`, nil, "",
			"It requires authorization. Set transport.bearer_token or transport.custom_headers"},
		"nothing known":                  {401, "", nil, "", "It requires authorization. Set transport.bearer_token or transport.custom_headers"},
		"nothing known, wrong token":     {401, "", nil, "secret-1", "It rejects the configured credentials. Check transport.bearer_token and"},
		"nothing known, weak token":      {403, "", nil, "secret-1", "The configured credentials do not allow this request. Check transport."},
		"no refusal of this kind at all": {400, `Bearer resource_metadata="SELF/meta"`, nil, "", "it answered 400 Bad Request"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var leaked atomic.Bool
			server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				self := "http://" + r.Host
				if r.URL.Path == "/mcp" {
					rw.Header().Set("WWW-Authenticate", strings.ReplaceAll(tc.challenge, "SELF", self))
					rw.WriteHeader(tc.status)
					return
				}
				if r.Header.Get("Authorization") != "" {
					leaked.Store(true)
				}
				document, ok := tc.documents[r.URL.Path]
				if !ok {
					rw.WriteHeader(http.StatusNotFound)
				}
				fmt.Fprint(rw, strings.ReplaceAll(document, "SELF", self))
			}))
			t.Cleanup(server.Close)
			self := server.URL
			pool := poolOf(t, mcp.Options{}, mcp.Transport{Type: mcp.HTTP, URL: self + "/mcp", BearerToken: tc.token}, nil)
			_, err := pool.List(t.Context(), plan.Server{Name: "s"}, "")
			want := strings.ReplaceAll(tc.want, "SELF", self)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("list: %v\nwant %s", err, want)
			}
			if tc.status == 400 && strings.Contains(err.Error(), "transport.") {
				t.Errorf("advice about a token: %v", err)
			}
			if got := call(t, pool, "s.echo", `{}`); !strings.Contains(got.Content, want) {
				t.Errorf("call: %s\nwant %s", got.Content, want)
			}
			if leaked.Load() {
				t.Error("the token was sent with the request for the document")
			}
		})
	}
}
