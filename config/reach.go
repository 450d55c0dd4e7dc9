package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Transport says how to reach an MCP server: complete, and what may be secret
// expanded from the environment as it is now. {{.SESSION_ID}} is left in it.
// An error names the variable and the server, never a value.
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
	e := expansion{Config: c}
	t.Env = e.each("env", t.Env)
	t.CustomHeaders = e.each("custom_headers", t.CustomHeaders)
	t.BearerToken = e.text("bearer_token", t.BearerToken)
	if e.err != nil {
		return Transport{}, fmt.Errorf("MCP server %q: %w", server, e.err)
	}
	return t, nil
}

// complete is the transport with its defaults.
func (t Transport) complete() Transport {
	switch t.Type {
	case TransportHTTP, TransportSSE:
		if t.VerifySSL == nil {
			t.VerifySSL = new(true)
		}
	case "":
		t.Type = TransportStdio
	}
	return t
}

// expansion expands late values, up to the first that cannot be.
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

// list names what a map holds, for messages.
func list[T any](m map[string]T) string {
	if len(m) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}
