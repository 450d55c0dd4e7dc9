package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/inquest-dev/inquest/internal/kit/sse"
)

// advice says what to do about a 401 or 403. Getting an OAuth token may take a person and a browser, so advice names the
// authorization server instead of asking it for a token.
func (w *web) advice(resp *http.Response) string {
	configured := w.transport.BearerToken != "" || len(w.transport.CustomHeaders) > 0
	var problem string
	switch {
	case resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden:
		return ""
	case configured && resp.StatusCode == http.StatusForbidden:
		problem = "The configured credentials do not allow this request"
	case configured:
		problem = "It rejects the configured credentials"
	case resp.StatusCode == http.StatusForbidden:
		problem = "It denies access"
	default:
		problem = "It requires authorization"
	}
	issuer, scope := w.authorization(resp)
	switch {
	case issuer != "" && scope != "":
		return fmt.Sprintf("%s. Get an OAuth token with the scope %q from %s, and set it as transport.bearer_token", problem, scope, issuer)
	case issuer != "":
		return fmt.Sprintf("%s. Get an OAuth token from %s, and set it as transport.bearer_token", problem, issuer)
	case configured:
		return problem + ". Check transport.bearer_token and transport.custom_headers"
	}
	return problem + ". Set transport.bearer_token or transport.custom_headers"
}

// authorization returns who issues tokens for a server, in words, and the scope that the server asks for. Both are empty
// if unknown. A server names the document with that information in its answer, or serves it at a well-known address
// (RFC 9728).
func (w *web) authorization(refused *http.Response) (issuer, scope string) {
	var named string
	challenges, _ := oauthex.ParseWWWAuthenticate(refused.Header.Values("WWW-Authenticate")) // an invalid header is ignored
	for _, challenge := range challenges {
		named, scope = cmp.Or(named, challenge.Params["resource_metadata"]), cmp.Or(scope, challenge.Params["scope"])
	}
	ctx, cancel := context.WithTimeout(refused.Request.Context(), metadataTimeout)
	defer cancel()
	shown := func(text string) string { return plain(w.secrets.redact(text)) }
	scope = shown(scope)
	if named != "" {
		u, err := url.Parse(named)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			return "", scope
		}
		issuers, about := "", true
		if origin(u) == w.origin { // a server must not make the worker send requests to other hosts
			issuers, about = w.issuers(ctx, u)
		}
		switch {
		case !about:
			return "", scope
		case issuers != "":
			return fmt.Sprintf("%s (see %s)", shown(issuers), shown(named)), scope
		}
		return "the authorization server named in " + shown(named), scope
	}
	at := refused.Request.URL
	for _, path := range []string{
		protectedResource + strings.TrimSuffix(at.Path, "/"), protectedResource,
		authorizationServer, // of servers that issue their own tokens, as in the MCP revision 2025-03-26
	} {
		u := url.URL{Scheme: at.Scheme, Host: at.Host, Path: path}
		if issuers, _ := w.issuers(ctx, &u); issuers != "" {
			return fmt.Sprintf("%s (see %s)", shown(issuers), shown(u.String())), scope
		}
	}
	return "", scope
}

// The well-known addresses of the documents about a server's authorization.
const (
	protectedResource   = "/.well-known/oauth-protected-resource"
	authorizationServer = "/.well-known/oauth-authorization-server"
)

// metadataTimeout limits the search for the document that describes how to get tokens.
const metadataTimeout = 3 * time.Second

// issuers reads a document about a server's authorization, without sending our headers. It returns the authorization
// servers, joined by "or", or an empty string if the document cannot be read or names none. about is false if the document
// is about another server, whose tokens must not be sent to this one.
func (w *web) issuers(ctx context.Context, address *url.URL) (issuers string, about bool) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return "", true
	}
	resp, err := (&http.Client{Transport: w.base, CheckRedirect: noRedirect}).Do(req)
	if err != nil {
		return "", true
	}
	defer resp.Body.Close()
	var document struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
		Issuer   string   `json:"issuer"`
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil || resp.StatusCode != http.StatusOK || json.Unmarshal(sse.Unmarked(body), &document) != nil {
		return "", true
	}
	if document.Resource != "" {
		of, err := url.Parse(document.Resource)
		if err != nil || origin(of) != w.origin {
			return "", false
		}
	}
	var valid []string
	for _, server := range append(document.Servers, document.Issuer) {
		if u, err := url.Parse(server); err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" {
			valid = append(valid, server)
		}
	}
	return strings.Join(valid[:min(len(valid), maxIssuers)], " or "), true
}

// maxIssuers limits how many authorization servers are shown.
const maxIssuers = 3
