package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/braces"
	"github.com/inquest-dev/inquest/internal/plan"
)

// The transports of MCP servers.
const (
	TransportStdio = "stdio" // a child process of the worker
	TransportHTTP  = "http"  // streamable HTTP
	TransportSSE   = "sse"   // HTTP with server-sent events, for older servers
)

// Transport says how to reach a server. After loading, values that may be secret keep their template text;
// Config.Transport expands them.
type Transport struct {
	// Type is the name of the transport.
	Type string `yaml:"type" enum:"transport" default:"stdio"`
	// Command is the program of a stdio server.
	Command string `yaml:"command"`
	// Args are the arguments of the command.
	Args []string `yaml:"args"`
	// Env is added to the small environment that every stdio server has.
	Env map[string]string `yaml:"env,late"`
	// URL is the address of an http or sse server.
	URL string `yaml:"url" foreign:"serverUrl httpUrl" instead:"it is called url here"`
	// BearerToken is sent to an http or sse server with every request.
	BearerToken string `yaml:"bearer_token,late"`
	// VerifySSL = false accepts any certificate of an http or sse server. Use it only for tests.
	VerifySSL *bool `yaml:"verify_ssl" default:"true"`
	// Timeout limits one call.
	Timeout plan.Duration `yaml:"timeout" default:"the agent's timeouts.tool"`
	// CustomHeaders are sent to an http or sse server with every request. {{.SESSION_ID}} is the execution's id.
	CustomHeaders map[string]string `yaml:"custom_headers,late" foreign:"headers" instead:"it is called custom_headers here"`
	// SessionCleanupURL is sent a DELETE request when a session ends; {{.SESSION_ID}} is the execution's id. If its
	// host differs from that of url, the request has no token and no headers.
	SessionCleanupURL string `yaml:"session_cleanup_url"`
	// Roots are the directories that the server may work in (MCP roots), as absolute paths. A filesystem server uses
	// them instead of those in its args.
	Roots []string `yaml:"roots"`
}

// streamableHTTP are the names for http in the protocol's specification and in files of MCP clients.
var streamableHTTP = []string{"streamable-http", "streamable_http", "streamableHttp"}

// kind returns the canonical name of the type. An unknown type is returned unchanged.
func (t Transport) kind() string {
	if slices.Contains(streamableHTTP, t.Type) {
		return TransportHTTP
	}
	return t.Type
}

func (t Transport) validate(p path, v *validator) {
	for n, root := range t.Roots {
		if !filepath.IsAbs(root) {
			v.Errorf(p.Key("roots").Index(n), "%q is not an absolute path", root)
		}
	}
	switch kind := t.kind(); {
	case kind == TransportHTTP, kind == TransportSSE:
		t.validateWeb(p, v)
	case t.Type == "" && t.URL != "" && t.Command == "":
		v.Errorf(p.Key("type"), "a server with a url is of type http or sse: which?")
	case kind == "", kind == TransportStdio: // an unknown type has been reported already
		t.validateStdio(p, v)
	}
}

func (t Transport) validateStdio(p path, v *validator) {
	if t.Command == "" {
		v.Errorf(p.Key("command"), "a command is required")
	}
	for _, name := range slices.Sorted(maps.Keys(t.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			v.Errorf(p.Key("env").Key(name), "not the name of a variable")
		}
	}
	v.foreign(p, "a server of type http or sse", map[string]bool{
		"url": t.URL != "", "bearer_token": t.BearerToken != "", "verify_ssl": t.VerifySSL != nil,
		"custom_headers": len(t.CustomHeaders) > 0, "session_cleanup_url": t.SessionCleanupURL != "",
	})
}

// headerName matches a token of RFC 9110.
var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

func (t Transport) validateWeb(p path, v *validator) {
	switch {
	case t.URL == "":
		v.Errorf(p.Key("url"), "a url is required")
	case !plainURL(t.URL): // not shown, because it may hold a password
		v.Errorf(p.Key("url"), "must be an http or https URL without user and password")
	}
	if t.SessionCleanupURL != "" && !plainURL(braces.Action.ReplaceAllString(t.SessionCleanupURL, "x")) {
		v.Errorf(p.Key("session_cleanup_url"), "must be an http or https URL without user and password")
	}
	for _, name := range slices.Sorted(maps.Keys(t.CustomHeaders)) {
		at := p.Key("custom_headers").Key(name)
		switch {
		case !headerName.MatchString(name):
			v.Errorf(at, "not the name of a header")
		case strings.EqualFold(name, "Authorization") && t.BearerToken != "":
			v.Errorf(at, "bearer_token sets this header already")
		}
	}
	v.foreign(p, "a server of type stdio", map[string]bool{
		"command": t.Command != "", "args": len(t.Args) > 0, "env": len(t.Env) > 0,
	})
}

// foreign reports keys that are set but belong to another kind of server.
func (v *validator) foreign(p path, whose string, set map[string]bool) {
	for _, key := range slices.Sorted(maps.Keys(set)) {
		if set[key] {
			v.Errorf(p.Key(key), "only %s has this", whose)
		}
	}
}

// Transport returns the complete transport of an MCP server, with values that may be secret expanded from the current
// environment. {{.SESSION_ID}} remains in it. An error names the variable and the server, never a value.
func (c *Config) Transport(server string) (Transport, error) {
	s, ok := c.MCPServers[server]
	if !ok {
		return Transport{}, fmt.Errorf("no MCP server named %q; there are: %s", server, list(c.MCPServers))
	}
	for _, u := range c.report.Unset {
		if u.Path.Entry == entryPath("mcp_servers", server).Text {
			return Transport{}, fmt.Errorf("MCP server %q: %s: variable %s is not set", server, u.Path.Text, u.Name)
		}
	}
	t := s.Transport.complete()
	t.Args = slices.Clone(t.Args)
	if !c.found(s, &t) {
		return Transport{}, fmt.Errorf("MCP server %q: %s", server, s.missing())
	}
	e := expansion{Config: c}
	t.Env = e.each("env", t.Env)
	t.CustomHeaders = e.each("custom_headers", t.CustomHeaders)
	t.BearerToken = e.text("bearer_token", t.BearerToken)
	if e.err != nil {
		return Transport{}, fmt.Errorf("MCP server %q: %w", server, e.err)
	}
	return t, nil
}

// complete returns the transport with its defaults.
func (t Transport) complete() Transport {
	switch t.Type = t.kind(); t.Type {
	case TransportHTTP, TransportSSE:
		if t.VerifySSL == nil {
			t.VerifySSL = new(true)
		}
	case "":
		t.Type = TransportStdio
	}
	return t
}

// expansion expands values at the time of use, up to the first that fails.
type expansion struct {
	*Config
	err error
}

func (e *expansion) text(what, template string) string {
	text, missing, err := e.expand(template)
	switch {
	case e.err != nil:
	case err != nil:
		e.err = fmt.Errorf("%s: %w", what, err)
	case len(missing) > 0:
		e.err = fmt.Errorf("%s: variable %s is not set", what, strings.Join(missing, ", "))
	}
	return text
}

func (e *expansion) each(what string, templates map[string]string) map[string]string {
	if templates == nil {
		return nil
	}
	out := make(map[string]string, len(templates))
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		out[name] = e.text(what+" "+name, templates[name])
	}
	return out
}

// list lists the keys of a map, for messages.
func list[T any](m map[string]T) string {
	if len(m) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}
