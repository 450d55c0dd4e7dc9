package configuration

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/kit/braces"
	"github.com/inquest-dev/inquest/internal/plan"
)

// serverName matches names that every model allows in the name of a tool, in which "__" separates server and tool.
var serverName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func validateServer(s *config.Server, p path, v *validator) {
	if name := p.Name; !serverName.MatchString(name) || strings.Contains(name, "__") {
		v.Errorf(p, "a server's name must have at most 64 characters of A-Z a-z 0-9 _ - and no __, got %q", name)
	}
	if problem := nameProblem(s.TaskQueue); s.TaskQueue != "" && problem != "" {
		v.Errorf(p.Key("task_queue"), "%s", problem)
	}
	if s.NPX != "" && s.Transport.Command == "" {
		v.Errorf(p.Key("npx"), "only for a server with a command")
	}
	for _, tool := range slices.Sorted(maps.Keys(s.Risk)) {
		if s.Risk[tool] == "" {
			v.Errorf(p.Key("risk").Key(tool), "a risk is required")
		}
	}
}

// server returns a server's part of a plan.
func (c *content) server(name string) plan.Server {
	s := c.MCPServers[name]
	return plan.Server{
		Name: name, TaskQueue: s.TaskQueue, Instructions: s.Instructions, Masking: c.resultMasking(name),
		Risk: s.Risk, Idempotent: s.Idempotent, TrustAnnotations: isTrusted(s), Trusted: value(s.Trusted),
	}
}

// isTrusted reports whether the server's annotations count.
func isTrusted(s *config.Server) bool {
	if s.TrustAnnotations != nil {
		return *s.TrustAnnotations
	}
	return s.Transport.Type == "" || s.Transport.Type == config.TransportStdio
}

// found makes npx run the server's command if the command is not on the PATH. It returns false if neither is there.
func (c *content) found(s *config.Server, t *config.Transport) bool {
	switch {
	case s.NPX == "" || c.onPath(t.Command):
		return true
	case c.onPath("npx"):
		t.Command, t.Args = "npx", append([]string{"-y", s.NPX}, t.Args...)
		return true
	}
	return false
}

func (c *content) onPath(command string) bool {
	path, _ := c.env("PATH")
	return slices.ContainsFunc(filepath.SplitList(path), func(dir string) bool {
		info, err := os.Stat(filepath.Join(dir, command))
		return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
	})
}

// missingProgram describes the problem of a worker that has neither the command nor npx.
func missingProgram(s *config.Server) string {
	return fmt.Sprintf("neither %s nor npx is on the PATH: install %s, or Node.js (nodejs.org), whose npx downloads it",
		s.Transport.Command, s.NPX)
}

// streamableHTTP are the names for http in the protocol's specification and in files of MCP clients.
var streamableHTTP = []string{"streamable-http", "streamable_http", "streamableHttp"}

// transportKind returns the canonical name of the type. An unknown type is returned unchanged.
func transportKind(t config.Transport) string {
	if slices.Contains(streamableHTTP, t.Type) {
		return config.TransportHTTP
	}
	return t.Type
}

func validateTransport(t config.Transport, p path, v *validator) {
	for n, root := range t.Roots {
		if !filepath.IsAbs(root) {
			v.Errorf(p.Key("roots").Index(n), "%q is not an absolute path", root)
		}
	}
	switch kind := transportKind(t); {
	case kind == config.TransportHTTP, kind == config.TransportSSE:
		validateWeb(t, p, v)
	case t.Type == "" && t.URL != "" && t.Command == "":
		v.Errorf(p.Key("type"), "a server with a url requires type http or sse")
	case kind == "", kind == config.TransportStdio: // an unknown type has been reported already
		validateStdio(t, p, v)
	}
}

func validateStdio(t config.Transport, p path, v *validator) {
	if t.Command == "" {
		v.Errorf(p.Key("command"), "a command is required")
	}
	for _, name := range slices.Sorted(maps.Keys(t.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			v.Errorf(p.Key("env").Key(name), "must be the name of an environment variable")
		}
	}
	v.foreign(p, "a server of type http or sse", map[string]bool{
		"url": t.URL != "", "bearer_token": t.BearerToken != "", "verify_ssl": t.VerifySSL != nil,
		"custom_headers": len(t.CustomHeaders) > 0, "session_cleanup_url": t.SessionCleanupURL != "",
	})
}

// headerName matches a token of RFC 9110.
var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

func validateWeb(t config.Transport, p path, v *validator) {
	switch {
	case t.URL == "":
		v.Errorf(p.Key("url"), "a url is required")
	case !isURL(t.URL): // not shown, because it may hold a secret
		v.Errorf(p.Key("url"), "must be an http or https URL")
	}
	if t.SessionCleanupURL != "" && !isURL(braces.Action.ReplaceAllString(t.SessionCleanupURL, "x")) {
		v.Errorf(p.Key("session_cleanup_url"), "must be an http or https URL")
	}
	names := slices.Sorted(maps.Keys(t.CustomHeaders))
	v.distinct(p.Key("custom_headers"), "header", names)
	for _, name := range names {
		at := p.Key("custom_headers").Key(name)
		switch {
		case !headerName.MatchString(name):
			v.Errorf(at, "must be the name of an HTTP header")
		case strings.EqualFold(name, "Authorization") && t.BearerToken != "":
			v.Errorf(at, "bearer_token already sets this header")
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
			v.Errorf(p.Key(key), "only for %s", whose)
		}
	}
}

// Transport returns the complete transport of an MCP server, with values that may be secret expanded from the current
// environment. {{.SESSION_ID}} remains in it. An error names the variable and the server, never a value.
func (c *Config) Transport(server string) (config.Transport, error) {
	s, ok := c.MCPServers[server]
	if !ok {
		return config.Transport{}, errors.New(unknownName("MCP server", server, c.MCPServers))
	}
	for _, u := range c.report.Unset {
		if u.Path.Entry == entryPath("mcp_servers", server).Text {
			return config.Transport{}, fmt.Errorf("MCP server %q: %s: variable %s is not set", server, u.Path.Text, u.Name)
		}
	}
	t := completeTransport(s.Transport)
	t.Args = slices.Clone(t.Args)
	if !c.found(s, &t) {
		return config.Transport{}, fmt.Errorf("MCP server %q: %s", server, missingProgram(s))
	}
	e := expansion{Config: c}
	t.Env = e.each("env", t.Env)
	t.CustomHeaders = e.each("custom_headers", t.CustomHeaders)
	t.BearerToken = e.text("bearer_token", t.BearerToken)
	if e.err != nil {
		return config.Transport{}, fmt.Errorf("MCP server %q: %w", server, e.err)
	}
	return t, nil
}

// completeTransport returns the transport with its defaults.
func completeTransport(t config.Transport) config.Transport {
	t.URL, t.SessionCleanupURL = withoutUser(t.URL), withoutUser(t.SessionCleanupURL)
	switch t.Type = transportKind(t); t.Type {
	case config.TransportHTTP, config.TransportSSE:
		if t.VerifySSL == nil {
			t.VerifySSL = new(true)
		}
	case "":
		t.Type = config.TransportStdio
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
		e.err = fmt.Errorf("%s: variables that are not set: %s", what, strings.Join(missing, ", "))
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
